// Brackets: loads, sub-refs and slices of values.

#include "elaborator.h"
#include "pk/ir/ops.h"

namespace pk::sema {
namespace {

std::size_t axes_taken(const ast::IndexExpr& node) {
  std::size_t n = 0;
  for (const ast::Index& i : node.indices) {
    if (i.kind != ast::Index::Kind::ellipsis && i.kind != ast::Index::Kind::new_axis) ++n;
  }
  return n;
}

std::string plural(std::size_t n, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

}  // namespace

Val Elaborator::index(const ast::IndexExpr& node, Span span) {
  if (const auto* m = std::get_if<ast::Member>(&node_of(node.base).node); m != nullptr && m->name.text == "reshape") {
    const Val base = expr(m->base);
    return base.poisoned() ? base : reshape_ref(base, node, span);
  }
  const Val base = expr(node.base);
  if (base.poisoned()) {
    // The indices may hold mistakes of their own.
    for (const ast::Index& i : node.indices) {
      if (i.first.valid()) (void)expr(i.first);
      if (i.second.valid()) (void)expr(i.second);
    }
    return base;
  }
  if (base.is(Val::Kind::dtype)) {
    error<diag::wrong_kind_of_name>(span, source_text(span), "a type", "a value");
    return Val::poison();
  }
  if (base.is(Val::Kind::tuple)) {
    error<diag::bad_index>(span, "a tuple is taken apart with `let (a, b) = …`, not indexed");
    return Val::poison();
  }
  if (node.at && !base.is(Val::Kind::ref)) {
    error<diag::not_memory>(span, fmt::format("`.at[…]` is a part of memory; {} is no memory", describe(base)))
        .help("slice a value with `x[…]`");
    return Val::poison();
  }
  if (!base.is(Val::Kind::ref) && !base.is_tile()) {
    error<diag::bad_index>(span, fmt::format("{} has no axes to index", describe(rvalue(base, span_of(node.base)))));
    return Val::poison();
  }
  const auto plan = plan_index(base, node, span);
  if (!plan) return Val::poison();
  if (!base.is(Val::Kind::ref)) return insert_axes(slice_tile(base, *plan, span), plan->new_axes, span);
  if (node.at && !plan->new_axes.empty()) {
    error<diag::bad_index>(span, "`new` works on values, not on refs").help("load first: `x[...][:, new]`");
    return Val::poison();
  }
  const Val view = subview(base, *plan, span);
  if (node.at) return view;
  return insert_axes(load(view, span), plan->new_axes, span);
}

std::optional<IndexPlan> Elaborator::plan_index(const Val& base, const ast::IndexExpr& node, Span span) {
  const std::size_t rank = base.type.shape.size();
  const std::size_t taken = axes_taken(node);
  if (taken > rank) {
    error<diag::bad_index>(node.brackets.valid() ? node.brackets : span,
                           fmt::format("{} for {}, which has {}", plural(taken, "index", "indices"), describe(base),
                                       plural(rank, "axis", "axes")));
    return std::nullopt;
  }
  IndexPlan plan;
  bool ok = true;
  std::int64_t result_axis = 0;
  const auto full = [&](std::size_t axis, Span at) {
    AxisIndex index;
    index.start = Val::integer(Sym(0), true);
    index.size = base.type.shape[axis];
    index.to_end = true;
    index.span = at;
    plan.axes.push_back(std::move(index));
    ++result_axis;
  };
  bool ellipsis = false;
  for (const ast::Index& index : node.indices) {
    if (index.kind == ast::Index::Kind::new_axis) {
      plan.new_axes.push_back(result_axis++);
    } else if (index.kind == ast::Index::Kind::ellipsis) {
      if (ellipsis) {
        error<diag::bad_index>(index.span, "`...` stands once in an index");
        return std::nullopt;
      }
      ellipsis = true;
      for (std::size_t n = rank - taken; n > 0; --n) full(plan.axes.size(), index.span);
    } else if (index.kind == ast::Index::Kind::full) {
      full(plan.axes.size(), index.span);
    } else {
      const std::size_t axis = plan.axes.size();
      auto planned = plan_axis(index, base.type.shape[axis], base, axis);
      if (!planned) {
        ok = false;
        planned = AxisIndex{Val::integer(Sym(0), true), Sym(1), true, false, index.span};
      }
      plan.whole = false;
      if (!planned->squeeze) ++result_axis;
      plan.axes.push_back(std::move(*planned));
    }
  }
  while (plan.axes.size() < rank) full(plan.axes.size(), node.brackets);
  return ok ? std::optional(std::move(plan)) : std::nullopt;
}

std::optional<AxisIndex> Elaborator::plan_axis(const ast::Index& index, const Sym& extent, const Val& base,
                                               std::size_t axis) {
  AxisIndex planned;
  planned.span = index.span;
  (void)axis;
  if (index.kind == ast::Index::Kind::single) {
    planned.start = value_expr(index.first);
    planned.size = Sym(1);
    planned.squeeze = true;
    if (planned.start.poisoned()) return std::nullopt;
    const bool is_number = planned.start.is(Val::Kind::integer) ||
                           (planned.start.is_scalar() && planned.start.type.dtype == ir::Dtype::index);
    if (!is_number) {
      (void)index_value(planned.start, span_of(index.first), "an index");
      return std::nullopt;
    }
  } else if (index.kind == ast::Index::Kind::sized) {
    planned.start = value_expr(index.first);
    const Val size = value_expr(index.second);
    if (planned.start.poisoned() || size.poisoned()) return std::nullopt;
    const bool is_number = planned.start.is(Val::Kind::integer) ||
                           (planned.start.is_scalar() && planned.start.type.dtype == ir::Dtype::index);
    if (!is_number) {
      (void)index_value(planned.start, span_of(index.first), "the start of a slice");
      return std::nullopt;
    }
    const auto length = static_int(size, span_of(index.second), "the size of a slice");
    if (!length) return std::nullopt;
    planned.size = *length;
    if (syms_.is_runtime(*length)) {
      const bool to_end =
          planned.start.is(Val::Kind::integer) && equal(planned.start.sym + *length, extent) == Truth::yes;
      if (!to_end) {
        require_static({*length}, index.span, "a slice");
        return std::nullopt;
      }
      planned.to_end = true;
    }
  } else {
    PK_CHECK(index.kind == ast::Index::Kind::range, "other kinds are planned by the caller");
    const Val low = index.first.valid() ? value_expr(index.first) : Val::integer(Sym(0), true);
    const Val high = index.second.valid() ? value_expr(index.second) : Val::integer(extent, true);
    if (low.poisoned() || high.poisoned()) return std::nullopt;
    for (const auto& [bound, id] : {std::pair(&low, index.first), std::pair(&high, index.second)}) {
      if (bound->is(Val::Kind::integer)) continue;
      if (!index_value(*bound, id.valid() ? span_of(id) : index.span, "a bound").valid()) return std::nullopt;
      error<diag::not_static>(index.span, "both bounds of a slice `lo:hi`")
          .help("write `start +: size` for a start that is known at run time only");
      return std::nullopt;
    }
    planned.start = low;
    planned.size = high.sym - low.sym;
    planned.to_end = !index.second.valid();
    if (planned.size.constant().value_or(0) < 0) {
      error<diag::bad_index>(index.span, fmt::format("the slice {}:{} ends before it begins", syms_.print(low.sym),
                                                     syms_.print(high.sym)));
      return std::nullopt;
    }
    if (syms_.is_runtime(planned.size) && !planned.to_end && equal(high.sym, extent) != Truth::yes) {
      require_static({planned.size}, index.span, "a slice");
      return std::nullopt;
    }
    if (syms_.is_runtime(planned.size)) planned.to_end = true;
  }
  if (!check_bounds(planned, extent, base, index.kind != ast::Index::Kind::single)) return std::nullopt;
  return planned;
}

bool Elaborator::check_bounds(const AxisIndex& index, const Sym& extent, const Val& base, bool is_range) {
  const auto start = index.start.constant();
  const auto size = index.size.constant();
  const auto limit = extent.constant();
  if (size && *size < 0) {
    error<diag::bad_index>(index.span, fmt::format("the size {} of a slice is negative", *size));
    return false;
  }
  if (start && *start < 0) {
    error<diag::out_of_bounds>(index.span, fmt::format("{} {} is negative", is_range ? "the start" : "index", *start))
        .help("indices count from 0");
    return false;
  }
  if (!limit || !size) return true;
  if (!start) {
    if (*size <= *limit) return true;
    error<diag::out_of_bounds>(index.span,
                               fmt::format("a slice of {} does not fit an axis of extent {}", *size, *limit));
    return false;
  }
  if (*start + *size <= *limit) return true;
  if (!is_range) {
    error<diag::out_of_bounds>(
        index.span, fmt::format("index {} is outside an axis of extent {} of {}", *start, *limit, describe(base)))
        .help(fmt::format("the last index is {}", *limit - 1));
  } else {
    error<diag::out_of_bounds>(
        index.span, fmt::format("the slice goes from {} to {}, past the end of an axis of extent {} of {}", *start,
                                *start + *size, *limit, describe(base)));
  }
  return false;
}

Val Elaborator::subview(const Val& base, const IndexPlan& plan, Span span) {
  if (plan.whole) return base;
  std::vector<ir::Value> operands{base.ir};
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> squeeze;
  Val view = base;
  view.type.shape.clear();
  bool seen_extent = false;  // an axis with more than one element: all behind it must be whole
  for (std::size_t i = 0; i < plan.axes.size(); ++i) {
    const AxisIndex& index = plan.axes[i];
    const ir::Value start = index_value(index.start, index.span, "an index");
    if (!start.valid()) return Val::poison();
    operands.push_back(start);
    const std::int64_t size = lower(index.size);
    if (seen_extent && equal(index.size, base.type.shape[i]) != Truth::yes) view.contiguous = false;
    seen_extent = seen_extent || size != 1;
    sizes.push_back(size);
    if (index.squeeze) {
      squeeze.push_back(static_cast<std::int64_t>(i));
    } else {
      view.type.shape.push_back(index.size);
    }
  }
  ir::Attrs attrs;
  attrs.set(ir::Attr::sizes, sizes);
  attrs.set(ir::Attr::squeeze, squeeze);
  view.ir = emit(ir::Op::subview, span, std::move(operands), lower(view.type), std::move(attrs));
  return view;
}

Val Elaborator::slice_tile(const Val& base, const IndexPlan& plan, Span span) {
  if (base.poisoned() || plan.whole) return base;
  std::vector<std::int64_t> starts;
  SymShape sliced;
  SymShape kept;
  for (const AxisIndex& index : plan.axes) {
    if (!index.start.is(Val::Kind::integer)) {
      error<diag::not_static>(index.span, "an index into a value")
          .note("a value lies in registers, which cannot be addressed at run time")
          .help("keep the data in shared memory, or select with a mask and a reduction");
      return Val::poison();
    }
    if (!require_static({index.start.sym}, index.span, "an index into a value")) return Val::poison();
    starts.push_back(index.start.constant().value_or(0));
    sliced.push_back(index.size);
    if (!index.squeeze) kept.push_back(index.size);
  }
  ir::Attrs attrs;
  attrs.set(ir::Attr::starts, starts);
  const SemType type = SemType::tile(base.type.dtype, sliced);
  const Val part = Val::value(emit(ir::Op::extract_slice, span, {base.ir}, lower(type), std::move(attrs)), type);
  if (kept.empty()) return only_element(part, span);
  return reshape_tile(part, std::move(kept), span);
}

// The scalar of a tile with one element: a reduction hands it on unchanged, also NaN and signed zeros.
Val Elaborator::only_element(const Val& tile, Span span) {
  Val v = tile;
  while (v.is_tile())
    v = reduce(v.type.dtype == ir::Dtype::boolean ? ir::Op::reduce_any : ir::Op::reduce_max, v, 0, span);
  return v;
}

Val Elaborator::reshape_tile(const Val& tile, SymShape shape, Span span) {
  if (tile.type.shape == shape) return tile;
  const SemType type = SemType::tile(tile.type.dtype, std::move(shape));
  return Val::value(emit(ir::Op::reshape, span, {tile.ir}, lower(type)), type);
}

Val Elaborator::insert_axes(const Val& tile, const std::vector<std::int64_t>& new_axes, Span span) {
  if (tile.poisoned() || new_axes.empty()) return tile;
  SymShape shape = tile.type.shape;
  for (const std::int64_t axis : new_axes) shape.insert(shape.begin() + axis, Sym(1));
  if (tile.is_scalar()) {
    const SemType type = SemType::tile(tile.type.dtype, std::move(shape));
    return Val::value(emit(ir::Op::splat, span, {tile.ir}, lower(type)), type);
  }
  return reshape_tile(tile, std::move(shape), span);
}

Val Elaborator::reshape_ref(const Val& base, const ast::IndexExpr& node, Span span) {
  if (!base.is(Val::Kind::ref)) {
    error<diag::not_memory>(span, fmt::format("`.reshape[…]` is a view of memory; {} is no memory", describe(base)))
        .help("reshape a value with `reshape(x, [8, 16])`");
    return Val::poison();
  }
  Val view = base;
  view.type.shape.clear();
  Sym elements(1);
  for (const ast::Index& index : node.indices) {
    if (index.kind != ast::Index::Kind::single) {
      error<diag::bad_index>(index.span, "`.reshape[…]` takes extents");
      return Val::poison();
    }
    const auto extent = static_int(value_expr(index.first), index.span, "an extent");
    if (!extent) return Val::poison();
    view.type.shape.push_back(*extent);
    elements = elements * *extent;
  }
  Sym had(1);
  for (const Sym& s : base.type.shape) had = had * s;
  if (equal(had, elements) == Truth::no) {
    error<diag::shape_mismatch>(span,
                                fmt::format("{} has {} elements, the shape {} has {}", describe(base), syms_.print(had),
                                            shape_text(view.type.shape), syms_.print(elements)));
    return Val::poison();
  }
  if (!base.contiguous) {
    error<diag::bad_argument>(
        span,
        fmt::format("this part of {} cannot be reshaped: its elements do not lie one after the other", describe(base)))
        .help("load it and use `reshape(x, […])`");
    return Val::poison();
  }
  if (base.transposed) {
    error<diag::bad_argument>(span, "a transposed view cannot be reshaped: its elements do not lie in order")
        .help("reshape first, or load it and use `reshape(x, […])`");
    return Val::poison();
  }
  view.ir = emit(ir::Op::ref_reshape, span, {base.ir}, lower(view.type));
  return view;
}

}  // namespace pk::sema
