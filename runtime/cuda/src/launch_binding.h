#pragma once
// What a launch knows before it runs: dimensions and extents from the arguments, with the checks that refuse arguments
// that do not fit (PK0907, in the words of the interpreter).

#include <optional>
#include <vector>

#include "pk/frontend/diagnostics.h"
#include "pk/interp/interp.h"
#include "pk/ir/ir.h"

namespace pk::cuda {

struct Binding {
  std::vector<std::int64_t> dims;     ///< run-time dimensions
  std::vector<std::int64_t> yielded;  ///< by the launch region: mesh extents, then computed extents
  std::int64_t blocks = 0;
};

[[nodiscard]] std::optional<Binding> bind(const ir::Kernel& kernel, const std::vector<interp::Argument>& args,
                                          Span launch_span, Diagnostics& diags);

}  // namespace pk::cuda
