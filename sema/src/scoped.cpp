// `scoped (…) { … }`: allocations and their attributes. The rules about who may allocate what are in rules/.

#include "elaborator.h"
#include "pk/ir/ops.h"
#include "suggest.h"

namespace pk::sema {

void Elaborator::scoped(const ast::Scoped& node, Span span) {
  if (!checking_function_ && mesh_is_good_ && quiet_ == 0) {
    errors_ += rules::check_scoped(node, tree(), module_.sources(), mesh_info_, diags_,
                                   [this](DiagnosticBuilder& builder) { label_calls(builder); });
  }
  const ScopeGuard scope(*this);
  bool collective = false;
  if (node.collective) {
    for (const ast::ExprId id : node.collective->args) {
      const Val* axis = find_axis(source_text(span_of(id)));
      collective = collective || (axis != nullptr && axis->axis >= 0 && axis->axis == kernel_.wg_axis());
    }
  }
  ir::Region region;
  bool ended = false;
  {
    const RegionGuard guard(*this, region.insts);
    if (collective) note_wait();
    std::vector<std::pair<Val, const ast::Alloc*>> inits;
    for (const ast::Alloc& alloc : node.allocs) {
      if (alloc.members.empty()) {
        allocate(alloc, -1, inits);
        continue;
      }
      const std::int64_t group = unions_++;
      for (const ast::Alloc& view : alloc.members) allocate(view, group, inits);
    }
    for (const auto& [ref, alloc] : inits) {
      const Val init = value_expr(alloc->init);
      store(ref, init, alloc->name.span, span_of(alloc->init));
    }
    statements(node.body.stmts);
    ended = ended_;
  }
  ir::Attrs attrs;
  attrs.set(ir::Attr::collective, collective);
  ir::Inst& inst =
      push(ir::Op::scoped, node.parens.valid() ? cover(node.keyword, node.parens) : span, {}, std::move(attrs));
  inst.regions.push_back(std::move(region));
  ended_ = ended;
}

void Elaborator::allocate(const ast::Alloc& alloc, std::int64_t union_group,
                          std::vector<std::pair<Val, const ast::Alloc*>>& inits) {
  const auto type = alloc_type(alloc);
  auto root = std::make_unique<RefRoot>();
  root->kind = RefRoot::Kind::alloc;
  root->name = std::string(alloc.name.text);
  root->span = alloc.name.span;
  ir::Attrs attrs;
  bool ok = type && alloc_attributes(alloc, *type, attrs, *root);
  if (ok && union_group >= 0 && type->space != ir::Space::smem) {
    error<diag::bad_argument>(
        alloc.span, fmt::format("a union gives one piece of shared memory several types; `{}` is `{}`", root->name,
                                type_text(*type)));
    ok = false;
  }
  Val ref = Val::poison();
  if (ok) {
    attrs.set(ir::Attr::name, root->name);
    if (union_group >= 0) attrs.set(ir::Attr::union_group, union_group);
    ref.kind = Val::Kind::ref;
    ref.type = *type;
    ref.root = root.get();
    ref.ir = emit(ir::Op::alloc, alloc.span, {}, lower(*type), std::move(attrs));
    kernel_.values[ref.ir.id].name = root->name;
    if (alloc.init.valid()) {
      if (type->space != ir::Space::acc) {
        error<diag::bad_argument>(
            span_of(alloc.init),
            fmt::format("only an accumulator has an initial value; `{}` is {}", root->name, ir::spelling(type->space)))
            .help(fmt::format("write to it in the scope: `{}[...] = …`", root->name));
      } else {
        inits.emplace_back(ref, &alloc);
      }
    }
  }
  roots_.push_back(std::move(root));
  declare(alloc.name, std::move(ref));
}

std::optional<SemType> Elaborator::alloc_type(const ast::Alloc& alloc) {
  const TypeUse use = type_use(alloc.type);
  if (!use.ok) return std::nullopt;
  const Span span = tree()[alloc.type].span;
  if (!use.has_space || use.type.space == ir::Space::gmem) {
    error<diag::bad_argument>(span,
                              fmt::format("an allocation names its memory; `{}` is a {}", alloc.name.text,
                                          use.has_space ? "part of gmem, which kernels do not allocate" : "value"))
        .help("write `smem f32[…]`, `acc f32[…]`, `barrier`, `cluster_barrier` or `semaphore`");
    return std::nullopt;
  }
  if (!require_static(use.type.shape, span, "an allocation")) return std::nullopt;
  SemType type = use.type;
  type.kind = ir::Type::Kind::ref;
  if (type.space == ir::Space::acc && type.shape.size() != 2) {
    error<diag::mma_shape>(span,
                           fmt::format("an accumulator has 2 axes; `{}` has {}", alloc.name.text, type.shape.size()));
    return std::nullopt;
  }
  if (type.space == ir::Space::acc && type.dtype != ir::Dtype::f32 && type.dtype != ir::Dtype::f16 &&
      type.dtype != ir::Dtype::i32) {
    error<diag::mma_types>(span, fmt::format("an accumulator is `f32`, `f16` or `i32`; `{}` is `{}`", alloc.name.text,
                                             ir::spelling(type.dtype)));
    return std::nullopt;
  }
  return type;
}

std::optional<std::vector<std::int64_t>> Elaborator::integer_args(const ast::Attribute& attribute) {
  std::vector<std::int64_t> values;
  for (const ast::ExprId id : attribute.args) {
    bool unresolved = false;
    const auto c = static_constant(id, fmt::format("the argument of `{}`", attribute.name.text), unresolved);
    if (!c) return std::nullopt;
    values.push_back(*c);
  }
  return values;
}

bool Elaborator::check_tiling(const ast::Attribute& attribute, const SemType& type, RefRoot& root) {
  const auto values = integer_args(attribute);
  if (!values) return false;
  if (attribute.name.text == "swizzle") {
    const bool known =
        values->size() == 1 && ((*values)[0] == 128 || (*values)[0] == 64 || (*values)[0] == 32 || (*values)[0] == 0);
    if (!known) {
      error<diag::bad_layout>(attribute.span, "a swizzle is 128, 64 or 32 bytes, or 0 for none");
      return false;
    }
    root.swizzle = (*values)[0];
    return true;
  }
  if (values->empty() || values->size() > type.shape.size()) {
    error<diag::bad_layout>(attribute.span,
                            fmt::format("`tiled` has one extent for each tiled axis, at most {}", type.shape.size()));
    return false;
  }
  const std::size_t offset = type.shape.size() - values->size();
  for (std::size_t i = 0; i < values->size(); ++i) {
    const auto extent = type.shape[offset + i].constant();
    if ((*values)[i] > 0 && (!extent || *extent % (*values)[i] == 0)) continue;
    error<diag::bad_layout>(attribute.span, fmt::format("a tile of {} does not divide the axis of extent {}",
                                                        (*values)[i], syms_.print(type.shape[offset + i])));
    return false;
  }
  root.tiled = *values;
  return true;
}

bool Elaborator::alloc_attributes(const ast::Alloc& alloc, const SemType& type, ir::Attrs& attrs, RefRoot& root) {
  bool ok = true;
  bool has_axes = false;
  if (type.space == ir::Space::barrier) attrs.set(ir::Attr::arrivals, std::int64_t{1});
  const auto misplaced = [&](const ast::Attribute& attribute, std::string_view of) {
    error<diag::unknown_option>(attribute.span, fmt::format("`{}` is an attribute of {}; `{}` is `{}`",
                                                            attribute.name.text, of, alloc.name.text, type_text(type)));
    ok = false;
  };
  for (const ast::Attribute& attribute : alloc.attributes) {
    const std::string_view name = attribute.name.text;
    if (name == "tiled" || name == "swizzle") {
      if (type.space != ir::Space::smem) {
        misplaced(attribute, "shared memory");
      } else {
        ok = check_tiling(attribute, type, root) && ok;
      }
    } else if (name == "arrivals") {
      if (type.space != ir::Space::barrier && type.space != ir::Space::cluster_barrier) {
        misplaced(attribute, "barriers");
        continue;
      }
      bool unresolved = false;
      const auto n = attribute.args.size() == 1
                         ? static_constant(attribute.args[0], "the number of arrivals", unresolved)
                         : std::nullopt;
      if (!n && unresolved) {
        attrs.set(ir::Attr::arrivals, ir::unresolved_extent);
        continue;
      }
      if (attribute.args.size() != 1 || (n && (*n < 1 || *n >= (std::int64_t{1} << 20)))) {
        error<diag::bad_argument>(attribute.span, "`arrivals(n)` takes one number from 1 to 1048575")
            .note("the count of an mbarrier has 20 bits");
        ok = false;
      } else if (!n) {
        ok = false;
      } else {
        attrs.set(ir::Attr::arrivals, *n);
      }
    } else if (name == "collective") {
      if (type.space != ir::Space::cluster_barrier) {
        misplaced(attribute, "a `cluster_barrier`");
        continue;
      }
      std::vector<std::int64_t> all;
      for (const ast::ExprId id : attribute.args) {
        const auto axes = cluster_axes(id, "`collective` of a cluster barrier");
        if (!axes) {
          ok = false;
          continue;
        }
        all.insert(all.end(), axes->begin(), axes->end());
      }
      has_axes = true;
      attrs.set(ir::Attr::axes, all);
    } else if (name == "global") {
      if (type.space != ir::Space::semaphore) {
        misplaced(attribute, "a semaphore");
      } else {
        attrs.set(ir::Attr::global, true);
      }
    } else {
      auto builder =
          error<diag::unknown_option>(attribute.span, fmt::format("allocations have no attribute `{}`", name));
      if (const auto near = closest(name, {"tiled", "swizzle", "arrivals", "collective", "global"}))
        builder.help(fmt::format("did you mean `{}`?", *near));
      ok = false;
    }
  }
  if (type.space == ir::Space::cluster_barrier && !has_axes) {
    error<diag::bad_multicast>(
        alloc.span, fmt::format("the cluster barrier `{}` does not say which blocks meet at it", alloc.name.text))
        .help("add the cluster axes: `cluster_barrier collective(c)`");
    ok = false;
  }
  if (!root.tiled.empty()) {
    attrs.set(ir::Attr::tiled, root.tiled);
    const std::int64_t row_bytes = root.tiled.back() * ir::byte_size(type.dtype);
    if (root.swizzle > 0 && row_bytes != root.swizzle) {
      error<diag::bad_layout>(alloc.span, fmt::format("rows of the tile of `{}` have {} bytes, and the swizzle {}",
                                                      alloc.name.text, row_bytes, root.swizzle))
          .help(
              fmt::format("write `tiled(8, {}) swizzle({})`", root.swizzle / ir::byte_size(type.dtype), root.swizzle));
      ok = false;
    }
  }
  if (root.swizzle >= 0) attrs.set(ir::Attr::swizzle, root.swizzle);
  return ok;
}

}  // namespace pk::sema
