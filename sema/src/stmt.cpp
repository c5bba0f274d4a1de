// Statements that declare and change things.

#include "elaborator.h"
#include "pk/ir/ops.h"

namespace pk::sema {

void Elaborator::block(const ast::Block& node) {
  const ScopeGuard scope(*this);
  statements(node.stmts);
}

void Elaborator::statements(const std::vector<ast::StmtId>& stmts) {
  for (std::size_t i = 0; i < stmts.size(); ++i) {
    statement(tree()[stmts[i]]);
    if (!ended_ || i + 1 == stmts.size()) continue;
    // What follows a jump cannot run; its names are still checked.
    const DeadGuard dead(*this);
    for (std::size_t rest = i + 1; rest < stmts.size(); ++rest) statement(tree()[stmts[rest]]);
    break;
  }
}

void Elaborator::statement(const ast::Stmt& stmt) {
  const Span span = stmt.span;
  std::visit(
      [&](const auto& node) {
        using Node = std::decay_t<decltype(node)>;
        if constexpr (std::is_same_v<Node, ast::ErrorStmt>) {
        } else if constexpr (std::is_same_v<Node, ast::Let>) {
          let(node, span);
        } else if constexpr (std::is_same_v<Node, ast::Const>) {
          const_statement(node);
        } else if constexpr (std::is_same_v<Node, ast::Assign>) {
          assign(node, span);
        } else if constexpr (std::is_same_v<Node, ast::ExprStmt>) {
          expression_statement(node.expr, span);
        } else if constexpr (std::is_same_v<Node, ast::If>) {
          if_statement(node, span);
        } else if constexpr (std::is_same_v<Node, ast::For>) {
          for_statement(node, span);
        } else if constexpr (std::is_same_v<Node, ast::While>) {
          while_statement(node, span);
        } else if constexpr (std::is_same_v<Node, ast::Break>) {
          leave_loop(ir::Op::break_, "break", span);
        } else if constexpr (std::is_same_v<Node, ast::Continue>) {
          leave_loop(ir::Op::continue_, "continue", span);
        } else if constexpr (std::is_same_v<Node, ast::Return>) {
          return_statement(node, span);
        } else if constexpr (std::is_same_v<Node, ast::BlockStmt>) {
          block(node.block);
        } else if constexpr (std::is_same_v<Node, ast::Fast>) {
          ++fast_;
          block(node.block);
          --fast_;
        } else if constexpr (std::is_same_v<Node, ast::Step>) {
          step(node, span);
        } else if constexpr (std::is_same_v<Node, ast::ExpectError>) {
          error<diag::misplaced_statement>(span, "`expect_error` stands in `test` items only");
        } else if constexpr (std::is_same_v<Node, ast::Scoped>) {
          scoped(node, span);
        } else if constexpr (std::is_same_v<Node, ast::Specialize>) {
          specialize(node, span);
        } else {
          static_assert(std::is_same_v<Node, ast::Pipeline>);
          pipeline(node, span);
        }
      },
      stmt.node);
}

void Elaborator::expression_statement(ast::ExprId id, Span span) {
  const Val v = expr(id);
  if (v.poisoned() || v.is(Val::Kind::none)) return;
  // A call may be made for its effect; anything else here is a forgotten assignment.
  if (std::holds_alternative<ast::Call>(node_of(id).node)) return;
  error<diag::misplaced_statement>(span, "this value is not used").help("assign it, `let x = …;`, or remove it");
}

// The value in the declared type.
Val Elaborator::checked_init(ast::TypeId type, const Val& val, Span span) {
  const TypeUse use = type_use(type);
  if (!use.ok || val.poisoned()) return Val::poison();
  if (!use.tuple.empty() || use.has_space) return val;
  if (val.is(Val::Kind::integer) && use.type.is_scalar() && use.type.dtype == ir::Dtype::index)
    return Val::integer(val.sym, true);
  Val converted = adapt(val, use.type.dtype, span);
  if (converted.poisoned()) return converted;
  if (use.type.is_tile() && converted.is_scalar()) {
    if (!require_static(use.type.shape, span, "a tile")) return Val::poison();
    return Val::value(emit(ir::Op::splat, span, {converted.ir}, lower(use.type)), use.type);
  }
  const bool same_kind = use.type.is_tile() == converted.is_tile();
  if (!same_kind || equal(use.type.shape, converted.type.shape) == Truth::no) {
    error<diag::shape_mismatch>(
        span, fmt::format("`{}` is declared, and the value is `{}`", type_text(use.type), type_text(converted.type)));
    return Val::poison();
  }
  return converted;
}

std::optional<ir::Dtype> Elaborator::declared_dtype(ast::TypeId type) const {
  if (!type.valid()) return std::nullopt;
  return ir::parse_dtype(tree()[type].base.text);
}

void Elaborator::let(const ast::Let& node, Span span) {
  (void)span;
  const Span init_span = node.init.valid() ? span_of(node.init) : span;
  Val init = node.init.valid() ? value_expr(node.init, declared_dtype(node.type)) : Val::poison();
  if (init.is(Val::Kind::none)) {
    error<diag::type_mismatch>(init_span, "this call has no result to bind");
    init = Val::poison();
  }
  if (node.type.valid()) init = checked_init(node.type, init, init_span);
  if (node.names.size() > 1) {
    let_tuple(node, init, init_span);
    return;
  }
  if (node.names.empty()) return;
  if (!node.mutable_) {
    if (init.is(Val::Kind::value)) kernel_.values[init.ir.id].name = std::string(node.names[0].text);
    declare(node.names[0], std::move(init));
    return;
  }
  if (init.is(Val::Kind::ref)) {
    error<diag::type_mismatch>(init_span, fmt::format("a `var` holds a value; {} is memory", describe(init)))
        .help("load it, `r[...]`, or name the memory with `let`");
    init = Val::poison();
  }
  init = fix_type(init, init_span);
  if (!init.poisoned() && !init.is(Val::Kind::value)) {
    (void)adapt(init, ir::Dtype::f32, init_span);
    init = Val::poison();
  }
  if (init.poisoned()) {
    declare(node.names[0], Val::poison(), true);
    return;
  }
  ir::Attrs attrs;
  attrs.set(ir::Attr::name, std::string(node.names[0].text));
  const ir::Value cell = emit(ir::Op::var, init_span, {init.ir}, ir::Type::cell(lower(init.type)), std::move(attrs));
  kernel_.values[cell.id].name = std::string(node.names[0].text);
  declare(node.names[0], Val::value(cell, init.type), true);
}

void Elaborator::let_tuple(const ast::Let& node, const Val& init, Span init_span) {
  const bool fits = init.is(Val::Kind::tuple) && init.elements.size() == node.names.size();
  if (!fits && !init.poisoned()) {
    error<diag::type_mismatch>(init_span,
                               fmt::format("{} names are bound, and this is {}", node.names.size(), describe(init)));
  }
  for (std::size_t i = 0; i < node.names.size(); ++i) declare(node.names[i], fits ? init.elements[i] : Val::poison());
}

void Elaborator::const_statement(const ast::Const& node) {
  Val v = value_expr(node.value);
  const Span span = span_of(node.value);
  const bool constant = v.is(Val::Kind::integer) || v.is(Val::Kind::real) || v.is(Val::Kind::boolean) || v.poisoned() ||
                        v.is(Val::Kind::dtype);
  if (!constant) {
    error<diag::not_static>(span, fmt::format("the value of the constant `{}`", node.name.text))
        .help("use `let` for a value of the run");
    v = Val::poison();
  } else if (v.is(Val::Kind::integer) && syms_.is_runtime(v.sym)) {
    error<diag::not_static>(span, fmt::format("the value of the constant `{}`", node.name.text))
        .note(fmt::format("`{}` is known at launch only", syms_.runtime_name(v.sym)))
        .help("use `let` for a value of the run");
    v = Val::poison();
  }
  if (node.type.valid()) v = checked_init(node.type, v, span);
  declare(node.name, std::move(v));
}

void Elaborator::assign(const ast::Assign& node, Span span) {
  const ast::Expr& target = node_of(node.target);
  if (const auto* name = std::get_if<ast::NameExpr>(&target.node)) {
    const Binding* binding = find_local(name->name.text);
    if (binding != nullptr && (binding->is_var || binding->val.poisoned())) {
      assign_var(*binding, node, span);
      return;
    }
    (void)value_expr(node.value);
    const Val v = name_value(name->name);
    if (v.poisoned()) return;
    auto builder = error<diag::not_assignable>(target.span, fmt::format("`{}` cannot be assigned", name->name.text));
    if (binding != nullptr) builder.label(binding->span, "defined here");
    if (v.is(Val::Kind::ref)) {
      builder.help(fmt::format("write to the memory: `{}[...] = …`", name->name.text));
    } else {
      builder.help(fmt::format("declare it `var {} = …` if it is to change", name->name.text));
    }
    return;
  }
  if (const auto* indexed = std::get_if<ast::IndexExpr>(&target.node)) {
    assign_memory(*indexed, target.span, node, span);
    return;
  }
  (void)value_expr(node.value);
  const Val v = expr(node.target);
  if (v.poisoned()) return;
  auto builder = error<diag::not_assignable>(target.span, "only a `var` and memory `r[…]` can be assigned");
  if (v.is(Val::Kind::ref)) builder.help("write to the memory: `r[...] = …`");
}

void Elaborator::assign_var(const Binding& binding, const ast::Assign& node, Span span) {
  const Val held = binding.val;
  const Span name_span = span_of(node.target);
  const std::string name(binding.name);
  const Span defined = binding.span;
  Val value;
  if (node.op) {
    const Val old =
        held.poisoned() ? held : Val::value(emit(ir::Op::var_get, name_span, {held.ir}, lower(held.type)), held.type);
    value = binary_values(*node.op, old, value_expr(node.value, held.type.dtype), name_span, span_of(node.value),
                          node.op_span, span);
  } else {
    value = value_expr(node.value, held.type.dtype);
  }
  if (held.poisoned() || value.poisoned()) return;
  value = adapt(value, held.type.dtype, span_of(node.value));
  if (value.poisoned()) return;
  if (held.type.is_tile() && value.is_scalar()) {
    value = Val::value(emit(ir::Op::splat, span, {value.ir}, lower(held.type)), held.type);
  } else if (held.type.is_tile() != value.is_tile() || equal(held.type.shape, value.type.shape) == Truth::no) {
    error<diag::shape_mismatch>(span_of(node.value), fmt::format("`{}` holds `{}`, and this is `{}`", name,
                                                                 type_text(held.type), type_text(value.type)))
        .label(defined, "declared here");
    return;
  }
  push(ir::Op::var_set, span, {held.ir, value.ir});
}

// The part of memory that an assignment writes.
Val Elaborator::target_view(const ast::IndexExpr& target, Span span) {
  if (const auto* m = std::get_if<ast::Member>(&node_of(target.base).node); m != nullptr && m->name.text == "reshape") {
    error<diag::not_assignable>(span, "`.reshape[…]` is a ref; brackets after it write to it")
        .help("write `r.reshape[8, 16][...] = …`");
    return Val::poison();
  }
  const Val base = expr(target.base);
  if (base.poisoned()) return base;
  const std::string name = source_text(span_of(target.base));
  if (target.at) {
    error<diag::not_assignable>(span, "`.at[…]` names a part of memory; it is not written")
        .help(fmt::format("write `{}[…] = …`", name));
    return Val::poison();
  }
  if (!base.is(Val::Kind::ref)) {
    auto builder =
        error<diag::not_assignable>(span, fmt::format("`{}` is no memory: {} cannot be changed", name, describe(base)));
    if (const Binding* binding = find_local(name)) builder.label(binding->span, "defined here");
    builder.help(base.is(Val::Kind::value) ? "values are immutable; make a new one, or keep the data in shared memory"
                                           : "only memory and a `var` can be assigned");
    return Val::poison();
  }
  const auto plan = plan_index(base, target, span);
  if (!plan) return Val::poison();
  if (!plan->new_axes.empty()) {
    error<diag::bad_index>(span, "`new` works on values, not on the target of a store");
    return Val::poison();
  }
  return subview(base, *plan, span);
}

void Elaborator::assign_memory(const ast::IndexExpr& target, Span target_span, const ast::Assign& node, Span span) {
  const Span value_span = span_of(node.value);
  const auto wanted = target_dtype(node.target);
  if (!node.op) {
    const Val value = value_expr(node.value, wanted);
    const Val view = target_view(target, target_span);
    store(view, value, target_span, value_span);
    return;
  }
  const Val value = value_expr(node.value, wanted);
  const Val view = target_view(target, target_span);
  if (view.poisoned()) return;
  const Val old = load(view, target_span);
  const Val result = binary_values(*node.op, old, value, target_span, value_span, node.op_span, span);
  store(view, result, target_span, value_span);
}

}  // namespace pk::sema
