// Conversions between element types: one loop for each pair.

#include <cstring>

#include "pk/interp/tile_kernels.h"

namespace pk::interp::tile {

void convert(ir::Dtype to, std::byte* out, ir::Dtype from, const std::byte* in, std::int64_t n) {
  if (to == from) {
    if (n > 0) std::memcpy(out, in, static_cast<std::size_t>(n * ir::byte_size(to)));
    return;
  }
  ir::visit_dtype(to, [&](auto to_tag) {
    ir::visit_dtype(from, [&](auto from_tag) {
      using To = typename decltype(to_tag)::Type;
      using From = typename decltype(from_tag)::Type;
      To* __restrict target = reinterpret_cast<To*>(out);
      const From* __restrict source = reinterpret_cast<const From*>(in);
      for (std::int64_t i = 0; i < n; ++i) target[i] = ir::convert_value<To>(source[i]);
    });
  });
}

}  // namespace pk::interp::tile
