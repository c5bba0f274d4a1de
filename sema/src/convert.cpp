// From what an expression is to what its context needs: values, constants of a type, compile-time integers, shapes.

#include "elaborator.h"
#include "rounding.h"

namespace pk::sema {

std::string Elaborator::shape_text(const SymShape& shape) const {
  std::string text = "[";
  for (const Sym& s : shape) {
    if (text.size() > 1) text += ", ";
    text += syms_.print(s);
  }
  return text + "]";
}

std::string Elaborator::type_text(const SemType& type) const {
  const bool untyped = type.space == ir::Space::barrier || type.space == ir::Space::cluster_barrier ||
                       type.space == ir::Space::semaphore;
  if (type.kind == ir::Type::Kind::ref && untyped) {
    return std::string(ir::spelling(type.space)) + (type.shape.empty() ? "" : shape_text(type.shape));
  }
  const std::string element(ir::spelling(type.dtype));
  if (type.kind == ir::Type::Kind::scalar) return element;
  const std::string shaped = element + shape_text(type.shape);
  return type.kind == ir::Type::Kind::ref ? fmt::format("{} {}", ir::spelling(type.space), shaped) : shaped;
}

std::string Elaborator::describe(const Val& val) const {
  switch (val.kind) {
    case Val::Kind::poison:
      return "nothing";
    case Val::Kind::none:
      return "no value";
    case Val::Kind::integer:
      return val.is_index ? "an `index`" : fmt::format("the integer {}", syms_.print(val.sym));
    case Val::Kind::real:
      return fmt::format("the number {}", val.real);
    case Val::Kind::boolean:
      return "a `bool`";
    case Val::Kind::value:
      return fmt::format("`{}`", type_text(val.type));
    case Val::Kind::ref: {
      const std::string name = ref_name(val);
      return name.empty() ? fmt::format("`{}`", type_text(val.type))
                          : fmt::format("`{}` (`{}`)", name, type_text(val.type));
    }
    case Val::Kind::dtype:
      return fmt::format("the type `{}`", ir::spelling(val.type.dtype));
    case Val::Kind::axis:
      return "a mesh axis";
    case Val::Kind::tuple:
      return fmt::format("a tuple of {}", val.elements.size());
    case Val::Kind::function:
      return "a function";
    case Val::Kind::text:
      return "a text";
  }
  return "";
}

std::string Elaborator::ref_name(const Val& ref) const { return ref.root == nullptr ? std::string() : ref.root->name; }

Val Elaborator::rvalue(Val val, Span span) {
  switch (val.kind) {
    case Val::Kind::axis: {
      if (val.axis < 0) return Val::value(val.ir, SemType::scalar(ir::Dtype::index));
      if (in_launch_) {
        error<diag::bad_argument>(span, "the coordinate of an axis is not known before the launch");
        return Val::poison();
      }
      ir::Attrs attrs;
      attrs.set(ir::Attr::axis, std::int64_t{val.axis});
      const SemType index = SemType::scalar(ir::Dtype::index);
      return Val::value(emit(ir::Op::coord, span, {}, lower(index), std::move(attrs)), index);
    }
    case Val::Kind::dtype:
      error<diag::wrong_kind_of_name>(span, source_text(span), "a type", "a value");
      return Val::poison();
    case Val::Kind::function: {
      const std::string name(item_name(*val.item.item));
      error<diag::wrong_kind_of_name>(span, name, "a function", "a value").help(fmt::format("call it: `{}(…)`", name));
      return Val::poison();
    }
    case Val::Kind::poison:
    case Val::Kind::none:
    case Val::Kind::integer:
    case Val::Kind::real:
    case Val::Kind::boolean:
    case Val::Kind::value:
    case Val::Kind::ref:
    case Val::Kind::tuple:
    case Val::Kind::text:
      break;
  }
  return val;
}

Val Elaborator::adapt(const Val& val, ir::Dtype dtype, Span span) {
  const SemType scalar = SemType::scalar(dtype);
  switch (val.kind) {
    case Val::Kind::poison:
      return val;
    case Val::Kind::integer: {
      if (dtype == ir::Dtype::boolean || (val.is_index && dtype != ir::Dtype::index)) break;
      const auto c = val.sym.constant();
      if (!c) {
        const ir::Value index = materialise(val.sym, span);
        if (dtype == ir::Dtype::index) return Val::value(index, scalar);
        return Val::value(emit(ir::Op::cast, span, {index}, lower(scalar)), scalar);
      }
      if (ir::is_floating(dtype)) {
        const double number =
            val.above_int64 ? static_cast<double>(static_cast<std::uint64_t>(*c)) : static_cast<double>(*c);
        return Val::value(constant_real(number, dtype, span), scalar);
      }
      if (val.above_int64 ? dtype != ir::Dtype::u64 : !fits(dtype, *c)) {
        const std::string number =
            val.above_int64 ? fmt::format("{}", static_cast<std::uint64_t>(*c)) : fmt::format("{}", *c);
        error<diag::bad_literal>(span, fmt::format("{} does not fit `{}`", number, ir::spelling(dtype)))
            .help(fmt::format("write a number of the type's range, or convert on purpose: `{} as {}` wraps", number,
                              ir::spelling(dtype)));
        return Val::poison();
      }
      return Val::value(constant_int(*c, dtype, span), scalar);
    }
    case Val::Kind::real:
      if (ir::is_floating(dtype)) return Val::value(constant_real(val.real, dtype, span), scalar);
      error<diag::bad_literal>(
          span, fmt::format("{} is no `{}`: the type holds integers", source_text(span), ir::spelling(dtype)))
          .help(fmt::format("write an integer, or convert: `{} as {}` truncates", source_text(span),
                            ir::spelling(dtype)));
      return Val::poison();
    case Val::Kind::boolean:
      if (dtype != ir::Dtype::boolean) break;
      return Val::value(constant_bool(val.flag, span), scalar);
    case Val::Kind::value:
      if (val.type.dtype == dtype) return val;
      break;
    case Val::Kind::ref: {
      const std::string name = source_text(span);
      error<diag::type_mismatch>(span, fmt::format("{} is memory, and a value is expected", describe(val)))
          .help(fmt::format("load it: `{}[...]`", name));
      return Val::poison();
    }
    case Val::Kind::none:
      error<diag::type_mismatch>(span, "this call has no result, and a value is expected");
      return Val::poison();
    case Val::Kind::dtype:
    case Val::Kind::axis:
    case Val::Kind::tuple:
    case Val::Kind::function:
    case Val::Kind::text:
      error<diag::type_mismatch>(
          span, fmt::format("{} stands where a value of type `{}` is expected", describe(val), ir::spelling(dtype)));
      return Val::poison();
  }
  error<diag::type_mismatch>(span, fmt::format("{} stands where `{}` is expected", describe(val), ir::spelling(dtype)))
      .help(
          fmt::format("types never change silently; convert with `{} as {}`", source_text(span), ir::spelling(dtype)));
  return Val::poison();
}

ir::Value Elaborator::index_value(const Val& val, Span span, std::string_view what) {
  if (val.poisoned()) return {};
  if (val.is(Val::Kind::integer)) return materialise(val.sym, span);
  if (val.is_scalar() && val.type.dtype == ir::Dtype::index) return val.ir;
  auto builder = error<diag::type_mismatch>(
      span, fmt::format("{} must be an `index`, an integer; this is {}", what, describe(val)));
  if (val.is_scalar() && ir::is_integer(val.type.dtype))
    builder.help(fmt::format("convert it: `{} as index`", source_text(span)));
  return {};
}

std::optional<Sym> Elaborator::static_int(const Val& val, Span span, std::string_view what) {
  if (val.poisoned()) return std::nullopt;
  if (val.is(Val::Kind::integer)) return val.sym;
  if (val.is(Val::Kind::real)) {
    error<diag::bad_literal>(span, fmt::format("{} is an integer, not {}", what, source_text(span)));
    return std::nullopt;
  }
  auto builder = error<diag::not_static>(span, what);
  builder.note(fmt::format("this is {}", describe(val)));
  builder.help("use literals, `const`s and `int` parameters of the kernel");
  return std::nullopt;
}

std::optional<std::int64_t> Elaborator::static_constant(ast::ExprId id, std::string_view what, bool& unresolved) {
  const Span span = span_of(id);
  const auto sym = static_int(value_expr(id), span, what);
  if (!sym) return std::nullopt;
  if (const auto c = sym->constant()) return c;
  if (syms_.is_runtime(*sym)) {
    require_static({*sym}, span, what);
    return std::nullopt;
  }
  unresolved = true;
  return std::nullopt;
}

bool Elaborator::require_static(const SymShape& shape, Span span, std::string_view what) {
  for (const Sym& s : shape) {
    if (!syms_.is_runtime(s)) continue;
    const std::string name = syms_.runtime_name(s);
    error<diag::runtime_size>(span, name, what)
        .help(fmt::format(
            "make `{}` a parameter of the kernel, `<{}: int>` (it is then deduced from the argument), or work on parts "
            "of static size, `r[start +: 128]`",
            name, name));
    return false;
  }
  return true;
}

std::optional<SymShape> Elaborator::broadcast_shape(const SymShape& a, const SymShape& b) const {
  const SymShape& longer = a.size() >= b.size() ? a : b;
  const SymShape& shorter = a.size() >= b.size() ? b : a;
  SymShape result = longer;
  const std::size_t offset = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    Sym& axis = result[offset + i];
    if (shorter[i] == axis || shorter[i] == Sym(1)) continue;
    if (axis == Sym(1)) {
      axis = shorter[i];
    } else if (equal(axis, shorter[i]) == Truth::no) {
      return std::nullopt;
    }
  }
  return result;
}

Val Elaborator::broadcast_to(const Val& val, const SymShape& shape, Span span) {
  if (!val.is_tile() || val.type.shape == shape) return val;
  const SemType type = SemType::tile(val.type.dtype, shape);
  return Val::value(emit(ir::Op::broadcast, span, {val.ir}, lower(type)), type);
}

Val Elaborator::fix_type(const Val& val, Span span) {
  if (val.is(Val::Kind::integer)) return adapt(val, ir::Dtype::index, span);
  if (val.is(Val::Kind::real)) return adapt(val, ir::Dtype::f32, span);
  if (val.is(Val::Kind::boolean)) return adapt(val, ir::Dtype::boolean, span);
  return val;
}

}  // namespace pk::sema
