// Meshes: the axes of a kernel and their extents, computed in the launch region.

#include "elaborator.h"
#include "pk/ir/ops.h"
#include "suggest.h"

namespace pk::sema {

void Elaborator::add_axis(const ast::Name& name, Val val) {
  if (!name.present()) return;
  const Binding* local = find_local(name.text);
  const Val* axis = find_axis(name.text);
  if (local != nullptr || axis != nullptr) {
    auto builder = error<diag::duplicate_name>(name.span, name.text);
    if (local != nullptr) builder.label(local->span, "first defined here");
  }
  axes_.emplace_back(std::string(name.text), std::move(val));
}

void Elaborator::mesh_axis(const ast::Axis& axis) {
  ir::MeshAxis lowered;
  switch (axis.kind) {
    case ast::Axis::Kind::grid:
      lowered.kind = ir::MeshAxis::Kind::grid;
      break;
    case ast::Axis::Kind::cluster:
      lowered.kind = ir::MeshAxis::Kind::cluster;
      break;
    case ast::Axis::Kind::wg:
      lowered.kind = ir::MeshAxis::Kind::wg;
      break;
  }
  lowered.name = std::string(axis.name.text);
  lowered.span = axis.span;
  lowered.size = 1;
  kernel_.nonportable_cluster = kernel_.nonportable_cluster || axis.nonportable;
  Val named;
  named.kind = Val::Kind::axis;
  named.axis = static_cast<int>(kernel_.axes.size());
  named.sym = Sym(1);
  ir::Value extent;
  const Span at = axis.size.valid() ? span_of(axis.size) : axis.span;
  const Val size = axis.size.valid() ? value_expr(axis.size) : Val::integer(Sym(1), true);
  const bool is_grid = axis.kind == ast::Axis::Kind::grid;
  if (size.is(Val::Kind::integer)) {
    const bool is_static = is_grid || require_static({size.sym}, at,
                                                     is_grid                            ? "a grid axis"
                                                     : axis.kind == ast::Axis::Kind::wg ? "a wg axis"
                                                                                        : "a cluster axis");
    if (is_static) {
      named.sym = size.sym;
      lowered.size = lower(size.sym);
      extent = materialise(size.sym, at);
      if (size.constant().value_or(0) < 0)
        error<diag::bad_argument>(at, fmt::format("the extent {} of an axis is negative", *size.constant()));
    }
  } else if (!size.poisoned()) {
    const ir::Value v = index_value(size, at, "the extent of an axis");
    if (v.valid() && !is_grid) {
      error<diag::not_static>(
          at, axis.kind == ast::Axis::Kind::wg ? "the size of a wg axis" : "the size of a cluster axis");
    } else if (v.valid()) {
      extent = v;
      lowered.size = ir::dynamic_extent;
      named.sym = syms_.dim(fmt::format("size({})", axis.name.text), -1);
    }
  }
  rules::MeshAxisInfo info{axis.kind, std::string(axis.name.text), axis.size.valid(), std::nullopt, axis.span};
  if (extent.valid() && lowered.size >= 0) info.size = lowered.size;
  mesh_info_.axes.push_back(std::move(info));
  if (!extent.valid()) extent = constant_int(1, ir::Dtype::index, at);
  launch_yields_.push_back(extent);
  axis_extents_.push_back(named.sym);
  kernel_.axes.push_back(std::move(lowered));
  add_axis(axis.name, std::move(named));
}

void Elaborator::named_mesh(const ast::MeshUse& use) {
  const ItemRef found = module_.find(*file_, use.named.text);
  if (!found) {
    std::vector<std::string> candidates;
    for (const auto& [name, item] : file_->items) {
      if (std::holds_alternative<ast::MeshItem>(item->node)) candidates.emplace_back(name);
    }
    auto builder = error<diag::unknown_name>(use.named.span, use.named.text);
    if (const auto near = closest(use.named.text, candidates)) builder.help(fmt::format("did you mean `{}`?", *near));
    return;
  }
  const auto* item = std::get_if<ast::MeshItem>(&found.item->node);
  if (item == nullptr) {
    error<diag::wrong_kind_of_name>(use.named.span, use.named.text, "not a mesh", "a mesh")
        .label(item_name_token(*found.item).span, "defined here");
    return;
  }
  std::vector<Val> args;
  for (const ast::ExprId id : use.args) args.push_back(value_expr(id));
  if (args.size() != item->params.size()) {
    error<diag::wrong_argument_count>(
        use.span, fmt::format("the mesh `{}` takes {} argument{}, not {}", use.named.text, item->params.size(),
                              item->params.size() == 1 ? "" : "s", args.size()))
        .label(item->name.span, "defined here");
    args.resize(item->params.size(), Val::poison());
  }
  const FrameGuard frame(*this, *found.file);
  for (std::size_t i = 0; i < args.size(); ++i) declare(item->params[i].name, args[i]);
  for (const ast::Axis& axis : item->axes) mesh_axis(axis);
}

void Elaborator::blocked_mesh(const ast::BlockedGrid& grid) {
  for (const ast::BlockedAxis& blocked : grid.axes) {
    if (blocked.sequential) continue;
    ast::Axis axis;
    axis.kind = ast::Axis::Kind::grid;
    axis.name = blocked.name;
    axis.size = blocked.extent;
    axis.span = blocked.span;
    mesh_axis(axis);
  }
}

void Elaborator::check_mesh(const ast::MeshItem& item) {
  ir::Region launch;
  const RegionGuard region(*this, launch.insts);
  const ScopeGuard scope(*this);
  in_launch_ = true;
  for (const ast::Param& param : item.params) declare(param.name, Val::integer(syms_.generic(param.name.text), true));
  for (const ast::Axis& axis : item.axes) mesh_axis(axis);
  mesh_info_.span = item.name.span;
  mesh_info_.nonportable = kernel_.nonportable_cluster;
  errors_ += rules::check_mesh(mesh_info_, target_, diags_);
  in_launch_ = false;
}

void Elaborator::mesh(const ast::Kernel& kernel) {
  if (kernel.blocked) {
    mesh_info_.blocked = true;
    mesh_info_.span = kernel.blocked->span;
    blocked_mesh(*kernel.blocked);
  }
  if (!kernel.mesh) return;
  mesh_info_.span = kernel.mesh->span;
  if (kernel.mesh->named.present()) {
    named_mesh(*kernel.mesh);
  } else {
    for (const ast::Axis& axis : kernel.mesh->axes) mesh_axis(axis);
  }
  mesh_info_.nonportable = kernel_.nonportable_cluster;
  const int refused = rules::check_mesh(mesh_info_, target_, diags_);
  mesh_is_good_ = refused == 0;
  errors_ += refused;
}

}  // namespace pk::sema
