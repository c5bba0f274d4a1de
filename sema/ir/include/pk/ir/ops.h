#pragma once
// Names and facts of the operations, derived from ops.def.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pk::ir {

enum class Op : std::uint16_t {
#define PK_OP(name, ...) name,
#include "pk/ir/ops.def"
};

enum class OpClass : std::uint8_t {
  constant,
  unary,
  predicate,
  binary,
  comparison,
  ternary,
  conversion,
  shape,
  reduction,
  scan,
  view,
  memory,
  scope,
  async,
  sync,
  mma,
  control,
  terminator,
  pipeline,
  debug,
  launch
};

/// Dtypes that the tile operands may have. `bits`: integers and bool; `number`: integers and floats.
enum class Domain : std::uint8_t { any, number, integer, floating, boolean, bits };

/// What an operation does beyond computing its results. An operation without effects may be moved, merged and dropped.
namespace effect {
inline constexpr std::uint32_t none = 0, reads = 1, writes = 2, async = 4, signals = 8, waits = 16, fence = 32,
                               sync = 64;
}

struct OpInfo {
  std::string_view name;  ///< in IR text; a trailing underscore of the enumerator is dropped
  OpClass cls;
  Domain domain;
  int min_operands, max_operands;  ///< max -1: any number
  int results, regions;            ///< regions -1: any number
  std::uint32_t effects;
  int since;                  ///< smallest sm_ number
  std::string_view spelling;  ///< callable name in pk, or empty
  std::string_view signature;
  std::string_view doc;
};

namespace detail {
using namespace effect;  // NOLINT: lets the table say `reads | writes`
consteval std::string_view drop_underscore(std::string_view name) {
  return name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
}
inline constexpr std::array op_table = {
#define PK_OP(name, cls, domain, min, max, results, regions, effects, since, spelling, signature, doc) \
  OpInfo{drop_underscore(#name),                                                                       \
         OpClass::cls,                                                                                 \
         Domain::domain,                                                                               \
         min,                                                                                          \
         max,                                                                                          \
         results,                                                                                      \
         regions,                                                                                      \
         (effects),                                                                                    \
         since,                                                                                        \
         spelling,                                                                                     \
         signature,                                                                                    \
         doc},
#include "pk/ir/ops.def"
};
}  // namespace detail

inline constexpr const auto& op_table = detail::op_table;
[[nodiscard]] constexpr const OpInfo& info(Op op) { return op_table[static_cast<std::size_t>(op)]; }

/// The operation of a name in IR text.
[[nodiscard]] constexpr std::optional<Op> parse_op(std::string_view name) {
  for (std::size_t i = 0; i < op_table.size(); ++i) {
    if (op_table[i].name == name) return static_cast<Op>(i);
  }
  return std::nullopt;
}
/// The operation that a call of `name` in pk means.
[[nodiscard]] constexpr std::optional<Op> find_builtin(std::string_view name) {
  if (name.empty()) return std::nullopt;
  for (std::size_t i = 0; i < op_table.size(); ++i) {
    if (op_table[i].spelling == name) return static_cast<Op>(i);
  }
  return std::nullopt;
}
[[nodiscard]] constexpr bool is_elementwise(Op op) {
  const OpClass c = info(op).cls;
  return c == OpClass::unary || c == OpClass::predicate || c == OpClass::binary || c == OpClass::comparison ||
         c == OpClass::ternary || c == OpClass::conversion;
}

}  // namespace pk::ir
