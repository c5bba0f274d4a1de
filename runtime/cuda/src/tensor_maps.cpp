#include "tensor_maps.h"

#include <fmt/format.h>

#include <algorithm>

#include "device.h"

namespace pk::cuda {
namespace {

/// CUtensorMapDataType
int map_type(ir::Dtype dtype) {
  switch (dtype) {
    case ir::Dtype::boolean:
    case ir::Dtype::i8:
    case ir::Dtype::u8:
    case ir::Dtype::f8e4m3:
    case ir::Dtype::f8e5m2:
      return 0;
    case ir::Dtype::i16:
    case ir::Dtype::u16:
      return 1;
    case ir::Dtype::u32:
      return 2;
    case ir::Dtype::i32:
      return 3;
    case ir::Dtype::u64:
      return 4;
    case ir::Dtype::i64:
    case ir::Dtype::index:
      return 5;
    case ir::Dtype::f16:
      return 6;
    case ir::Dtype::f32:
      return 7;
    case ir::Dtype::f64:
      return 8;
    case ir::Dtype::bf16:
      return 9;
  }
  return 0;
}

int swizzle_mode(int bytes) { return bytes == 128 ? 3 : bytes == 64 ? 2 : bytes == 32 ? 1 : 0; }

constexpr std::int64_t row_alignment = 16;

}  // namespace

bool engine_can_reach(const ir::Shape& shape, ir::Dtype dtype) {
  std::int64_t pitch = ir::byte_size(dtype);
  for (std::size_t i = shape.size(); i-- > 1;) {
    pitch *= shape[i];
    if (pitch % row_alignment != 0) return false;
  }
  return true;
}

Result<EncodedMap> encode(const codegen::TensorMap& map, DevicePointer address, const ir::Shape& shape,
                          ir::Dtype dtype) {
  EncodedMap encoded;
  // An array without elements has no map; nothing is copied from or to it.
  if (ir::element_count(shape) == 0) return encoded;
  const std::size_t rank = shape.size();
  std::array<std::uint64_t, 5> dims{}, strides{};
  std::array<std::uint32_t, 5> box{}, steps{};
  std::uint64_t stride = static_cast<std::uint64_t>(ir::byte_size(dtype));
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t axis = rank - 1 - i;
    dims[i] = static_cast<std::uint64_t>(shape[axis]);
    box[i] = static_cast<std::uint32_t>(map.box[axis]);
    steps[i] = 1;
    stride *= dims[i];
    strides[i] = stride;  // of the next axis
  }
  constexpr int no_interleave = 0, promote_256_bytes = 3, fill_zero = 0, fill_nan = 1;
  const Status status = driver().encode_tiled(encoded.words.data(), map_type(dtype), static_cast<std::uint32_t>(rank),
                                              reinterpret_cast<void*>(address), dims.data(), strides.data(), box.data(),
                                              steps.data(), no_interleave, swizzle_mode(map.swizzle), promote_256_bytes,
                                              map.fill_nan && ir::is_floating(dtype) ? fill_nan : fill_zero);
  if (status != success)
    return failure(fmt::format("encoding the tensor map of an array [{}]", fmt::join(shape, ", ")), status);
  return encoded;
}

}  // namespace pk::cuda
