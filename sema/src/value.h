#pragma once
// What an expression is while sema elaborates it: something known at compile time, or a value or ref of the IR.

#include <string>
#include <string_view>
#include <vector>

#include "module.h"
#include "pk/ir/ir.h"
#include "sym.h"

namespace pk::sema {

/// Type of an IR value as sema sees it: like ir::Type, with symbolic extents.
struct SemType {
  ir::Type::Kind kind = ir::Type::Kind::none;
  ir::Dtype dtype = ir::Dtype::f32;
  ir::Space space = ir::Space::gmem;
  SymShape shape;

  [[nodiscard]] static SemType scalar(ir::Dtype t) { return {ir::Type::Kind::scalar, t, ir::Space::gmem, {}}; }
  [[nodiscard]] static SemType tile(ir::Dtype t, SymShape s) {
    return {ir::Type::Kind::tile, t, ir::Space::gmem, std::move(s)};
  }
  [[nodiscard]] static SemType ref(ir::Space sp, ir::Dtype t, SymShape s) {
    return {ir::Type::Kind::ref, t, sp, std::move(s)};
  }
  [[nodiscard]] bool is_scalar() const { return kind == ir::Type::Kind::scalar; }
  [[nodiscard]] bool is_tile() const { return kind == ir::Type::Kind::tile; }
};

/// The memory behind a ref: a parameter or an allocation. Views keep the root of what they view; a ref parameter of a
/// function has a root of its own whose `parent` is the argument's.
struct RefRoot {
  enum class Kind : std::uint8_t { param, fn_param, alloc, load_block, store_block };
  Kind kind = Kind::alloc;
  std::string name;
  Span span;
  ast::Mode mode = ast::Mode::inout;  ///< of parameters and blocks
  const RefRoot* parent = nullptr;
  mutable bool written = false;     ///< an `out` parameter that something may have written already
  std::vector<std::int64_t> tiled;  ///< pinned by the user
  std::int64_t swizzle = -1;
};

struct Val {
  enum class Kind : std::uint8_t {
    poison,   ///< a mistake that is already reported; silences what follows from it
    none,     ///< a call without result
    integer,  ///< `sym`: known at compile time or a polynomial of run-time dimensions
    real,     ///< an untyped floating literal
    boolean,  ///< a condition that is known at compile time
    value,    ///< a scalar or tile of the IR
    ref,      ///< memory
    dtype,    ///< an element type as argument
    axis,     ///< a mesh axis, or a sequential axis of a blocked kernel
    tuple,
    function,
    text
  };
  Kind kind = Kind::poison;
  Sym sym;                   ///< integer; axis: its extent
  bool is_index = false;     ///< integer: of type `index`, else it adapts to its context as a literal does
  bool above_int64 = false;  ///< integer: a literal over 2^63, whose bits `sym` holds
  double real = 0;
  bool flag = false;
  SemType type;  ///< value, ref; dtype: its dtype
  ir::Value ir;  ///< value, ref; sequential axis: the loop variable
  const RefRoot* root = nullptr;
  bool transposed = false;  ///< ref: an odd number of `.T` since the root
  bool contiguous = true;   ///< ref: its elements lie one after the other, so that it can be reshaped
  int axis = -1;            ///< axis: number in the mesh, -1 for a sequential axis
  std::vector<Val> elements;
  ItemRef item;
  std::string text;

  [[nodiscard]] bool poisoned() const { return kind == Kind::poison; }
  [[nodiscard]] bool is(Kind k) const { return kind == k; }
  [[nodiscard]] bool is_scalar() const { return kind == Kind::value && type.is_scalar(); }
  [[nodiscard]] bool is_tile() const { return kind == Kind::value && type.is_tile(); }
  [[nodiscard]] bool is_untyped() const { return kind == Kind::real || (kind == Kind::integer && !is_index); }
  /// The constant of a compile-time integer.
  [[nodiscard]] std::optional<std::int64_t> constant() const {
    return kind == Kind::integer ? sym.constant() : std::nullopt;
  }

  [[nodiscard]] static Val poison() { return {}; }
  [[nodiscard]] static Val nothing();
  [[nodiscard]] static Val integer(Sym s, bool is_index = false);
  [[nodiscard]] static Val of_real(double x);
  [[nodiscard]] static Val boolean(bool b);
  [[nodiscard]] static Val of_dtype(ir::Dtype t);
  [[nodiscard]] static Val value(ir::Value v, SemType t);
};

}  // namespace pk::sema
