#pragma once
// Element types. One table (dtypes.def) gives names, widths and classes; numeric meaning is in numerics.h.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pk::ir {

enum class DtypeClass : std::uint8_t { boolean, sint, uint, floating };

enum class Dtype : std::uint8_t {
#define PK_DTYPE(name, spelling, bits, cls) name,
#include "pk/ir/dtypes.def"
};

struct DtypeInfo {
  Dtype dtype;
  std::string_view spelling;
  int bits;  ///< storage width; a bool takes a byte that is 0 or 1
  DtypeClass cls;
};

inline constexpr std::array dtype_table = {
#define PK_DTYPE(name, spelling, bits, cls) DtypeInfo{Dtype::name, spelling, bits, DtypeClass::cls},
#include "pk/ir/dtypes.def"
};

[[nodiscard]] constexpr const DtypeInfo& info(Dtype t) { return dtype_table[static_cast<std::size_t>(t)]; }
[[nodiscard]] constexpr std::string_view spelling(Dtype t) { return info(t).spelling; }
[[nodiscard]] constexpr int byte_size(Dtype t) { return info(t).bits / 8; }
[[nodiscard]] constexpr bool is_floating(Dtype t) { return info(t).cls == DtypeClass::floating; }
[[nodiscard]] constexpr bool is_integer(Dtype t) {
  return info(t).cls == DtypeClass::sint || info(t).cls == DtypeClass::uint;
}
[[nodiscard]] constexpr bool is_signed(Dtype t) { return info(t).cls == DtypeClass::sint; }

[[nodiscard]] constexpr std::optional<Dtype> parse_dtype(std::string_view text) {
  for (const DtypeInfo& row : dtype_table) {
    if (row.spelling == text) return row.dtype;
  }
  return std::nullopt;
}

}  // namespace pk::ir
