#pragma once
// How a copy between global and shared memory is cut into the boxes that the copy engine moves, or why it cannot be.

#include <optional>
#include <string>
#include <vector>

#include "pk/codegen/codegen.h"
#include "values.h"

namespace pk::codegen {

struct CopyPlan {
  TensorMap map;
  std::vector<Coords> boxes;  ///< where each box starts within the view
  std::int64_t bytes = 0;     ///< of all boxes
};

/// `why` says what rule of the engine (PTX ISA, "Tensor copies"; CUDA driver API, cuTensorMapEncodeTiled) is broken.
[[nodiscard]] std::optional<CopyPlan> plan_copy(const Ref& global, const Ref& shared, std::string& why);

}  // namespace pk::codegen
