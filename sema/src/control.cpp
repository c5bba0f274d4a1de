// Conditions, loops, jumps and `specialize`.

#include "elaborator.h"
#include "pk/ir/ops.h"

namespace pk::sema {

Val Elaborator::condition(ast::ExprId id) {
  const Val v = value_expr(id);
  if (v.poisoned() || v.is(Val::Kind::boolean)) return v;
  if (v.is_scalar() && v.type.dtype == ir::Dtype::boolean) return v;
  auto builder = error<diag::bad_condition>(span_of(id), describe(v));
  if (v.is_tile() && v.type.dtype == ir::Dtype::boolean) {
    builder.help(
        "reduce it to one with `any(…, axis = 0)` or `all(…, axis = 0)`, or choose element by element with `select`");
  } else if (v.is_tile()) {
    builder.help("compare it, and reduce the result to one `bool`");
  } else {
    builder.help(fmt::format("compare it: `{} != 0`", source_text(span_of(id))));
  }
  return Val::poison();
}

void Elaborator::if_statement(const ast::If& node, Span span) {
  const Val c = condition(node.condition);
  if (c.is(Val::Kind::boolean)) {
    const auto branch = [&](const ast::Block& taken, bool live) {
      if (live) {
        block(taken);
        return;
      }
      const DeadGuard dead(*this);
      block(taken);
    };
    branch(node.then, c.flag);
    const bool then_ended = ended_;
    if (node.otherwise) branch(*node.otherwise, !c.flag);
    ended_ = ended_ || then_ended;
    return;
  }
  ir::Region then;
  ir::Region otherwise;
  bool then_ended = false;
  bool else_ended = false;
  {
    const RegionGuard guard(*this, then.insts);
    block(node.then);
    then_ended = ended_;
  }
  if (node.otherwise) {
    const RegionGuard guard(*this, otherwise.insts);
    block(*node.otherwise);
    else_ended = ended_;
  }
  if (c.poisoned()) return;
  ir::Inst& inst = push(ir::Op::if_, span_of(node.condition), {c.ir});
  inst.loc.span = cover(span, span_of(node.condition));
  inst.regions.push_back(std::move(then));
  inst.regions.push_back(std::move(otherwise));
  ended_ = then_ended && else_ended;
}

namespace {

/// Whether a jump of this loop stands in the statements (not one of a loop inside).
bool has_jump(const ast::Ast& tree, const ast::Block& block) {
  for (const ast::StmtId id : block.stmts) {
    const bool found = std::visit(
        [&](const auto& node) -> bool {
          using Node = std::decay_t<decltype(node)>;
          if constexpr (std::is_same_v<Node, ast::Break> || std::is_same_v<Node, ast::Continue>) return true;
          if constexpr (std::is_same_v<Node, ast::If>)
            return has_jump(tree, node.then) || (node.otherwise && has_jump(tree, *node.otherwise));
          if constexpr (std::is_same_v<Node, ast::BlockStmt> || std::is_same_v<Node, ast::Fast>)
            return has_jump(tree, node.block);
          if constexpr (std::is_same_v<Node, ast::Scoped>) return has_jump(tree, node.body);
          if constexpr (std::is_same_v<Node, ast::Specialize>) {
            for (const ast::Arm& arm : node.arms) {
              if (has_jump(tree, arm.body)) return true;
            }
          }
          return false;
        },
        tree[id].node);
    if (found) return true;
  }
  return false;
}

}  // namespace

void Elaborator::for_statement(const ast::For& node, Span span) {
  std::vector<Val> bounds{value_expr(node.low), value_expr(node.high),
                          node.step.valid() ? value_expr(node.step) : Val::integer(Sym(1))};
  const std::vector<Span> spans{span_of(node.low), span_of(node.high), node.step.valid() ? span_of(node.step) : span};
  bool ok = true;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const Val& b = bounds[i];
    const bool integral = b.is(Val::Kind::integer) || (b.is_scalar() && ir::is_integer(b.type.dtype));
    if (integral || b.poisoned()) {
      ok = ok && !b.poisoned();
      continue;
    }
    error<diag::type_mismatch>(
        spans[i], fmt::format("a loop counts in integers of type `index`; this {} is {}", i == 2 ? "step" : "bound",
                              b.is(Val::Kind::real) ? source_text(spans[i]) : describe(b)));
    ok = false;
  }
  if (ok && bounds[2].constant() && *bounds[2].constant() <= 0) {
    error<diag::bad_argument>(spans[2],
                              fmt::format("the step of a loop is positive, this is {}", *bounds[2].constant()));
    ok = false;
  }
  const auto low = bounds[0].constant();
  const auto high = bounds[1].constant();
  const auto step_size = bounds[2].constant();
  constexpr std::int64_t most_copies = 1024;
  const bool expand = ok && node.unroll && low && high && step_size && (*high - *low) / *step_size <= most_copies &&
                      !has_jump(tree(), node.body);
  if (expand) {
    unrolled(node, *low, *high, *step_size);
    return;
  }
  if (ok && node.unroll &&
      (!bounds[0].is(Val::Kind::integer) || !bounds[1].is(Val::Kind::integer) || !bounds[2].is(Val::Kind::integer) ||
       !require_static({bounds[0].sym, bounds[1].sym, bounds[2].sym}, span, "`unroll for`"))) {
    if (!bounds[0].is(Val::Kind::integer) || !bounds[1].is(Val::Kind::integer) || !bounds[2].is(Val::Kind::integer)) {
      error<diag::not_static>(cover(spans[0], spans[1]), "the bounds of `unroll for`")
          .help("write `for` for a loop whose bounds are known at run time only");
    }
    ok = false;
  }
  if (ok) ok = unify(bounds, spans, 0, cover(spans[0], spans[1]));
  const ir::Dtype dtype = ok ? bounds[0].type.dtype : ir::Dtype::index;
  const SemType counter = SemType::scalar(dtype);
  ir::Region body;
  body.args.push_back(new_value(counter, node.variable.text));
  {
    const RegionGuard guard(*this, body.insts);
    const ScopeGuard scope(*this);
    if (node.variable.present()) declare(node.variable, Val::value(body.args[0], counter));
    loops_.push_back(Loop::plain);
    ++loop_depth_;
    block(node.body);
    --loop_depth_;
    loops_.pop_back();
  }
  if (loop_depth_ == 0) flush_early_reads();
  if (!ok) return;
  ir::Attrs attrs;
  if (node.unroll) attrs.set(ir::Attr::unroll, true);
  ir::Inst& inst = push(ir::Op::for_, span, {bounds[0].ir, bounds[1].ir, bounds[2].ir}, std::move(attrs));
  inst.regions.push_back(std::move(body));
}

