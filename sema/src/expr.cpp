// Expressions: dispatch, literals, members, peers and casts.

#include "builtins.h"
#include "elaborator.h"
#include "pk/ir/numerics.h"

namespace pk::sema {

Val Elaborator::value_expr(ast::ExprId id, std::optional<ir::Dtype> wanted) {
  const auto outer = std::exchange(wanted_, wanted);
  Val v = value_expr(id);
  wanted_ = outer;
  return v;
}

// The type that is wanted of an operator or operation is wanted of its operands, too, and of nothing else inside.
Val Elaborator::expr(ast::ExprId id) {
  if (!id.valid()) return Val::poison();
  const ast::Expr& node = node_of(id);
  const auto* operation = std::get_if<ast::Binary>(&node.node);
  const bool comparison = operation != nullptr && operation->op >= ast::BinaryOp::eq;
  const bool hands_down =
      std::holds_alternative<ast::Unary>(node.node) || operation != nullptr || is_elementwise_call(node);
  if (hands_down && !comparison) return expr_node(node);
  const auto outer = std::exchange(wanted_, std::nullopt);
  Val v = expr_node(node);
  wanted_ = outer;
  return v;
}

bool Elaborator::is_elementwise_call(const ast::Expr& node) const {
  const auto* call_node = std::get_if<ast::Call>(&node.node);
  const auto* callee = call_node == nullptr ? nullptr : std::get_if<ast::NameExpr>(&node_of(call_node->callee).node);
  if (callee == nullptr || module_.find(*file_, callee->name.text)) return false;
  const auto builtin = find_callable(callee->name.text);
  return builtin && ir::is_elementwise(builtin->op);
}

// The element type of the memory or variable that an assignment writes, as far as its name tells.
std::optional<ir::Dtype> Elaborator::target_dtype(ast::ExprId id) const {
  const ast::Expr& node = node_of(id);
  if (const auto* indexed = std::get_if<ast::IndexExpr>(&node.node)) return target_dtype(indexed->base);
  if (const auto* m = std::get_if<ast::Member>(&node.node)) return target_dtype(m->base);
  if (const auto* p = std::get_if<ast::Peer>(&node.node)) return target_dtype(p->base);
  const auto* name = std::get_if<ast::NameExpr>(&node.node);
  const Binding* binding = name == nullptr ? nullptr : find_local(name->name.text);
  if (binding == nullptr) return std::nullopt;
  const bool typed = binding->val.is(Val::Kind::ref) || binding->val.is(Val::Kind::value);
  return typed ? std::optional(binding->val.type.dtype) : std::nullopt;
}

Val Elaborator::expr_node(const ast::Expr& node) {
  const Span span = node.span;
  return std::visit(
      [&](const auto& e) -> Val {
        using Node = std::decay_t<decltype(e)>;
        if constexpr (std::is_same_v<Node, ast::ErrorExpr>) {
          return Val::poison();
        } else if constexpr (std::is_same_v<Node, ast::IntLiteral>) {
          Val v = Val::integer(Sym(static_cast<std::int64_t>(e.value)));
          v.above_int64 = static_cast<std::int64_t>(e.value) < 0;
          return v;
        } else if constexpr (std::is_same_v<Node, ast::FloatLiteral>) {
          return Val::of_real(e.value);
        } else if constexpr (std::is_same_v<Node, ast::BoolLiteral>) {
          return Val::boolean(e.value);
        } else if constexpr (std::is_same_v<Node, ast::StringLiteral>) {
          Val v;
          v.kind = Val::Kind::text;
          v.text = e.value;
          return v;
        } else if constexpr (std::is_same_v<Node, ast::NameExpr>) {
          return name_value(e.name);
        } else if constexpr (std::is_same_v<Node, ast::Unary>) {
          return unary(e, span);
        } else if constexpr (std::is_same_v<Node, ast::Binary>) {
          return binary(e, span);
        } else if constexpr (std::is_same_v<Node, ast::Cast>) {
          return cast(e, span);
        } else if constexpr (std::is_same_v<Node, ast::IndexExpr>) {
          return index(e, span);
        } else if constexpr (std::is_same_v<Node, ast::Member>) {
          return member(e, span);
        } else if constexpr (std::is_same_v<Node, ast::Peer>) {
          return peer(e, span);
        } else if constexpr (std::is_same_v<Node, ast::Call>) {
          return call(e, span);
        } else if constexpr (std::is_same_v<Node, ast::Launch>) {
          error<diag::misplaced_statement>(span, "`launch` stands in `test` items only: kernels do not start kernels");
          return Val::poison();
        } else if constexpr (std::is_same_v<Node, ast::Tuple>) {
          Val v;
          v.kind = Val::Kind::tuple;
          for (const ast::ExprId element : e.elements) v.elements.push_back(value_expr(element));
          return v;
        } else {
          static_assert(std::is_same_v<Node, ast::SetExpr> || std::is_same_v<Node, ast::ListExpr>);
          error<diag::bad_argument>(span, "a list or set is an argument of some operations, not a value");
          return Val::poison();
        }
      },
      node.node);
}

Val Elaborator::member(const ast::Member& node, Span span) {
  // `std.math.PI`: the path of an import.
  const auto path = [&](auto&& self, ast::ExprId id) -> std::string {
    const ast::Expr& e = node_of(id);
    if (const auto* name = std::get_if<ast::NameExpr>(&e.node)) {
      return find_local(name->name.text) != nullptr ? std::string() : std::string(name->name.text);
    }
    if (const auto* inner = std::get_if<ast::Member>(&e.node)) {
      const std::string base = self(self, inner->base);
      return base.empty() ? base : base + "." + std::string(inner->name.text);
    }
    return {};
  };
  const std::string module_path = path(path, node.base);
  if (!module_path.empty()) {
    if (const ModuleFile* import = module_.find_import(*file_, module_path)) {
      if (const ItemRef item = module_.find(*import, node.name.text)) return item_value(item, span);
      error<diag::unknown_name>(node.name.span, node.name.text)
          .note(fmt::format("the module `{}` has no such item", import->name));
      return Val::poison();
    }
  }
  const Val base = expr(node.base);
  if (base.poisoned()) return base;
  if (node.name.text == "T") {
    if (base.is(Val::Kind::ref)) return transpose_ref(base, span);
    if (base.is_tile()) {
      error<diag::bad_argument>(span, "`.T` is a view of memory, and this is a value").help("write `transpose(x)`");
      return Val::poison();
    }
  }
  auto builder =
      error<diag::unknown_member>(node.name.span, fmt::format("{} has no member `{}`", describe(base), node.name.text));
  builder.help("refs have `.T`, `.at[…]`, `.reshape[…]` and `.peer[…]`, accumulators also `.load(wait = n)`");
  return Val::poison();
}

Val Elaborator::transpose_ref(const Val& base, Span span) {
  const SymShape& shape = base.type.shape;
  if (shape.size() != 2) {
    error<diag::shape_mismatch>(
        span, fmt::format("`.T` exchanges the axes of a ref with 2 axes; {} has {}", describe(base), shape.size()));
    return Val::poison();
  }
  if (base.type.space == ir::Space::acc) {
    error<diag::bad_argument>(span,
                              fmt::format("`.T` of {}: an accumulator is not memory with a layout", describe(base)))
        .help("load it and use `transpose(x)`");
    return Val::poison();
  }
  Val v = base;
  v.type.shape = {shape[1], shape[0]};
  v.transposed = !base.transposed;
  v.ir = emit(ir::Op::ref_transpose, span, {base.ir}, lower(v.type));
  return v;
}

Val Elaborator::peer(const ast::Peer& node, Span span) {
  const Val base = expr(node.base);
  std::vector<ir::Value> operands{base.ir};
  std::vector<std::int64_t> axes;
  bool ok = !base.poisoned() && !node.coordinates.empty();
  if (ok && !base.is(Val::Kind::ref)) {
    error<diag::not_memory>(span_of(node.base),
                            fmt::format("`.peer` reaches memory of another block; {} is no memory", describe(base)));
    ok = false;
  } else if (ok && base.type.space != ir::Space::smem && base.type.space != ir::Space::barrier) {
    error<diag::bad_peer>(
        span, fmt::format("`.peer` reaches shared memory and barriers of another block of the cluster; this is {}",
                          describe(base)));
    ok = false;
  }
  for (const ast::Arg& arg : node.coordinates) {
    const Val coordinate = value_expr(arg.value);
    if (!arg.name.present()) ok = false;  // a syntax error, reported as such
    if (!ok) continue;
    const Val* axis = find_axis(arg.name.text);
    if (axis == nullptr) {
      report_unknown(arg.name);
      ok = false;
      continue;
    }
    if (axis->axis < 0 || kernel_.axes[static_cast<std::size_t>(axis->axis)].kind != ir::MeshAxis::Kind::cluster) {
      error<diag::bad_peer>(
          arg.name.span,
          fmt::format("`{}` is no cluster axis: only blocks of one cluster reach each other's memory", arg.name.text));
      ok = false;
      continue;
    }
    const auto extent = axis->sym.constant();
    const auto c = coordinate.constant();
    if (extent && c && (*c < 0 || *c >= *extent)) {
      error<diag::out_of_bounds>(span_of(arg.value), fmt::format("coordinate {} is outside the axis `{}` of extent {}",
                                                                 *c, arg.name.text, *extent));
      ok = false;
      continue;
    }
    const ir::Value v = index_value(coordinate, span_of(arg.value), "a coordinate");
    if (!v.valid()) {
      ok = false;
      continue;
    }
    operands.push_back(v);
    axes.push_back(axis->axis);
  }
  if (!ok) return Val::poison();
  Val v = base;
  ir::Attrs attrs;
  attrs.set(ir::Attr::axes, axes);
  v.ir = emit(ir::Op::peer, span, std::move(operands), lower(v.type), std::move(attrs));
  return v;
}

Val Elaborator::cast(const ast::Cast& node, Span span) {
  const Val operand = value_expr(node.operand);
  const auto dtype = dtype_named(node.type);
  if (!dtype || operand.poisoned()) return Val::poison();
  return cast_to(operand, *dtype, span);
}

Val Elaborator::cast_to(const Val& val, ir::Dtype dtype, Span span) {
  const SemType scalar = SemType::scalar(dtype);
  switch (val.kind) {
    case Val::Kind::poison:
      return val;
    case Val::Kind::integer: {
      if (dtype == ir::Dtype::index) return Val::integer(val.sym, true);
      const auto c = val.sym.constant();
      if (!c) {
        const ir::Value index = materialise(val.sym, span);
        return Val::value(emit(ir::Op::cast, span, {index}, lower(scalar)), scalar);
      }
      if (dtype == ir::Dtype::boolean) return Val::boolean(*c != 0);
      if (ir::is_floating(dtype)) {
        const double number =
            val.above_int64 ? static_cast<double>(static_cast<std::uint64_t>(*c)) : static_cast<double>(*c);
        return Val::value(constant_real(number, dtype, span), scalar);
      }
      return Val::value(constant_int(ir::Scalar::of_int(dtype, *c).as_int(), dtype, span), scalar);
    }
    case Val::Kind::real:
      if (dtype == ir::Dtype::boolean) return Val::boolean(val.real != 0);
      if (ir::is_floating(dtype)) return Val::value(constant_real(val.real, dtype, span), scalar);
      if (dtype == ir::Dtype::index) return Val::integer(Sym(ir::Scalar::of_double(dtype, val.real).as_int()), true);
      return Val::value(constant_int(ir::Scalar::of_double(dtype, val.real).as_int(), dtype, span), scalar);
    case Val::Kind::boolean: {
      if (dtype == ir::Dtype::boolean) return val;
      if (dtype == ir::Dtype::index) return Val::integer(Sym(val.flag ? 1 : 0), true);
      if (ir::is_floating(dtype)) return Val::value(constant_real(val.flag ? 1.0 : 0.0, dtype, span), scalar);
      return Val::value(constant_int(val.flag ? 1 : 0, dtype, span), scalar);
    }
    case Val::Kind::value: {
      if (val.type.dtype == dtype) return val;
      SemType type = val.type;
      type.dtype = dtype;
      return Val::value(emit(ir::Op::cast, span, {val.ir}, lower(type)), type);
    }
    case Val::Kind::none:
    case Val::Kind::ref:
    case Val::Kind::dtype:
    case Val::Kind::axis:
    case Val::Kind::tuple:
    case Val::Kind::function:
    case Val::Kind::text:
      break;
  }
  auto builder = error<diag::type_mismatch>(
      span, fmt::format("{} cannot be converted to `{}`", describe(val), ir::spelling(dtype)));
  if (val.is(Val::Kind::ref)) builder.help("load it first: `r[...] as T`");
  return Val::poison();
}

}  // namespace pk::sema
