#pragma once
// Tensor maps: which arguments the copy engine can reach, and the encoded descriptions that it reads.

#include <array>
#include <cstdint>

#include "driver.h"
#include "pk/codegen/codegen.h"

namespace pk::cuda {

struct alignas(64) EncodedMap {
  std::array<std::uint64_t, 16> words{};
};

/// Whether the rows of an argument lie as the engine needs it: at multiples of 16 bytes (CUDA driver API,
/// cuTensorMapEncodeTiled).
[[nodiscard]] bool engine_can_reach(const ir::Shape& shape, ir::Dtype dtype);

[[nodiscard]] Result<EncodedMap> encode(const codegen::TensorMap& map, DevicePointer address, const ir::Shape& shape,
                                        ir::Dtype dtype);

}  // namespace pk::cuda