// An `unroll for` with known bounds is written out here, so that its counter is a compile-time integer.
void Elaborator::unrolled(const ast::For& node, std::int64_t low, std::int64_t high, std::int64_t step_size) {
  if (low >= high) {
    const DeadGuard dead(*this);
    const ScopeGuard scope(*this);
    if (node.variable.present()) declare(node.variable, Val::integer(Sym(low), true));
    block(node.body);
    return;
  }
  loops_.push_back(Loop::unrolled);
  for (std::int64_t i = low; i < high; i += step_size) {
    const ScopeGuard scope(*this);
    if (node.variable.present()) declare(node.variable, Val::integer(Sym(i), true));
    const int before = errors_;
    block(node.body);
    if (errors_ != before) break;  // the further rounds would say the same
    if (ended_) break;
  }
  loops_.pop_back();
}

void Elaborator::while_statement(const ast::While& node, Span span) {
  ir::Region test;
  ir::Region body;
  Val c;
  {
    const RegionGuard guard(*this, test.insts);
    c = condition(node.condition);
    if (c.is(Val::Kind::boolean)) c = adapt(c, ir::Dtype::boolean, span_of(node.condition));
    if (!c.poisoned()) push(ir::Op::yield, span_of(node.condition), {c.ir});
  }
  {
    const RegionGuard guard(*this, body.insts);
    loops_.push_back(Loop::plain);
    ++loop_depth_;
    block(node.body);
    --loop_depth_;
    loops_.pop_back();
  }
  if (loop_depth_ == 0) flush_early_reads();
  if (c.poisoned()) return;
  ir::Inst& inst = push(ir::Op::while_, span);
  inst.regions.push_back(std::move(test));
  inst.regions.push_back(std::move(body));
}

void Elaborator::leave_loop(ir::Op op, std::string_view word, Span span) {
  const bool in_loop = loops_.size() > frames_.back().loop_base;
  if (!in_loop || loops_.back() == Loop::barrier) {
    auto builder = error<diag::misplaced_statement>(span, fmt::format("`{}` stands in no loop", word));
    if (in_loop) builder.note("a pipeline runs all its steps");
    return;
  }
  push(op, span);
  ended_ = true;
}

