// Types as the tree writes them.

#include "elaborator.h"
#include "suggest.h"

namespace pk::sema {
namespace {

std::optional<ir::Space> memory_space(std::string_view name) {
  if (name == "gmem") return ir::Space::gmem;
  if (name == "smem") return ir::Space::smem;
  if (name == "acc") return ir::Space::acc;
  if (name == "tmem") return ir::Space::tmem;
  return std::nullopt;
}

std::optional<ir::Space> object_space(std::string_view name) {
  if (name == "barrier") return ir::Space::barrier;
  if (name == "cluster_barrier") return ir::Space::cluster_barrier;
  if (name == "semaphore") return ir::Space::semaphore;
  return std::nullopt;
}

/// Types of the language that this compiler does not have yet.
bool is_planned_type(std::string_view name) { return name == "i4" || name == "u4" || name == "f8e8m0"; }

}  // namespace

std::optional<ir::Dtype> Elaborator::dtype_named(const ast::Name& name) {
  if (const Binding* local = find_local(name.text)) {
    if (local->val.is(Val::Kind::dtype)) return local->val.type.dtype;
    if (local->val.poisoned()) return std::nullopt;
    error<diag::wrong_kind_of_name>(name.span, name.text, "not a type", "a type").label(local->span, "defined here");
    return std::nullopt;
  }
  if (const auto dtype = ir::parse_dtype(name.text)) return dtype;
  if (is_planned_type(name.text)) {
    error<diag::not_supported>(name.span, fmt::format("the storage type `{}` is not supported yet", name.text));
    return std::nullopt;
  }
  std::vector<std::string> candidates;
  for (const ir::DtypeInfo& row : ir::dtype_table) candidates.emplace_back(row.spelling);
  for (std::size_t i = frame_base_; i < bindings_.size(); ++i) {
    if (bindings_[i].val.is(Val::Kind::dtype)) candidates.emplace_back(bindings_[i].name);
  }
  auto builder = error<diag::unknown_type>(name.span, name.text);
  if (const auto near = closest(name.text, candidates)) builder.help(fmt::format("did you mean `{}`?", *near));
  return std::nullopt;
}

Elaborator::TypeUse Elaborator::type_use(ast::TypeId id, bool with_dims) {
  TypeUse use;
  if (!id.valid()) return use;
  const ast::TypeExpr& node = tree()[id];
  if (!node.tuple.empty()) {
    use.ok = true;
    for (const ast::TypeId element : node.tuple) {
      use.tuple.push_back(type_use(element, with_dims));
      use.ok = use.ok && use.tuple.back().ok;
    }
    return use;
  }
  if (!node.base.present()) return use;
  use.brackets = node.brackets;
  use.any_shape = node.any_shape;
  use.ok = true;
  if (const auto object = object_space(node.base.text)) {
    use.type = SemType::ref(*object, ir::Dtype::boolean, {});
    use.has_space = true;
  } else if (const auto dtype = dtype_named(node.base)) {
    use.type = node.brackets ? SemType::tile(*dtype, {}) : SemType::scalar(*dtype);
  } else {
    use.ok = false;
  }
  if (node.space.present() && node.space.text != "regs") {
    if (const auto space = memory_space(node.space.text)) {
      use.has_space = true;
      use.type.space = *space;
      use.type.kind = ir::Type::Kind::ref;
      if (*space == ir::Space::tmem) {
        error<diag::needs_target>(
            node.space.span, "tmem",
            "tensor memory, which begins with sm_100 (this is " + std::string(target_.name) + ")");
        use.ok = false;
      }
    }
  }
  if (!with_dims) return use;
  for (const ast::ExprId dim : node.dims) {
    const Val val = value_expr(dim);
    if (const auto extent = static_int(val, span_of(dim), "an extent")) {
      if (extent->constant().value_or(0) < 0) {
        error<diag::bad_argument>(span_of(dim), fmt::format("the extent {} is negative", *extent->constant()));
        use.ok = false;
      }
      use.type.shape.push_back(*extent);
    } else {
      use.ok = false;
    }
  }
  return use;
}

std::optional<SemType> Elaborator::type_argument(ast::ExprId id, std::string_view what) {
  if (!id.valid()) return std::nullopt;
  const ast::Expr& node = node_of(id);
  const auto element = [&](const ast::Expr& e) -> std::optional<ir::Dtype> {
    if (const auto* name = std::get_if<ast::NameExpr>(&e.node)) return dtype_named(name->name);
    error<diag::bad_argument>(e.span, fmt::format("{} is a type such as `f32[128]`", what));
    return std::nullopt;
  };
  const auto* indexed = std::get_if<ast::IndexExpr>(&node.node);
  if (indexed == nullptr) {
    const auto dtype = element(node);
    return dtype ? std::optional(SemType::scalar(*dtype)) : std::nullopt;
  }
  const auto dtype = element(node_of(indexed->base));
  if (!dtype) return std::nullopt;
  SemType type = SemType::tile(*dtype, {});
  for (const ast::Index& index : indexed->indices) {
    if (index.kind != ast::Index::Kind::single) {
      error<diag::bad_argument>(index.span, "the extents of a type are integers");
      return std::nullopt;
    }
    const auto extent = static_int(value_expr(index.first), index.span, "an extent");
    if (!extent || !require_static({*extent}, index.span, "a tile")) return std::nullopt;
    if (extent->constant().value_or(0) < 0) {
      error<diag::bad_argument>(index.span, fmt::format("the extent {} is negative", *extent->constant()));
      return std::nullopt;
    }
    type.shape.push_back(*extent);
  }
  if (type.shape.empty()) return SemType::scalar(*dtype);
  return type;
}

std::optional<SymShape> Elaborator::shape_list(ast::ExprId id, std::string_view what) {
  const ast::Expr& node = node_of(id);
  const auto* list = std::get_if<ast::ListExpr>(&node.node);
  if (list == nullptr) {
    error<diag::bad_argument>(node.span, fmt::format("{} is a list of integers such as `[8, 16]`", what));
    return std::nullopt;
  }
  SymShape shape;
  for (const ast::ExprId element : list->elements) {
    const auto extent = static_int(value_expr(element), span_of(element), what);
    if (!extent || !require_static({*extent}, span_of(element), "a tile")) return std::nullopt;
    shape.push_back(*extent);
  }
  return shape;
}

}  // namespace pk::sema
