// `pipeline k in lo..hi … { … }`: loads and stores of blocks around steps. Expansion into barriers and copies is a
// pass.

#include "elaborator.h"
#include "pk/ir/ops.h"
#include "suggest.h"

namespace pk::sema {
namespace {

/// A step, and the statement in its pipeline's body that may run it never or several times.
struct UncertainStep {
  const ir::Inst* step = nullptr;
  const ir::Inst* within = nullptr;
};

UncertainStep find_uncertain_step(const ir::Region& body, const ir::Inst* within) {
  for (const ir::Inst& inst : body.insts) {
    if (inst.op == ir::Op::step && within != nullptr) return {&inst, within};
    if (inst.op == ir::Op::step || inst.op == ir::Op::pipeline) continue;
    const bool once = inst.op == ir::Op::scoped || inst.op == ir::Op::block;
    for (const ir::Region& region : inst.regions) {
      if (const UncertainStep found = find_uncertain_step(region, once ? within : &inst); found.step != nullptr)
        return found;
    }
  }
  return {};
}

}  // namespace

bool Elaborator::pipeline_attributes(const std::vector<ast::Attribute>& attributes, Span span, ir::Attrs& attrs,
                                     std::int64_t default_stages) {
  std::int64_t stages = default_stages;
  std::int64_t delay = 0;
  Span delay_span = span;
  bool ok = true;
  bool unresolved = false;
  for (const ast::Attribute& attribute : attributes) {
    const std::string_view name = attribute.name.text;
    if (name != "stages" && name != "delay_release") {
      error<diag::unknown_option>(attribute.span, fmt::format("a pipeline has no attribute `{}`", name))
          .help("it has `stages(n)` and `delay_release(d)`");
      ok = false;
      continue;
    }
    if (attribute.args.size() != 1) {
      error<diag::bad_stages>(attribute.span, fmt::format("`{}` takes one number", name));
      ok = false;
      continue;
    }
    const auto n = static_constant(attribute.args[0], fmt::format("the argument of `{}`", name), unresolved);
    if (!n) {
      ok = ok && unresolved;
      (name == "stages" ? stages : delay) = ir::unresolved_extent;
      continue;
    }
    const bool is_stages = name == "stages";
    if (*n < (is_stages ? 1 : 0)) {
      error<diag::bad_stages>(attribute.span, is_stages
                                                  ? fmt::format("`stages({})`: a pipeline has at least one stage", *n)
                                                  : fmt::format("`delay_release({})` is negative", *n));
      ok = false;
      continue;
    }
    (is_stages ? stages : delay) = *n;
    if (!is_stages) delay_span = attribute.span;
  }
  if (ok && !unresolved && delay >= stages) {
    error<diag::bad_stages>(
        delay_span,
        fmt::format("`delay_release({})` keeps every slot: it has to be less than `stages({})`", delay, stages));
    ok = false;
  }
  attrs.set(ir::Attr::stages, stages);
  attrs.set(ir::Attr::delay_release, delay);
  return ok;
}

bool Elaborator::pipeline_roles(const ast::PipelineRoles& roles, ir::Attrs& attrs) {
  const int wg = kernel_.wg_axis();
  const Val* axis = find_axis(roles.axis.text);
  if (axis == nullptr) {
    report_unknown(roles.axis);
    return false;
  }
  if (axis->axis < 0 || axis->axis != wg) {
    error<diag::bad_specialize>(
        roles.axis.span,
        fmt::format("`specialize` divides the threads of a block, and `{}` is no wg axis", roles.axis.text));
    return false;
  }
  const std::int64_t size = kernel_.thread_count();
  std::vector<std::int64_t> taken;
  bool ok = true;
  const auto thread = [&](ast::ExprId id) -> std::int64_t {
    bool unresolved = false;
    const auto t = static_constant(id, "a thread number", unresolved);
    if (!t) {
      ok = ok && unresolved;
      return 0;
    }
    if (*t < 0 || (size > 0 && *t >= size)) {
      error<diag::bad_specialize>(
          span_of(id), fmt::format("there is no thread {}: the axis `{}` has {}", *t, roles.axis.text, size));
      ok = false;
    } else if (std::find(taken.begin(), taken.end(), *t) != taken.end()) {
      error<diag::bad_specialize>(span_of(id), fmt::format("thread {} has two roles", *t));
      ok = false;
    }
    taken.push_back(*t);
    return *t;
  };
  if (roles.memory.valid()) {
    attrs.set(ir::Attr::memory, thread(roles.memory));
  } else {
    error<diag::bad_specialize>(roles.span, "a specialised pipeline has a memory thread")
        .help("write `specialize(w, memory 1, compute 0)`");
    ok = false;
  }
  std::vector<std::int64_t> compute;
  for (const ast::ExprId id : roles.compute) compute.push_back(thread(id));
  if (compute.empty()) {
    error<diag::bad_specialize>(roles.span, "a specialised pipeline has at least one compute thread")
        .help("write `specialize(w, memory 1, compute 0)`");
    ok = false;
  }
  attrs.set(ir::Attr::compute, compute);
  for (const auto& [budget, attr] : {std::pair(&roles.memory_registers, ir::Attr::memory_registers),
                                     std::pair(&roles.compute_registers, ir::Attr::compute_registers)}) {
    if (!*budget) continue;
    const auto values = integer_args(**budget);
    if (!values || values->size() != 1) continue;
    const int refused = rules::check_register_clause((*values)[0], (*budget)->span, diags_);
    errors_ += refused;
    ok = ok && refused == 0;
    attrs.set(attr, (*values)[0]);
  }
  if (ok) {
    const std::vector<std::int64_t> registers{attrs.integer(ir::Attr::memory_registers),
                                              attrs.integer(ir::Attr::compute_registers)};
    errors_ += rules::check_register_pool(registers, {1, static_cast<std::int64_t>(compute.size())}, target_,
                                          roles.span, diags_);
  }
  return ok;
}

// One `load` or `store` line: emits the transfer and gives the block that the steps see.
Val Elaborator::transfer(const ast::Transfer& node) {
  const Val view = expr(node.view);
  ir::Attrs attrs;
  attrs.set(ir::Attr::name, std::string(node.name.text));
  if (node.store) attrs.set(ir::Attr::store, true);
  auto root = std::make_unique<RefRoot>();
  root->kind = node.store ? RefRoot::Kind::store_block : RefRoot::Kind::load_block;
  root->name = std::string(node.name.text);
  root->span = node.name.span;
  root->mode = node.store ? ast::Mode::inout : ast::Mode::in;
  RefRoot* block_root = root.get();
  roots_.push_back(std::move(root));
  if (view.poisoned()) return view;
  const Span at = span_of(node.view);
  if (!view.is(Val::Kind::ref) || view.type.space != ir::Space::gmem) {
    auto builder = error<diag::bad_transfer>(at, fmt::format("a pipeline {} a part of global memory; this is {}",
                                                             node.store ? "stores to" : "loads", describe(view)));
    if (view.is(Val::Kind::value)) builder.help("name the memory, without loading it: `x.at[…]`");
    return Val::poison();
  }
  if (!require_static(view.type.shape, at, "a block of a pipeline")) return Val::poison();
  bool ok = true;
  SemType block = SemType::ref(ir::Space::smem, view.type.dtype, view.type.shape);
  for (const ast::Attribute& attribute : node.attributes) {
    const std::string_view name = attribute.name.text;
    if (name == "collective") {
      std::vector<std::int64_t> all;
      for (const ast::ExprId id : attribute.args) {
        const auto axes = cluster_axes(id, "`collective` of a load");
        ok = ok && axes.has_value();
        if (axes) all.insert(all.end(), axes->begin(), axes->end());
      }
      if (node.store) {
        error<diag::bad_multicast>(attribute.span, "a store is made by one block; only loads are `collective`");
        ok = false;
      }
      attrs.set(ir::Attr::axes, all);
    } else if (name == "delay_release") {
      const auto n = integer_args(attribute);
      if (n && n->size() == 1 && (*n)[0] >= 0) attrs.set(ir::Attr::delay_release, (*n)[0]);
    } else if (name == "oob") {
      const std::string word = attribute.args.size() == 1 ? option_word(attribute.args[0]) : std::string();
      if (word != "zero" && word != "nan" && word != "undefined") {
        error<diag::unknown_option>(attribute.span, "`oob` is one of `zero`, `nan` and `undefined`");
        ok = false;
      }
      attrs.set(ir::Attr::oob, word);
    } else if (name == "tiled" || name == "swizzle") {
      ok = check_tiling(attribute, block, *block_root) && ok;
    } else {
      error<diag::unknown_option>(attribute.span, fmt::format("loads and stores have no attribute `{}`", name))
          .help("they have `collective(c)`, `delay_release(d)`, `oob(zero)`, `tiled(…)` and `swizzle(…)`");
      ok = false;
    }
  }
  if (!ok) return Val::poison();
  if (!block_root->tiled.empty()) attrs.set(ir::Attr::tiled, block_root->tiled);
  if (block_root->swizzle >= 0) attrs.set(ir::Attr::swizzle, block_root->swizzle);
  if (node.store) {
    note_write(view, at);
  } else {
    note_read(view, at);
  }
  push(ir::Op::transfer, node.span, {view.ir}, std::move(attrs));
  Val ref;
  ref.kind = Val::Kind::ref;
  ref.type = block;
  ref.root = block_root;
  ref.ir = new_value(block, node.name.text);
  return ref;
}

void Elaborator::pipeline(const ast::Pipeline& node, Span span) {
  ir::Attrs attrs;
  bool ok = pipeline_attributes(node.attributes, node.keyword, attrs, 2);
  std::vector<ir::Value> operands;
  for (const ast::PipelineRange& range : node.ranges) {
    for (const ast::ExprId id : {range.low, range.high}) {
      const ir::Value bound = index_value(value_expr(id), span_of(id), "a bound of a pipeline");
      ok = ok && bound.valid();
      operands.push_back(bound);
    }
  }
  if (node.roles) ok = pipeline_roles(*node.roles, attrs) && ok;
  if (node.transfers.empty()) {
    error<diag::bad_pipeline>(node.keyword, "a pipeline without loads and stores is a loop")
        .help("write `for`, or add `load x = ref.at[…]`");
    ok = false;
  }
  const ScopeGuard scope(*this);
  const SemType index = SemType::scalar(ir::Dtype::index);
  ir::Region transfers;
  ir::Region body;
  std::vector<Val> blocks;
  ++loop_depth_;
  loops_.push_back(Loop::barrier);
  {
    const RegionGuard guard(*this, transfers.insts);
    const ScopeGuard variables(*this);
    for (const ast::PipelineRange& range : node.ranges) {
      transfers.args.push_back(new_value(index, range.variable.text));
      declare(range.variable, Val::value(transfers.args.back(), index));
    }
    for (const ast::Transfer& t : node.transfers) {
      blocks.push_back(transfer(t));
      ok = ok && !blocks.back().poisoned();
    }
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (!blocks[i].poisoned()) body.args.push_back(blocks[i].ir);
    declare(node.transfers[i].name, blocks[i]);
  }
  PipelineContext context{&node, node.compute_form, 0};
  PipelineContext* const outer = pipeline_;
  pipeline_ = &context;
  {
    const RegionGuard guard(*this, body.insts);
    if (node.compute_form) {
      block(node.body);
    } else {
      run_step(node.body, node.body.span);
    }
  }
  pipeline_ = outer;
  loops_.pop_back();
  --loop_depth_;
  if (loop_depth_ == 0) flush_early_reads();
  if (node.compute_form && context.steps != 1) {
    error<diag::bad_pipeline>(
        node.keyword, fmt::format("`compute {{ … }}` has exactly one `step {{ … }}`; this has {}", context.steps));
    ok = false;
  }
  ok = check_delays(node, transfers, attrs.integer(ir::Attr::stages)) && ok;
  if (const UncertainStep found = find_uncertain_step(body, nullptr); found.step != nullptr) {
    const bool loop = found.within->op == ir::Op::for_ || found.within->op == ir::Op::while_;
    error<diag::misplaced_statement>(found.step->loc.span,
                                     fmt::format("`step` stands {}: every compute thread has to reach it exactly once",
                                                 loop ? "in a loop" : "under a condition"))
        .label(found.within->loc.span, loop ? "this loop may repeat it" : "this decides whether it is reached")
        .help(fmt::format("put `step` directly into `compute {{ … }}`, and the {} into the step",
                          loop ? "loop" : "condition"));
    ok = false;
  }
  if (!ok) return;
  ir::Inst& inst = push(ir::Op::pipeline, cover(node.keyword, span), std::move(operands), std::move(attrs));
  inst.regions.push_back(std::move(transfers));
  inst.regions.push_back(std::move(body));
}

// `delay_release` of single loads: less than the number of stages, as the pipeline's own.
bool Elaborator::check_delays(const ast::Pipeline& node, const ir::Region& transfers, std::int64_t stages) {
  std::size_t number = 0;
  bool ok = true;
  for (const ir::Inst& inst : transfers.insts) {
    if (inst.op != ir::Op::transfer || number >= node.transfers.size()) continue;
    const ast::Transfer& transfer = node.transfers[number++];
    const std::int64_t delay = inst.attrs.integer(ir::Attr::delay_release);
    if (stages < 1 || delay < stages) continue;
    for (const ast::Attribute& attribute : transfer.attributes) {
      if (attribute.name.text != "delay_release") continue;
      error<diag::bad_stages>(
          attribute.span,
          fmt::format("`delay_release({})` keeps every slot: it has to be less than `stages({})`", delay, stages));
    }
    ok = false;
  }
  return ok;
}

void Elaborator::step(const ast::Step& node, Span span) {
  if (pipeline_ == nullptr || !pipeline_->step_allowed) {
    error<diag::misplaced_statement>(span, "`step` stands in the `compute { … }` of a pipeline");
    const DeadGuard dead(*this);
    block(node.block);
    return;
  }
  ++pipeline_->steps;
  pipeline_->step_allowed = false;
  run_step(node.block, span);
  pipeline_->step_allowed = true;
}

void Elaborator::run_step(const ast::Block& body, Span span) {
  const SemType index = SemType::scalar(ir::Dtype::index);
  ir::Region region;
  {
    const RegionGuard guard(*this, region.insts);
    const ScopeGuard scope(*this);
    for (const ast::PipelineRange& range : pipeline_->node->ranges) {
      region.args.push_back(new_value(index, range.variable.text));
      declare(range.variable, Val::value(region.args.back(), index));
    }
    loops_.push_back(Loop::barrier);
    block(body);
    loops_.pop_back();
  }
  push(ir::Op::step, span).regions.push_back(std::move(region));
}

}  // namespace pk::sema
