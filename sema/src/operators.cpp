// Operators and elementwise operations: one dtype for all operands, shapes broadcast as in NumPy.

#include <cmath>

#include "elaborator.h"
#include "pk/ir/ops.h"

namespace pk::sema {
namespace {

ir::Op op_of(ast::BinaryOp op) {
  switch (op) {
    case ast::BinaryOp::add:
      return ir::Op::add;
    case ast::BinaryOp::sub:
      return ir::Op::sub;
    case ast::BinaryOp::mul:
      return ir::Op::mul;
    case ast::BinaryOp::div:
      return ir::Op::div;
    case ast::BinaryOp::rem:
      return ir::Op::rem;
    case ast::BinaryOp::shl:
      return ir::Op::shl;
    case ast::BinaryOp::shr:
      return ir::Op::shr;
    case ast::BinaryOp::bit_and:
    case ast::BinaryOp::logical_and:
      return ir::Op::bit_and;
    case ast::BinaryOp::bit_or:
    case ast::BinaryOp::logical_or:
      return ir::Op::bit_or;
    case ast::BinaryOp::bit_xor:
      return ir::Op::bit_xor;
    case ast::BinaryOp::eq:
      return ir::Op::eq;
    case ast::BinaryOp::ne:
      return ir::Op::ne;
    case ast::BinaryOp::lt:
      return ir::Op::lt;
    case ast::BinaryOp::le:
      return ir::Op::le;
    case ast::BinaryOp::gt:
      return ir::Op::gt;
    case ast::BinaryOp::ge:
      return ir::Op::ge;
  }
  return ir::Op::add;
}

bool is_comparison(ast::BinaryOp op) { return ir::info(op_of(op)).cls == ir::OpClass::comparison; }

std::optional<OpaqueOp> opaque_of(ir::Op op) {
  if (op == ir::Op::div) return OpaqueOp::div;
  if (op == ir::Op::rem) return OpaqueOp::rem;
  if (op == ir::Op::floordiv) return OpaqueOp::floordiv;
  if (op == ir::Op::mod) return OpaqueOp::mod;
  if (op == ir::Op::cdiv) return OpaqueOp::cdiv;
  if (op == ir::Op::min) return OpaqueOp::min;
  if (op == ir::Op::max) return OpaqueOp::max;
  return std::nullopt;
}

std::optional<double> fold_real(ir::Op op, double a, double b) {
  if (op == ir::Op::add) return a + b;
  if (op == ir::Op::sub) return a - b;
  if (op == ir::Op::mul) return a * b;
  if (op == ir::Op::div) return a / b;
  if (op == ir::Op::rem) return std::fmod(a, b);
  if (op == ir::Op::min) return std::isnan(a) || std::isnan(b) ? std::nan("") : std::min(a, b);
  if (op == ir::Op::max) return std::isnan(a) || std::isnan(b) ? std::nan("") : std::max(a, b);
  if (op == ir::Op::pow) return std::pow(a, b);
  return std::nullopt;
}

template <class T>
std::optional<bool> fold_comparison(ir::Op op, T a, T b) {
  if (op == ir::Op::eq) return a == b;
  if (op == ir::Op::ne) return a != b;
  if (op == ir::Op::lt) return a < b;
  if (op == ir::Op::le) return a <= b;
  if (op == ir::Op::gt) return a > b;
  if (op == ir::Op::ge) return a >= b;
  return std::nullopt;
}

std::optional<std::int64_t> fold_bits(ir::Op op, std::int64_t a, std::int64_t b) {
  const auto ua = static_cast<std::uint64_t>(a);
  const auto ub = static_cast<std::uint64_t>(b);
  if (op == ir::Op::bit_and) return static_cast<std::int64_t>(ua & ub);
  if (op == ir::Op::bit_or) return static_cast<std::int64_t>(ua | ub);
  if (op == ir::Op::bit_xor) return static_cast<std::int64_t>(ua ^ ub);
  if (op == ir::Op::shl) return ub >= 64 ? 0 : static_cast<std::int64_t>(ua << ub);
  if (op == ir::Op::shr) return ub >= 64 ? (a < 0 ? -1 : 0) : a >> ub;
  return std::nullopt;
}

double as_real(const Val& v) { return v.is(Val::Kind::real) ? v.real : static_cast<double>(*v.constant()); }

}  // namespace

Val Elaborator::unary(const ast::Unary& node, Span span) {
  const Val operand = value_expr(node.operand);
  const Span operand_span = span_of(node.operand);
  if (operand.poisoned()) return operand;
  switch (node.op) {
    case ast::UnaryOp::negate:
      if (operand.is(Val::Kind::integer)) return Val::integer(operand.sym * Sym(-1), operand.is_index);
      if (operand.is(Val::Kind::real)) return Val::of_real(-operand.real);
      return elementwise(ir::Op::neg, {operand}, {operand_span}, span);
    case ast::UnaryOp::logical_not:
      if (operand.is(Val::Kind::boolean)) return Val::boolean(!operand.flag);
      return elementwise(ir::Op::logical_not, {operand}, {operand_span}, span);
    case ast::UnaryOp::bit_not:
      if (const auto c = operand.constant()) return Val::integer(Sym(~*c), operand.is_index);
      return elementwise(ir::Op::bit_not, {operand}, {operand_span}, span);
  }
  return Val::poison();
}

Val Elaborator::binary(const ast::Binary& node, Span span) {
  if (node.op == ast::BinaryOp::logical_and || node.op == ast::BinaryOp::logical_or) return logical(node, span);
  Val left = expr(node.left);
  if (left.is(Val::Kind::dtype) && (node.op == ast::BinaryOp::eq || node.op == ast::BinaryOp::ne)) {
    // `T == f16` in generic code is a compile-time condition.
    const Val right = expr(node.right);
    if (right.is(Val::Kind::dtype))
      return Val::boolean((left.type.dtype == right.type.dtype) == (node.op == ast::BinaryOp::eq));
  }
  left = rvalue(std::move(left), span_of(node.left));
  const Val right = value_expr(node.right);
  return binary_values(node.op, left, right, span_of(node.left), span_of(node.right), node.op_span, span);
}

Val Elaborator::binary_values(ast::BinaryOp op, const Val& left, const Val& right, Span left_span, Span right_span,
                              Span op_span, Span span) {
  if (left.poisoned() || right.poisoned()) return Val::poison();
  if (is_comparison(op) && op != ast::BinaryOp::eq && op != ast::BinaryOp::ne) {
    const auto is_bool = [](const Val& v) {
      return v.is(Val::Kind::boolean) || (v.is(Val::Kind::value) && v.type.dtype == ir::Dtype::boolean);
    };
    if (is_bool(left)) {
      error<diag::comparison_chain>(op_span.valid() ? op_span : span).help("write `a < b && b < c`");
      return Val::poison();
    }
  }
  if (const auto folded = fold_binary(op_of(op), left, right, right_span, span)) return *folded;
  return elementwise(op_of(op), {left, right}, {left_span, right_span}, span);
}

std::optional<Val> Elaborator::fold_binary(ir::Op op, const Val& left, const Val& right, Span right_span, Span span) {
  const bool comparison = ir::info(op).cls == ir::OpClass::comparison;
  const bool real = left.is(Val::Kind::real) || right.is(Val::Kind::real);
  if (left.is(Val::Kind::boolean) && right.is(Val::Kind::boolean)) {
    if (op == ir::Op::eq) return Val::boolean(left.flag == right.flag);
    if (op == ir::Op::ne || op == ir::Op::bit_xor) return Val::boolean(left.flag != right.flag);
    if (op == ir::Op::bit_and) return Val::boolean(left.flag && right.flag);
    if (op == ir::Op::bit_or) return Val::boolean(left.flag || right.flag);
    return std::nullopt;
  }
  if (real && left.is_untyped() && right.is_untyped()) {
    if ((left.is(Val::Kind::integer) && !left.constant()) || (right.is(Val::Kind::integer) && !right.constant()))
      return std::nullopt;
    if (comparison) return Val::boolean(*fold_comparison(op, as_real(left), as_real(right)));
    const auto folded = fold_real(op, as_real(left), as_real(right));
    return folded ? std::optional(Val::of_real(*folded)) : std::nullopt;
  }
  const bool divides =
      op == ir::Op::div || op == ir::Op::rem || op == ir::Op::floordiv || op == ir::Op::mod || op == ir::Op::cdiv;
  const bool integral = left.is(Val::Kind::integer) || (left.is(Val::Kind::value) && !ir::is_floating(left.type.dtype));
  if (divides && integral && right.constant() == 0) {
    error<diag::division_by_zero>(right_span, left.is(Val::Kind::integer) ? syms_.print(left.sym) : "an integer");
    return Val::poison();
  }
  if (!left.is(Val::Kind::integer) || !right.is(Val::Kind::integer)) return std::nullopt;
  const bool is_index = left.is_index || right.is_index;
  const auto a = left.constant();
  const auto b = right.constant();
  if (left.above_int64 || right.above_int64) return std::nullopt;
  if (op == ir::Op::add) return Val::integer(left.sym + right.sym, is_index);
  if (op == ir::Op::sub) return Val::integer(left.sym - right.sym, is_index);
  if (op == ir::Op::mul) return Val::integer(left.sym * right.sym, is_index);
  if (const auto opaque = opaque_of(op)) return Val::integer(syms_.opaque(*opaque, left.sym, right.sym), is_index);
  if (comparison) {
    if (const auto difference = (left.sym - right.sym).constant())
      return Val::boolean(*fold_comparison<std::int64_t>(op, *difference, 0));
    return std::nullopt;
  }
  if (a && b) {
    if (const auto folded = fold_bits(op, *a, *b)) return Val::integer(Sym(*folded), is_index);
  }
  if (op == ir::Op::pow) {
    error<diag::type_mismatch>(span, "`pow` works on floating-point numbers");
    return Val::poison();
  }
  return std::nullopt;
}

// `&&` and `||` of scalars evaluate the right side only where the left one does not decide.
Val Elaborator::logical(const ast::Binary& node, Span span) {
  const bool is_and = node.op == ast::BinaryOp::logical_and;
  const ir::Op op = op_of(node.op);
  const Val left = value_expr(node.left);
  if (left.is(Val::Kind::boolean)) {
    if (left.flag != is_and) {
      const DeadGuard dead(*this);
      (void)value_expr(node.right);
      return left;
    }
    const Val right = value_expr(node.right);
    const bool is_bool =
        right.is(Val::Kind::boolean) || (right.is(Val::Kind::value) && right.type.dtype == ir::Dtype::boolean);
    return right.poisoned() || is_bool
               ? right
               : elementwise(op, {left, right}, {span_of(node.left), span_of(node.right)}, span);
  }
  ir::Region right_region;
  Val right;
  {
    const RegionGuard guard(*this, right_region.insts);
    right = value_expr(node.right);
  }
  if (left.poisoned() || right.poisoned()) return Val::poison();
  bool has_effects = false;
  for (const ir::Inst& inst : right_region.insts) {
    has_effects = has_effects || ir::info(inst.op).effects != ir::effect::none || !inst.regions.empty() ||
                  inst.op == ir::Op::div || inst.op == ir::Op::rem || inst.op == ir::Op::floordiv ||
                  inst.op == ir::Op::mod || inst.op == ir::Op::cdiv;
  }
  const bool scalars = left.is_scalar() && left.type.dtype == ir::Dtype::boolean &&
                       (right.is(Val::Kind::boolean) || (right.is_scalar() && right.type.dtype == ir::Dtype::boolean));
  if (!scalars || !has_effects) {
    for (ir::Inst& inst : right_region.insts) out_->push_back(std::move(inst));
    return elementwise(op, {left, right}, {span_of(node.left), span_of(node.right)}, span);
  }
  const SemType boolean = SemType::scalar(ir::Dtype::boolean);
  const ir::Value cell = emit(ir::Op::var, span, {left.ir}, ir::Type::cell(lower(boolean)));
  ir::Value decides = left.ir;
  if (!is_and) decides = emit(ir::Op::logical_not, span, {left.ir}, lower(boolean));
  {
    const RegionGuard guard(*this, right_region.insts);
    const Val value = adapt(right, ir::Dtype::boolean, span_of(node.right));
    push(ir::Op::var_set, span, {cell, value.ir});
  }
  ir::Inst& branch = push(ir::Op::if_, span, {decides});
  branch.regions.resize(2);
  branch.regions[0] = std::move(right_region);
  return Val::value(emit(ir::Op::var_get, span, {cell}, lower(boolean)), boolean);
}

bool Elaborator::check_domain(ir::Op op, ir::Dtype dtype, Span span) {
  const ir::OpInfo& row = ir::info(op);
  const auto refuse = [&](std::string_view kinds) {
    const std::string_view shown = row.spelling.empty() ? row.signature : row.spelling;
    error<diag::type_mismatch>(span, fmt::format("`{}` works on {}; this is `{}`", shown, kinds, ir::spelling(dtype)));
    return false;
  };
  switch (row.domain) {
    case ir::Domain::any:
      return true;
    case ir::Domain::number:
      return dtype != ir::Dtype::boolean || refuse("numbers");
    case ir::Domain::integer:
      return ir::is_integer(dtype) || refuse("integers");
    case ir::Domain::floating:
      return ir::is_floating(dtype) || refuse("floating-point numbers");
    case ir::Domain::boolean:
      return dtype == ir::Dtype::boolean || refuse("`bool`");
    case ir::Domain::bits:
      return !ir::is_floating(dtype) || refuse("integers and `bool`");
  }
  return true;
}

// Gives all operands from `first` on the dtype of those that have one; untyped constants adapt.
bool Elaborator::unify(std::vector<Val>& operands, const std::vector<Span>& spans, std::size_t first, Span span) {
  std::optional<ir::Dtype> dtype;
  std::size_t decided_by = first;
  for (std::size_t i = first; i < operands.size(); ++i) {
    const Val& v = operands[i];
    if (v.poisoned()) return false;
    std::optional<ir::Dtype> own;
    if (v.is(Val::Kind::value)) own = v.type.dtype;
    if (v.is(Val::Kind::boolean)) own = ir::Dtype::boolean;
    if (v.is(Val::Kind::integer) && v.is_index) own = ir::Dtype::index;
    if (!own && !v.is_untyped()) {
      (void)adapt(v, ir::Dtype::f32, spans[i]);  // reports what it is instead
      return false;
    }
    if (!own) continue;
    if (dtype && *dtype != *own) {
      const auto type_of = [&](const Val& w) {
        return w.is(Val::Kind::value) ? type_text(w.type)
                                      : std::string(ir::spelling(w.is_index ? ir::Dtype::index : ir::Dtype::boolean));
      };
      error<diag::type_mismatch>(span, fmt::format("the operands have different types: `{}` and `{}`",
                                                   ir::spelling(*dtype), ir::spelling(*own)))
          .label(spans[decided_by], fmt::format("`{}`", type_of(operands[decided_by])))
          .label(spans[i], fmt::format("`{}`", type_of(v)))
          .help(fmt::format("types never change silently; convert one of them, for example `{} as {}`",
                            source_text(spans[i]), ir::spelling(*dtype)));
      return false;
    }
    if (!dtype) {
      dtype = own;
      decided_by = i;
    }
  }
  if (!dtype) {
    const bool any_real = std::any_of(operands.begin() + static_cast<std::ptrdiff_t>(first), operands.end(),
                                      [](const Val& v) { return v.is(Val::Kind::real); });
    dtype = any_real ? ir::Dtype::f32 : ir::Dtype::index;
    const bool fits_wanted = wanted_ && *wanted_ != ir::Dtype::boolean && (!any_real || ir::is_floating(*wanted_));
    if (fits_wanted) dtype = wanted_;
  }
  for (std::size_t i = first; i < operands.size(); ++i) {
    operands[i] = adapt(operands[i], *dtype, spans[i]);
    if (operands[i].poisoned()) return false;
  }
  return true;
}

bool Elaborator::unify_shapes(std::vector<Val>& operands, const std::vector<Span>& spans, Span span, SymShape& shape,
                              bool& is_tile) {
  std::size_t shaped_by = 0;
  is_tile = false;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].is_tile()) continue;
    if (!is_tile) {
      shape = operands[i].type.shape;
      is_tile = true;
      shaped_by = i;
      continue;
    }
    const auto common = broadcast_shape(shape, operands[i].type.shape);
    if (!common) {
      auto builder = error<diag::shape_mismatch>(
          span, fmt::format("the shapes {} and {} do not fit", shape_text(shape), shape_text(operands[i].type.shape)));
      builder.label(spans[shaped_by], fmt::format("`{}`", type_text(operands[shaped_by].type)));
      builder.label(spans[i], fmt::format("`{}`", type_text(operands[i].type)));
      builder.note("axes are lined up from the last; an axis of size 1 is repeated");
      const SymShape& other = operands[i].type.shape;
      if (shape.size() == 2 && other.size() == 1 && equal(shape[0], other[0]) == Truth::yes)
        builder.help(fmt::format("for a column write `{}[:, new]`", source_text(spans[i])));
      if (other.size() == 2 && shape.size() == 1 && equal(other[0], shape[0]) == Truth::yes)
        builder.help(fmt::format("for a column write `{}[:, new]`", source_text(spans[shaped_by])));
      return false;
    }
    shape = *common;
  }
  if (!is_tile) return true;
  for (std::size_t i = 0; i < operands.size(); ++i) operands[i] = broadcast_to(operands[i], shape, spans[i]);
  return true;
}