void Elaborator::specialize(const ast::Specialize& node, Span span) {
  const int wg = kernel_.wg_axis();
  const Val* axis = node.axis.present() ? find_axis(node.axis.text) : nullptr;
  bool ok = true;
  if (axis == nullptr) {
    if (node.axis.present() && find_local(node.axis.text) == nullptr) {
      report_unknown(node.axis);
    } else {
      error<diag::bad_specialize>(node.axis.present() ? node.axis.span : node.keyword,
                                  fmt::format("`{}` is no axis of the mesh", node.axis.text));
    }
    ok = false;
  } else if (axis->axis < 0 || axis->axis != wg) {
    error<diag::bad_specialize>(
        node.axis.span,
        fmt::format("`specialize` divides the threads of a block, and `{}` is no wg axis", node.axis.text))
        .help(wg >= 0 ? fmt::format("the wg axis is `{}`; use `if` for other axes",
                                    kernel_.axes[static_cast<std::size_t>(wg)].name)
                      : std::string("use `if` for other axes, or add a wg axis to the mesh: `wg w: 2`"));
    ok = false;
  }
  const std::int64_t size = ok ? kernel_.thread_count() : 0;
  const bool size_known = size > 0;
  std::vector<std::int64_t> arms(size_known ? static_cast<std::size_t>(size) : 0, -1);
  std::vector<Span> taken_by(arms.size());
  std::vector<std::int64_t> registers;
  bool registers_ok = true;
  bool arms_known = true;
  std::optional<std::size_t> rest;
  for (std::size_t a = 0; a < node.arms.size(); ++a) {
    const ast::Arm& arm = node.arms[a];
    std::int64_t budget = 0;
    if (arm.registers) {
      const auto given = integer_args(*arm.registers);
      if (given && given->size() == 1) budget = (*given)[0];
      if (budget != 0 || given)
        registers_ok = rules::check_register_clause(budget, arm.registers->span, diags_) == 0 && registers_ok;
    }
    registers.push_back(budget);
    if (arm.threads.empty()) {
      if (rest) {
        error<diag::bad_specialize>(arm.selector, "there are two `else` arms");
        ok = false;
      }
      rest = a;
      continue;
    }
    for (const ast::ExprId id : arm.threads) {
      bool unresolved = false;
      const auto t = static_constant(id, "a thread number of `specialize`", unresolved);
      if (!t) {
        ok = ok && unresolved;
        arms_known = arms_known && !unresolved;
        continue;
      }
      if (!size_known) continue;
      if (*t < 0 || *t >= size) {
        error<diag::bad_specialize>(
            span_of(id), fmt::format("there is no thread {}: the axis `{}` has {}", *t, node.axis.text, size));
        ok = false;
      } else if (arms[static_cast<std::size_t>(*t)] >= 0) {
        error<diag::bad_specialize>(span_of(id), fmt::format("thread {} has two arms", *t))
            .label(taken_by[static_cast<std::size_t>(*t)], "the first one");
        ok = false;
      } else {
        arms[static_cast<std::size_t>(*t)] = static_cast<std::int64_t>(a);
        taken_by[static_cast<std::size_t>(*t)] = span_of(id);
      }
    }
  }
  if (!arms_known) {
    arms.assign(arms.size(), -1);  // a thread number is a generic without a value: left to the instances
  } else if (rest) {
    for (std::int64_t& arm : arms) {
      if (arm < 0) arm = static_cast<std::int64_t>(*rest);
    }
  } else if (ok) {
    for (std::size_t t = 0; t < arms.size(); ++t) {
      if (arms[t] >= 0) continue;
      error<diag::bad_specialize>(node.keyword.valid() ? node.keyword : span,
                                  fmt::format("thread {} of `{}` has no arm", t, node.axis.text))
          .help(fmt::format("add `{} => {{ }}`, or `else => {{ }}` for all others", t));
      ok = false;
      break;
    }
  }
  if (!registers_ok) {
    ++errors_;
  } else if (ok && arms_known) {
    std::vector<std::int64_t> threads(node.arms.size());
    for (const std::int64_t arm : arms) ++threads[static_cast<std::size_t>(arm)];
    errors_ +=
        rules::check_register_pool(registers, threads, target_, node.keyword.valid() ? node.keyword : span, diags_);
  }
  std::vector<ir::Region> regions(node.arms.size());
  for (std::size_t a = 0; a < node.arms.size(); ++a) {
    const RegionGuard guard(*this, regions[a].insts);
    block(node.arms[a].body);
  }
  if (!ok) return;
  ir::Attrs attrs;
  attrs.set(ir::Attr::arms, arms);
  attrs.set(ir::Attr::registers, registers);
  ir::Inst& inst = push(ir::Op::specialize, span, {}, std::move(attrs));
  inst.regions = std::move(regions);
}

}  // namespace pk::sema
