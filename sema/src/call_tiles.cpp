// Calls that compute with values: elementwise operations, reductions, and changes of shape.

#include "elaborator.h"
#include "pk/ir/ops.h"

namespace pk::sema {

Val Elaborator::call_elementwise(ir::Op op, std::string_view name, const ast::Call& node, Span span) {
  Signature signature{name, {}, 0, {}, false};
  static constexpr std::string_view unary_names[] = {"x"};
  static constexpr std::string_view binary_names[] = {"x", "y"};
  static constexpr std::string_view select_names[] = {"condition", "if_true", "if_false"};
  static constexpr std::string_view fma_names[] = {"a", "b", "c"};
  static constexpr std::string_view clamp_names[] = {"x", "low", "high"};
  const auto use = [&](std::span<const std::string_view> names) {
    signature.params.assign(names.begin(), names.end());
  };
  const int operands = ir::info(op).min_operands;
  if (operands == 1) use(unary_names);
  if (operands == 2) use(binary_names);
  if (operands == 3)
    use(op == ir::Op::select ? std::span(select_names)
        : op == ir::Op::fma  ? std::span(fma_names)
                             : std::span(clamp_names));
  signature.required = signature.params.size();
  const auto args = sort_args(node, signature, span);
  if (!args) return Val::poison();
  std::vector<Val> values;
  std::vector<Span> spans;
  for (const ast::ExprId id : args->positional) {
    values.push_back(value_expr(id));
    spans.push_back(span_of(id));
  }
  for (const Val& v : values) {
    if (v.poisoned()) return v;
  }
  if (op == ir::Op::select && values[0].is(Val::Kind::boolean)) {
    const bool both_static = values[1].is(Val::Kind::integer) && values[2].is(Val::Kind::integer);
    if (both_static) return values[0].flag ? values[1] : values[2];
  }
  if (operands == 2) {
    if (const auto folded = fold_binary(op, values[0], values[1], spans[1], span)) return *folded;
  }
  return elementwise(op, std::move(values), spans, span);
}

Val Elaborator::call_minmax(ir::Op op, std::string_view name, const ast::Call& node, Span span) {
  for (const ast::Arg& arg : node.args) {
    if (arg.name.text == "axis")
      return call_reduction(op == ir::Op::min ? ir::Op::reduce_min : ir::Op::reduce_max, name, node, span);
  }
  if (node.args.size() == 1) {
    error<diag::wrong_argument_count>(span, fmt::format("`{}` takes two values, or one and an axis", name))
        .help(fmt::format("write `{}(x, axis = 0)` for the reduction", name));
    return Val::poison();
  }
  return call_elementwise(op, name, node, span);
}

std::optional<std::int64_t> Elaborator::axis_argument(ast::ExprId id, std::size_t rank, std::string_view what) {
  bool unresolved = false;
  const auto axis = static_constant(id, "an axis", unresolved);
  if (!axis) {
    if (unresolved) return 0;
    return std::nullopt;
  }
  const auto count = static_cast<std::int64_t>(rank);
  if (*axis >= 0 && *axis < count) return axis;
  if (*axis < 0 && *axis >= -count) return *axis + count;  // counted from the last
  error<diag::bad_axis>(span_of(id),
                        fmt::format("axis {} of {}, which has {} {}", *axis, what, rank, rank == 1 ? "axis" : "axes"));
  return std::nullopt;
}

Val Elaborator::call_reduction(ir::Op op, std::string_view name, const ast::Call& node, Span span) {
  const auto args = sort_args(node, {name, {"x"}, 1, {"axis"}, false}, span);
  if (!args) return Val::poison();
  const Val x = value_expr(args->positional[0]);
  if (x.poisoned()) return x;
  if (!x.is_tile()) {
    if (x.is(Val::Kind::ref)) return adapt(x, x.type.dtype, span_of(args->positional[0]));
    error<diag::type_mismatch>(span_of(args->positional[0]),
                               fmt::format("`{}` reduces a tile; this is {}", name, describe(x)));
    return Val::poison();
  }
  if (!args->option("axis").valid()) {
    error<diag::bad_axis>(span, fmt::format("`{}` needs an axis", name))
        .help(fmt::format("write `{}(x, axis = 0)`{}", name,
                          x.type.shape.size() > 1 ? "; reduce the axes one after the other for a total" : ""));
    return Val::poison();
  }
  const auto axis = axis_argument(args->option("axis"), x.type.shape.size(), fmt::format("`{}`", type_text(x.type)));
  if (!axis || !check_domain(op, x.type.dtype, span)) return Val::poison();
  return reduce(op, x, *axis, span);
}

Val Elaborator::reduce(ir::Op op, const Val& x, std::int64_t axis, Span span) {
  SymShape shape = x.type.shape;
  shape.erase(shape.begin() + axis);
  const ir::Dtype dtype =
      op == ir::Op::reduce_sum && x.type.dtype == ir::Dtype::boolean ? ir::Dtype::i32 : x.type.dtype;
  const SemType type = shape.empty() ? SemType::scalar(dtype) : SemType::tile(dtype, std::move(shape));
  ir::Attrs attrs;
  attrs.set(ir::Attr::axis, axis);
  return Val::value(emit(op, span, {x.ir}, lower(type), std::move(attrs)), type);
}

Val Elaborator::call_cumsum(const ast::Call& node, Span span) {
  const auto args = sort_args(node, {"cumsum", {"x"}, 1, {"axis"}, false}, span);
  if (!args) return Val::poison();
  const Val x = value_expr(args->positional[0]);
  if (x.poisoned()) return x;
  if (!x.is_tile()) {
    error<diag::type_mismatch>(span_of(args->positional[0]),
                               fmt::format("`cumsum` works on a tile; this is {}", describe(x)));
    return Val::poison();
  }
  std::optional<std::int64_t> axis = 0;
  if (args->option("axis").valid()) {
    axis = axis_argument(args->option("axis"), x.type.shape.size(), fmt::format("`{}`", type_text(x.type)));
  } else if (x.type.shape.size() > 1) {
    error<diag::bad_axis>(span, "`cumsum` needs an axis").help("write `cumsum(x, axis = 0)`");
    return Val::poison();
  }
  if (!axis || !check_domain(ir::Op::cumsum, x.type.dtype, span)) return Val::poison();
  ir::Attrs attrs;
  attrs.set(ir::Attr::axis, *axis);
  return Val::value(emit(ir::Op::cumsum, span, {x.ir}, lower(x.type), std::move(attrs)), x.type);
}

Val Elaborator::call_full(std::string_view name, const ast::Call& node, Span span) {
  const bool has_value = name == ir::info(ir::Op::splat).spelling;
  const auto args = has_value ? sort_args(node, {name, {"type", "value"}, 2, {}, false}, span)
                              : sort_args(node, {name, {"type"}, 1, {}, false}, span);
  if (!args) return Val::poison();
  const auto type = type_argument(args->positional[0], fmt::format("the first argument of `{}`", name));
  const Val value = has_value ? value_expr(args->positional[1], type ? std::optional(type->dtype) : std::nullopt)
                              : Val::integer(Sym(0));
  if (!type || value.poisoned()) return Val::poison();
  const Span value_span = has_value ? span_of(args->positional[1]) : span;
  const bool zero_bool = !has_value && type->dtype == ir::Dtype::boolean;
  const Val element = adapt(zero_bool ? Val::boolean(false) : value, type->dtype, value_span);
  if (element.poisoned()) return element;
  if (element.is_tile()) {
    if (equal(element.type.shape, type->shape) == Truth::yes) return element;
    error<diag::shape_mismatch>(value_span,
                                fmt::format("`{}` repeats a scalar; this is `{}`", name, type_text(element.type)))
        .help("write `broadcast(x, [shape])` to repeat a tile");
    return Val::poison();
  }
  if (type->is_scalar()) return element;
  return Val::value(emit(ir::Op::splat, span, {element.ir}, lower(*type)), *type);
}

Val Elaborator::call_iota(const ast::Call& node, Span span) {
  const auto args = sort_args(node, {"iota", {"type"}, 1, {"axis"}, false}, span);
  if (!args) return Val::poison();
  const auto type = type_argument(args->positional[0], "the argument of `iota`");
  if (!type) return Val::poison();
  if (type->is_scalar()) {
    error<diag::bad_argument>(span_of(args->positional[0]), "`iota` makes a tile: give it a shape, `iota(i32[128])`");
    return Val::poison();
  }
  std::int64_t axis = -1;
  if (args->option("axis").valid()) {
    const auto given = axis_argument(args->option("axis"), type->shape.size(), fmt::format("`{}`", type_text(*type)));
    if (!given) return Val::poison();
    axis = *given;
  }
  if (!check_domain(ir::Op::iota, type->dtype, span)) return Val::poison();
  ir::Attrs attrs;
  attrs.set(ir::Attr::axis, axis);
  return Val::value(emit(ir::Op::iota, span, {}, lower(*type), std::move(attrs)), *type);
}

Val Elaborator::call_size(const ast::Call& node, Span span) {
  const auto args = sort_args(node, {"size", {"axis"}, 1, {}, false}, span);
  if (!args) return Val::poison();
  const Val axis = expr(args->positional[0]);
  if (axis.poisoned()) return axis;
  if (!axis.is(Val::Kind::axis)) {
    error<diag::bad_argument>(span_of(args->positional[0]),
                              fmt::format("`size` takes an axis of the mesh; this is {}", describe(axis)))
        .help("extents of arguments are named in the kernel's signature: `in x: f32[N]`");
    return Val::poison();
  }
  if (axis.axis < 0 || !syms_.is_runtime(axis.sym)) return Val::integer(axis.sym, true);
  ir::Attrs attrs;
  attrs.set(ir::Attr::axis, std::int64_t{axis.axis});
  const SemType index = SemType::scalar(ir::Dtype::index);
  return Val::value(emit(ir::Op::axis_size, span, {}, lower(index), std::move(attrs)), index);
}

// `index(m, n)`: the coordinates in row-major order of the axes given.
Val Elaborator::call_index(const ast::Call& node, Span span) {
  const auto args = sort_args(node, {"index", {"axis"}, 1, {}, true}, span);
  if (!args) return Val::poison();
  std::vector<ast::ExprId> ids = args->positional;
  ids.insert(ids.end(), args->rest.begin(), args->rest.end());
  const SemType index = SemType::scalar(ir::Dtype::index);
  std::optional<ir::Value> linear;
  for (const ast::ExprId id : ids) {
    const Val axis = expr(id);
    if (axis.poisoned()) return axis;
    if (!axis.is(Val::Kind::axis)) {
      error<diag::bad_argument>(span_of(id), fmt::format("`index` takes axes of the mesh; this is {}", describe(axis)));
      return Val::poison();
    }
    const ir::Value coordinate = rvalue(axis, span_of(id)).ir;
    if (!linear) {
      linear = coordinate;
      continue;
    }
    ir::Value extent;
    if (axis.axis < 0 || !syms_.is_runtime(axis.sym)) {
      extent = materialise(axis.sym, span);
    } else {
      ir::Attrs attrs;
      attrs.set(ir::Attr::axis, std::int64_t{axis.axis});
      extent = emit(ir::Op::axis_size, span, {}, lower(index), std::move(attrs));
    }
    const ir::Value scaled = emit(ir::Op::mul, span, {*linear, extent}, lower(index));
    linear = emit(ir::Op::add, span, {scaled, coordinate}, lower(index));
  }
  return Val::value(*linear, index);
}

Val Elaborator::call_bitcast(const ast::Call& node, Span span) {
  const auto args = sort_args(node, {"bitcast", {"type", "x"}, 2, {}, false}, span);
  if (!args) return Val::poison();
  const auto to = type_argument(args->positional[0], "the first argument of `bitcast`");
  const Val x = fix_type(value_expr(args->positional[1]), span_of(args->positional[1]));
  if (!to || x.poisoned()) return Val::poison();
  if (!x.is(Val::Kind::value)) return adapt(x, to->dtype, span_of(args->positional[1]));
  if (ir::info(x.type.dtype).bits != ir::info(to->dtype).bits) {
    error<diag::type_mismatch>(
        span, fmt::format("`bitcast` keeps the bits: `{}` has {} and `{}` has {}", ir::spelling(x.type.dtype),
                          ir::info(x.type.dtype).bits, ir::spelling(to->dtype), ir::info(to->dtype).bits))
        .help("convert the value with `as`");
    return Val::poison();
  }
  SemType type = x.type;
  type.dtype = to->dtype;
  return Val::value(emit(ir::Op::bitcast, span, {x.ir}, lower(type)), type);
}

Val Elaborator::call_broadcast(const ast::Call& node, Span span) {
  const auto args = sort_args(node, {"broadcast", {"x", "shape"}, 2, {}, false}, span);
  if (!args) return Val::poison();
  const Val x = fix_type(value_expr(args->positional[0]), span_of(args->positional[0]));
  auto shape = shape_list(args->positional[1], "the shape");
  if (x.poisoned() || !shape) return Val::poison();
  if (!x.is(Val::Kind::value)) return adapt(x, ir::Dtype::f32, span_of(args->positional[0]));
  const SemType type = SemType::tile(x.type.dtype, *shape);
  if (x.is_scalar()) return Val::value(emit(ir::Op::splat, span, {x.ir}, lower(type)), type);
  const auto common = broadcast_shape(x.type.shape, *shape);
  if (!common || equal(*common, *shape) == Truth::no) {
    error<diag::shape_mismatch>(
        span, fmt::format("`{}` cannot be repeated to the shape {}", type_text(x.type), shape_text(*shape)))
        .note("axes are lined up from the last; an axis of size 1 is repeated");
    return Val::poison();
  }
  return broadcast_to(x, *shape, span);
}

Val Elaborator::call_reshape(const ast::Call& node, Span span) {
  const auto args = sort_args(node, {"reshape", {"x", "shape"}, 2, {}, false}, span);
  if (!args) return Val::poison();
  const Val x = value_expr(args->positional[0]);
  auto shape = shape_list(args->positional[1], "the shape");
  if (x.poisoned() || !shape) return Val::poison();
  if (!x.is_tile()) {
    error<diag::type_mismatch>(span_of(args->positional[0]),
                               fmt::format("`reshape` works on a tile; this is {}", describe(x)))
        .help("a ref is reshaped with `r.reshape[8, 16]`");
    return Val::poison();
  }
  Sym had(1);
  Sym wanted(1);
  for (const Sym& s : x.type.shape) had = had * s;
  for (const Sym& s : *shape) wanted = wanted * s;
  if (equal(had, wanted) == Truth::no) {
    error<diag::shape_mismatch>(span, fmt::format("`{}` has {} elements, the shape {} has {}", type_text(x.type),
                                                  syms_.print(had), shape_text(*shape), syms_.print(wanted)));
    return Val::poison();
  }
  if (shape->empty()) return only_element(x, span);
  return reshape_tile(x, std::move(*shape), span);
}

Val Elaborator::call_transpose(const ast::Call& node, Span span) {
  const auto args = sort_args(node, {"transpose", {"x", "axes"}, 1, {}, false}, span);
  if (!args) return Val::poison();
  const Val x = value_expr(args->positional[0]);
  if (x.poisoned()) return x;
  if (!x.is_tile()) {
    error<diag::type_mismatch>(span_of(args->positional[0]),
                               fmt::format("`transpose` works on a tile; this is {}", describe(x)))
        .help("a ref is transposed with `r.T`");
    return Val::poison();
  }
  const std::size_t rank = x.type.shape.size();
  std::vector<std::int64_t> perm;
  if (args->positional[1].valid()) {
    const auto axes = shape_list(args->positional[1], "the order of axes");
    if (!axes) return Val::poison();
    for (const Sym& axis : *axes) perm.push_back(axis.constant().value_or(0));
    std::vector<std::int64_t> sorted = perm;
    std::sort(sorted.begin(), sorted.end());
    bool ok = sorted.size() == rank;
    for (std::size_t i = 0; ok && i < rank; ++i) ok = sorted[i] == static_cast<std::int64_t>(i);
    if (!ok) {
      error<diag::bad_axis>(span_of(args->positional[1]),
                            fmt::format("the list names each of the {} axes of `{}` once", rank, type_text(x.type)));
      return Val::poison();
    }
  } else if (rank == 2) {
    perm = {1, 0};
  } else {
    error<diag::bad_axis>(span,
                          fmt::format("`transpose` without a list exchanges the axes of a tile with 2; `{}` has {}",
                                      type_text(x.type), rank))
        .help("write the order of the axes, `transpose(x, [0, 2, 1])`");
    return Val::poison();
  }
  SymShape shape;
  for (const std::int64_t axis : perm) shape.push_back(x.type.shape[static_cast<std::size_t>(axis)]);
  const SemType type = SemType::tile(x.type.dtype, std::move(shape));
  ir::Attrs attrs;
  attrs.set(ir::Attr::perm, perm);
  return Val::value(emit(ir::Op::transpose, span, {x.ir}, lower(type), std::move(attrs)), type);
}

Val Elaborator::call_concat(const ast::Call& node, Span span) {
  const auto args = sort_args(node, {"concat", {"a"}, 1, {"axis"}, true}, span);
  if (!args) return Val::poison();
  std::vector<ast::ExprId> ids = args->positional;
  ids.insert(ids.end(), args->rest.begin(), args->rest.end());
  std::vector<Val> parts;
  for (const ast::ExprId id : ids) {
    parts.push_back(value_expr(id));
    if (parts.back().poisoned()) return Val::poison();
    if (!parts.back().is_tile()) {
      error<diag::type_mismatch>(span_of(id), fmt::format("`concat` joins tiles; this is {}", describe(parts.back())));
      return Val::poison();
    }
  }
  const std::size_t rank = parts[0].type.shape.size();
  std::optional<std::int64_t> axis = 0;
  if (args->option("axis").valid()) {
    axis = axis_argument(args->option("axis"), rank, fmt::format("`{}`", type_text(parts[0].type)));
  } else if (rank > 1) {
    error<diag::bad_axis>(span, "`concat` needs an axis").help("write `concat(a, b, axis = 0)`");
    return Val::poison();
  }
  if (!axis) return Val::poison();
  SemType type = parts[0].type;
  std::vector<ir::Value> operands{parts[0].ir};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const SemType& other = parts[i].type;
    bool fits = other.shape.size() == rank;
    for (std::size_t a = 0; fits && a < rank; ++a) {
      fits = static_cast<std::int64_t>(a) == *axis || equal(other.shape[a], type.shape[a]) != Truth::no;
    }
    if (!fits || other.dtype != type.dtype) {
      auto builder =
          fits ? error<diag::type_mismatch>(span, fmt::format("`{}` and `{}` have different types",
                                                              type_text(parts[0].type), type_text(other)))
               : error<diag::shape_mismatch>(span, fmt::format("`{}` and `{}` cannot be joined along axis {}",
                                                               type_text(parts[0].type), type_text(other), *axis));
      builder.label(span_of(ids[0]), fmt::format("`{}`", type_text(parts[0].type)))
          .label(span_of(ids[i]), fmt::format("`{}`", type_text(other)));
      return Val::poison();
    }
    Sym& joined = type.shape[static_cast<std::size_t>(*axis)];
    joined = joined + other.shape[static_cast<std::size_t>(*axis)];
    operands.push_back(parts[i].ir);
  }
  ir::Attrs attrs;
  attrs.set(ir::Attr::axis, *axis);
  return Val::value(emit(ir::Op::concat, span, std::move(operands), lower(type), std::move(attrs)), type);
}

Val Elaborator::call_layout_cast(const ast::Call& node, Span span) {
  const auto args = sort_args(node, {"layout_cast", {"x", "layout"}, 2, {}, false}, span);
  if (!args) return Val::poison();
  const Val x = value_expr(args->positional[0]);
  if (x.poisoned()) return x;
  const std::string layout = option_word(args->positional[1]);
  if (!x.is_tile() || layout.empty()) {
    error<diag::bad_argument>(span, "`layout_cast(x, layout)` takes a tile and the name of a layout");
    return Val::poison();
  }
  ir::Attrs attrs;
  attrs.set(ir::Attr::text, layout);
  return Val::value(emit(ir::Op::layout_cast, span, {x.ir}, lower(x.type), std::move(attrs)), x.type);
}

}  // namespace pk::sema