Val Elaborator::elementwise(ir::Op op, std::vector<Val> operands, const std::vector<Span>& spans, Span span) {
  const ir::OpClass cls = ir::info(op).cls;
  std::size_t first = 0;  // the condition of a select has its own type
  for (const Val& v : operands) {
    if (v.poisoned()) return v;
  }
  if (op == ir::Op::select) {
    const Val condition = adapt(operands[0], ir::Dtype::boolean, spans[0]);
    if (condition.poisoned()) return condition;
    operands[0] = condition;
    first = 1;
  }
  const bool untyped = std::all_of(operands.begin() + static_cast<std::ptrdiff_t>(first), operands.end(),
                                   [](const Val& v) { return v.is_untyped(); });
  if (untyped && ir::info(op).domain == ir::Domain::floating && operands[first].constant()) {
    operands[first] =
        Val::of_real(static_cast<double>(*operands[first].constant()));  // `sqrt(2)` is a floating-point number
  }
  if (!unify(operands, spans, first, span)) return Val::poison();
  const ir::Dtype dtype = operands[first].type.dtype;
  if (!check_domain(op, dtype, span)) return Val::poison();
  SymShape shape;
  bool is_tile = false;
  if (!unify_shapes(operands, spans, span, shape, is_tile)) return Val::poison();
  const bool gives_bool = cls == ir::OpClass::comparison || cls == ir::OpClass::predicate;
  const ir::Dtype result = gives_bool ? ir::Dtype::boolean : dtype;
  const SemType type = is_tile ? SemType::tile(result, shape) : SemType::scalar(result);
  std::vector<ir::Value> values;
  for (const Val& v : operands) values.push_back(v.ir);
  return Val::value(emit(op, span, std::move(values), lower(type)), type);
}

}  // namespace pk::sema
