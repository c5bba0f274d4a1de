// Blocked kernels: `grid(i: parallel …, k: sequential …)` becomes a mesh over the parallel axes and a pipeline over the
// sequential ones, whose transfers are the block-spec'd parameters.

#include "elaborator.h"
#include "pk/ir/ops.h"

namespace pk::sema {
// The global-memory view of one block: coordinates count blocks.
Val Elaborator::block_view(const ast::Param& param, const Val& ref) {
  const ast::BlockSpec& spec = *param.block;
  const std::size_t rank = ref.type.shape.size();
  if (spec.shape.size() != rank || spec.at.size() != rank) {
    error<diag::bad_block_spec>(spec.span, fmt::format("`{}` has {} axes; its block has {} extents and {} coordinates",
                                                       param.name.text, rank, spec.shape.size(), spec.at.size()));
    return Val::poison();
  }
  std::vector<ir::Value> operands{ref.ir};
  std::vector<std::int64_t> sizes;
  Val view = ref;
  view.type.shape.clear();
  const ir::Type index = ir::Type::scalar(ir::Dtype::index);
  for (std::size_t i = 0; i < rank; ++i) {
    const Span size_span = span_of(spec.shape[i]);
    const auto size = static_int(value_expr(spec.shape[i]), size_span, "the extent of a block");
    if (!size || !require_static({*size}, size_span, "a block")) return Val::poison();
    if (size->constant().value_or(1) <= 0) {
      error<diag::bad_block_spec>(
          size_span, fmt::format("a block has at least one element along each axis, not {}", *size->constant()));
      return Val::poison();
    }
    const Val at = value_expr(spec.at[i]);
    if (at.is(Val::Kind::integer)) {
      operands.push_back(materialise(at.sym * *size, size_span));
    } else {
      const ir::Value coordinate = index_value(at, span_of(spec.at[i]), "the coordinate of a block");
      if (!coordinate.valid()) return Val::poison();
      operands.push_back(emit(ir::Op::mul, span_of(spec.at[i]), {coordinate, materialise(*size, size_span)}, index));
    }
    sizes.push_back(lower(*size));
    view.type.shape.push_back(*size);
  }
  ir::Attrs attrs;
  attrs.set(ir::Attr::sizes, sizes);
  attrs.set(ir::Attr::squeeze, std::vector<std::int64_t>{});
  view.ir = emit(ir::Op::subview, spec.span, std::move(operands), lower(view.type), std::move(attrs));
  return view;
}

Val Elaborator::block_transfer(const ast::Param& param, const Val& ref) {
  ir::Attrs attrs;
  attrs.set(ir::Attr::name, std::string(param.name.text));
  const bool store = param.mode != ast::Mode::in;
  if (store) attrs.set(ir::Attr::store, true);
  if (param.mode == ast::Mode::inout) attrs.set(ir::Attr::load_back, true);
  std::string oob = "zero";
  auto root = std::make_unique<RefRoot>();
  root->kind = RefRoot::Kind::param;
  root->name = std::string(param.name.text);
  root->span = param.name.span;
  root->mode = param.mode;
  RefRoot* block_root = root.get();
  roots_.push_back(std::move(root));
  errors_ += rules::check_block_spec(param, diags_);
  for (const ast::Attribute& attribute : param.block->attributes) {
    if (attribute.name.text == "collective") continue;  // PK0306
    if (attribute.name.text == "oob" && attribute.args.size() == 1) {
      oob = option_word(attribute.args[0]);
      if (oob == "zero" || oob == "nan" || oob == "undefined") continue;
    }
    error<diag::unknown_option>(attribute.span, "a block spec has the attribute `oob(zero|nan|undefined)`");
  }
  const Val view = block_view(param, ref);
  if (view.poisoned()) return view;
  attrs.set(ir::Attr::oob, oob);
  push(ir::Op::transfer, param.block->span, {view.ir}, std::move(attrs));
  Val block;
  block.kind = Val::Kind::ref;
  block.type = SemType::ref(ir::Space::smem, view.type.dtype, view.type.shape);
  block.root = block_root;
  block.ir = new_value(block.type, param.name.text);
  return block;
}

void Elaborator::blocked_kernel(const ast::Kernel& kernel) {
  const ast::BlockedGrid& grid = *kernel.blocked;
  const SemType index = SemType::scalar(ir::Dtype::index);
  std::vector<const ast::BlockedAxis*> sequential;
  for (const ast::BlockedAxis& axis : grid.axes) {
    if (axis.sequential) sequential.push_back(&axis);
  }
  ir::Attrs attrs;
  attrs.set(ir::Attr::blocked, true);
  bool ok = pipeline_attributes(grid.attributes, grid.span, attrs, sequential.empty() ? 1 : 2);
  const ScopeGuard scratch_scope(*this);
  ir::Region outer;
  {
    std::optional<RegionGuard> guard;
    if (!grid.scratch.empty()) guard.emplace(*this, outer.insts);
    std::vector<std::pair<Val, const ast::Alloc*>> inits;
    for (const ast::Alloc& alloc : grid.scratch) allocate(alloc, -1, inits);
    for (const auto& [ref, alloc] : inits) store(ref, value_expr(alloc->init), alloc->name.span, span_of(alloc->init));

    std::vector<ir::Value> operands;
    for (const ast::BlockedAxis* axis : sequential) {
      const Val extent = axis->extent.valid() ? value_expr(axis->extent) : Val::poison();
      const Span at = axis->extent.valid() ? span_of(axis->extent) : axis->span;
      const ir::Value high = index_value(extent, at, "the extent of an axis");
      ok = ok && high.valid();
      operands.push_back(constant_int(0, ir::Dtype::index, at));
      operands.push_back(high);
      Val named;
      named.kind = Val::Kind::axis;
      named.axis = -1;
      named.sym = extent.is(Val::Kind::integer) ? extent.sym : syms_.dim(fmt::format("size({})", axis->name.text), -1);
      add_axis(axis->name, std::move(named));
    }
    if (sequential.empty()) {
      operands.push_back(constant_int(0, ir::Dtype::index, grid.span));
      operands.push_back(constant_int(1, ir::Dtype::index, grid.span));
    }
    const std::size_t variables = std::max<std::size_t>(sequential.size(), 1);
    const auto enter = [&](ir::Region& region) {
      for (std::size_t i = 0; i < variables; ++i) {
        region.args.push_back(
            new_value(index, i < sequential.size() ? sequential[i]->name.text : std::string_view("once")));
      }
      for (std::size_t i = 0; i < sequential.size(); ++i) {
        for (auto& [name, val] : axes_) {
          if (val.axis < 0 && name == sequential[i]->name.text) val.ir = region.args[i];
        }
      }
    };
    ir::Region transfers;
    ir::Region body;
    std::vector<std::pair<const ast::Param*, Val>> blocks;
    ++loop_depth_;
    {
      const RegionGuard region(*this, transfers.insts);
      enter(transfers);
      for (const ast::Param& param : kernel.params) {
        if (!param.block) continue;
        const Binding* binding = find_local(param.name.text);
        const Val ref = binding == nullptr ? Val::poison() : binding->val;
        if (!ref.poisoned() && !ref.is(Val::Kind::ref)) {
          error<diag::bad_block_spec>(param.block->span,
                                      fmt::format("`{}` is a scalar and has no blocks", param.name.text));
        }
        const int before = errors_;
        const Val block = ref.is(Val::Kind::ref) ? block_transfer(param, ref) : Val::poison();
        ok = ok && errors_ == before && !block.poisoned();
        blocks.emplace_back(&param, block);
      }
    }
    const ScopeGuard block_scope(*this);
    for (const auto& [param, block] : blocks) {
      if (!block.poisoned()) body.args.push_back(block.ir);
      declare(param->name, block);
    }
    {
      const RegionGuard region(*this, body.insts);
      ir::Region steps;
      {
        const RegionGuard step_region(*this, steps.insts);
        enter(steps);
        loops_.push_back(Loop::barrier);
        this->block(kernel.body);
        loops_.pop_back();
      }
      push(ir::Op::step, kernel.body.span).regions.push_back(std::move(steps));
    }
    --loop_depth_;
    if (loop_depth_ == 0) flush_early_reads();
    if (ok) {
      ir::Inst& inst = push(ir::Op::pipeline, grid.span, std::move(operands), std::move(attrs));
      inst.regions.push_back(std::move(transfers));
      inst.regions.push_back(std::move(body));
    }
  }
  if (grid.scratch.empty()) return;
  ir::Attrs scope_attrs;
  scope_attrs.set(ir::Attr::collective, false);
  push(ir::Op::scoped, grid.span, {}, std::move(scope_attrs)).regions.push_back(std::move(outer));
}

}  // namespace pk::sema
