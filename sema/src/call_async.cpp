// Calls of the copy engine and of barriers, semaphores and `sync`.

#include "elaborator.h"
#include "pk/ir/ops.h"
#include "suggest.h"

namespace pk::sema {

std::optional<std::vector<std::int64_t>> Elaborator::cluster_axes(ast::ExprId id, std::string_view what) {
  std::vector<ast::ExprId> ids{id};
  if (const auto* tuple = std::get_if<ast::Tuple>(&node_of(id).node)) ids = tuple->elements;
  std::vector<std::int64_t> axes;
  for (const ast::ExprId element : ids) {
    const Val axis = expr(element);
    if (axis.poisoned()) return std::nullopt;
    const std::string name = source_text(span_of(element));
    if (!axis.is(Val::Kind::axis)) {
      error<diag::bad_multicast>(
          span_of(element), fmt::format("{} names cluster axes of the mesh; `{}` is {}", what, name, describe(axis)));
      return std::nullopt;
    }
    const bool is_cluster =
        axis.axis >= 0 && kernel_.axes[static_cast<std::size_t>(axis.axis)].kind == ir::MeshAxis::Kind::cluster;
    if (!is_cluster) {
      error<diag::bad_multicast>(span_of(element), fmt::format("{} names cluster axes; `{}` is none", what, name))
          .help(
              "only the blocks of one cluster can share a copy; make the axis a cluster axis, `mesh(…, cluster c: 2)`");
      return std::nullopt;
    }
    if (std::find(axes.begin(), axes.end(), axis.axis) != axes.end()) {
      error<diag::bad_multicast>(span_of(element), fmt::format("`{}` is named twice", name));
      return std::nullopt;
    }
    axes.push_back(axis.axis);
  }
  return axes;
}

// `oob(zero)`, `tma = required` and `partition = k`, common to copies in both directions.
bool Elaborator::copy_attributes(const SortedArgs& args, ir::Attrs& attrs) {
  if (const ast::ExprId id = args.option("oob"); id.valid()) {
    const std::string word = option_word(id);
    if (word != "zero" && word != "nan" && word != "undefined") {
      error<diag::unknown_option>(span_of(id), "`oob` is one of `zero`, `nan` and `undefined`");
      return false;
    }
    attrs.set(ir::Attr::oob, word);
  }
  if (const ast::ExprId id = args.option("tma"); id.valid()) {
    if (option_word(id) != "required") {
      error<diag::unknown_option>(span_of(id), "`tma` has the one value `required`");
      return false;
    }
    attrs.set(ir::Attr::tma_required, true);
  }
  return true;
}

bool Elaborator::check_copy(const Val& source, const Val& target, const ast::Call& node, ast::ExprId source_id,
                            ast::ExprId target_id, ir::Space source_space, Span span,
                            const std::vector<std::int64_t>& multicast, std::int64_t partition) {
  const bool in = source_space == ir::Space::gmem;
  const ir::Space target_space = in ? ir::Space::smem : ir::Space::gmem;
  const std::string_view callee = in ? "copy_gmem_to_smem" : "copy_smem_to_gmem";
  if (source.type.space != source_space || target.type.space != target_space) {
    const bool source_wrong = source.type.space != source_space;
    error<diag::copy_direction>(span,
                                fmt::format("`{}` goes from {} to {}; its {} is {}", callee, ir::spelling(source_space),
                                            ir::spelling(target_space), source_wrong ? "source" : "destination",
                                            describe(source_wrong ? source : target)))
        .help(source.type.space == target_space && target.type.space == source_space
                  ? fmt::format("the other direction is `{}`", in ? "copy_smem_to_gmem" : "copy_gmem_to_smem")
                  : std::string("use loads and stores, `dst[...] = src[...]`, for other copies"));
    return false;
  }
  (void)node;
  const auto both = [&](DiagnosticBuilder builder) {
    builder.label(span_of(source_id), fmt::format("`{}`", type_text(source.type)))
        .label(span_of(target_id), fmt::format("`{}`", type_text(target.type)));
  };
  if (source.type.dtype != target.type.dtype) {
    both(error<diag::copy_mismatch>(
        span, fmt::format("a copy converts nothing: the source has the type `{}` and the destination `{}`",
                          ir::spelling(source.type.dtype), ir::spelling(target.type.dtype))));
    return false;
  }
  if (!require_static(source.type.shape, span_of(source_id), "a copy") ||
      !require_static(target.type.shape, span_of(target_id), "a copy"))
    return false;
  SymShape expected = source.type.shape;
  if (partition >= 0 && static_cast<std::size_t>(partition) < expected.size()) {
    // Block i receives part i of the source.
    Sym blocks(1);
    for (const std::int64_t axis : multicast) blocks = blocks * axis_extents_[static_cast<std::size_t>(axis)];
    Sym& extent = expected[static_cast<std::size_t>(partition)];
    const auto whole = extent.constant();
    const auto count = blocks.constant();
    if (whole && count && *count > 0 && *whole % *count != 0) {
      error<diag::copy_mismatch>(span, fmt::format("the extent {} along dimension {} cannot be divided among {} blocks",
                                                   *whole, partition, *count));
      return false;
    }
    if (!count || *count > 0) extent = syms_.opaque(OpaqueOp::div, extent, blocks);
  }
  if (equal(expected, target.type.shape) == Truth::no) {
    both(error<diag::copy_mismatch>(span, fmt::format("{} has the shape {} and the destination {}",
                                                      partition >= 0 ? "a part of the source" : "the source",
                                                      shape_text(expected), shape_text(target.type.shape))));
    return false;
  }
  return true;
}

Val Elaborator::barrier_argument(ast::ExprId id, std::string_view callee, bool allow_cluster) {
  const Val b = expr(id);
  if (b.poisoned()) return b;
  const bool is_barrier = b.is(Val::Kind::ref) && (b.type.space == ir::Space::barrier ||
                                                   (allow_cluster && b.type.space == ir::Space::cluster_barrier));
  if (!is_barrier) {
    auto builder = error<diag::not_a_barrier>(
        span_of(id), fmt::format("`{}` takes a barrier; this is {}", callee, describe(rvalue(b, span_of(id)))));
    const auto* indexed = std::get_if<ast::IndexExpr>(&node_of(id).node);
    if (indexed != nullptr && !indexed->at) builder.help("write `bars.at[i]` for one barrier of an array");
    return Val::poison();
  }
  if (b.type.shape.empty()) return b;
  error<diag::not_one_barrier>(span_of(id), fmt::format("`{}` takes one barrier, and {} is an array of the shape {}",
                                                        callee, describe(b), shape_text(b.type.shape)))
      .help(
          fmt::format("index it: `{}`", b.type.shape.size() == 1 ? ref_name(b) + ".at[i]" : ref_name(b) + ".at[i, j]"));
  return Val::poison();
}

Val Elaborator::call_copy_in(const ast::Call& node, Span span) {
  constexpr std::string_view callee = "copy_gmem_to_smem";
  const auto args =
      sort_args(node, {callee, {"src", "dst", "barrier"}, 3, {"collective", "partition", "oob", "tma"}, false}, span);
  if (!args) return Val::poison();
  const Val source = ref_argument(args->positional[0], callee, "the source");
  const Val target = ref_argument(args->positional[1], callee, "the destination");
  const Val barrier = barrier_argument(args->positional[2], callee, false);
  ir::Attrs attrs;
  std::vector<std::int64_t> multicast;
  if (const ast::ExprId id = args->option("collective"); id.valid()) {
    const auto axes = cluster_axes(id, "`collective` of a copy");
    if (!axes) return Val::poison();
    multicast = *axes;
    attrs.set(ir::Attr::axes, multicast);
  }
  std::int64_t partition = -1;
  if (const ast::ExprId id = args->option("partition"); id.valid() && !source.poisoned()) {
    const auto axis = axis_argument(id, source.type.shape.size(), "the source");
    if (!axis) return Val::poison();
    if (multicast.empty()) {
      error<diag::bad_multicast>(span_of(id), "`partition` divides a copy that is `collective` over a cluster axis");
      return Val::poison();
    }
    partition = *axis;
    attrs.set(ir::Attr::partition, partition);
  }
  if (!copy_attributes(*args, attrs)) return Val::poison();
  if (source.poisoned() || target.poisoned() || barrier.poisoned()) return Val::poison();
  if (!check_copy(source, target, node, args->positional[0], args->positional[1], ir::Space::gmem, span, multicast,
                  partition))
    return Val::poison();
  note_read(source, span);
  note_write(target, span_of(args->positional[1]));
  push(ir::Op::copy_gmem_to_smem, span, {source.ir, target.ir, barrier.ir}, std::move(attrs));
  return Val::nothing();
}

Val Elaborator::call_copy_out(const ast::Call& node, Span span) {
  constexpr std::string_view callee = "copy_smem_to_gmem";
  const auto args = sort_args(node, {callee, {"src", "dst"}, 2, {"reduce", "commit", "oob", "tma"}, false}, span);
  if (!args) return Val::poison();
  const Val source = ref_argument(args->positional[0], callee, "the source");
  const Val target = ref_argument(args->positional[1], callee, "the destination");
  ir::Attrs attrs;
  if (const ast::ExprId id = args->option("reduce"); id.valid()) {
    const std::string word = option_word(id);
    const std::vector<std::string> words{"add", "min", "max", "and", "or", "xor"};
    if (std::find(words.begin(), words.end(), word) == words.end()) {
      error<diag::bad_reduce>(span_of(id), fmt::format("`reduce` is one of {}", quoted_list(words)));
      return Val::poison();
    }
    if (!source.poisoned() && !target.poisoned()) {
      const ir::Dtype dtype = target.type.dtype;
      const bool bitwise = word == "and" || word == "or" || word == "xor";
      if ((bitwise && !ir::is_integer(dtype)) || dtype == ir::Dtype::boolean) {
        error<diag::bad_reduce>(
            span, fmt::format("`reduce = {}` works on integers; the destination is `{}`", word, ir::spelling(dtype)));
        return Val::poison();
      }
    }
    attrs.set(ir::Attr::reduce, word);
  }
  bool commit = true;
  if (const ast::ExprId id = args->option("commit"); id.valid()) {
    const Val v = value_expr(id);
    if (v.poisoned()) return v;
    if (!v.is(Val::Kind::boolean)) {
      error<diag::unknown_option>(span_of(id), "`commit` is `true` or `false`");
      return Val::poison();
    }
    commit = v.flag;
  }
  attrs.set(ir::Attr::commit, commit);
  if (!copy_attributes(*args, attrs)) return Val::poison();
  if (source.poisoned() || target.poisoned()) return Val::poison();
  if (!check_copy(source, target, node, args->positional[0], args->positional[1], ir::Space::smem, span, {}, -1))
    return Val::poison();
  note_write(target, span_of(args->positional[1]));
  push(ir::Op::copy_smem_to_gmem, span, {source.ir, target.ir}, std::move(attrs));
  return Val::nothing();
}

Val Elaborator::call_async_store(const ast::Call& node, Span span) {
  const auto args = sort_args(node, {"async_store", {"value", "ref", "barrier"}, 3, {}, false}, span);
  if (!args) return Val::poison();
  const Val target = ref_argument(args->positional[1], "async_store", "the destination");
  const Val given = value_expr(args->positional[0]);
  const Val barrier = barrier_argument(args->positional[2], "async_store", false);
  if (target.poisoned() || given.poisoned() || barrier.poisoned()) return Val::poison();
  if (target.type.space != ir::Space::smem) {
    error<diag::copy_direction>(
        span, fmt::format("`async_store` writes shared memory of a peer; this is {}", describe(target)));
    return Val::poison();
  }
  const Val value = adapt(given, target.type.dtype, span_of(args->positional[0]));
  if (value.poisoned()) return value;
  if (value.is_tile() && equal(value.type.shape, target.type.shape) == Truth::no) {
    error<diag::copy_mismatch>(span, fmt::format("the value has the shape {} and the destination {}",
                                                 shape_text(value.type.shape), shape_text(target.type.shape)));
    return Val::poison();
  }
  note_write(target, span_of(args->positional[1]));
  push(ir::Op::async_store, span, {value.ir, target.ir, barrier.ir});
  return Val::nothing();
}

Val Elaborator::call_wait_copies(const ast::Call& node, Span span) {
  const auto args = sort_args(node, {"wait_smem_to_gmem", {"n"}, 1, {"read_only"}, false}, span);
  if (!args) return Val::poison();
  bool unresolved = false;
  const auto count =
      static_constant(args->positional[0], "the number of copy groups that may stay in flight", unresolved);
  if (!count && !unresolved) return Val::poison();
  if (count.value_or(0) < 0) {
    error<diag::bad_argument>(
        span_of(args->positional[0]),
        fmt::format("the number of groups that may stay in flight is not negative, this is {}", *count));
    return Val::poison();
  }
  ir::Attrs attrs;
  attrs.set(ir::Attr::count, count.value_or(0));
  if (const ast::ExprId id = args->option("read_only"); id.valid()) {
    const auto* literal = std::get_if<ast::BoolLiteral>(&node_of(id).node);
    attrs.set(ir::Attr::read_only, literal == nullptr || literal->value);
  }
  push(ir::Op::wait_smem_to_gmem, span, {}, std::move(attrs));
  return Val::nothing();
}

Val Elaborator::call_prefetch(const ast::Call& node, Span span) {
  const auto args = sort_args(node, {"prefetch", {"ref"}, 1, {}, false}, span);
  if (!args) return Val::poison();
  const Val ref = ref_argument(args->positional[0], "prefetch", "the argument");
  if (ref.poisoned()) return ref;
  if (ref.type.space != ir::Space::gmem) {
    error<diag::copy_direction>(span, fmt::format("`prefetch` hints at global memory; this is {}", describe(ref)));
    return Val::poison();
  }
  push(ir::Op::prefetch, span, {ref.ir});
  return Val::nothing();
}

Val Elaborator::call_barrier(ir::Op op, std::string_view name, const ast::Call& node, Span span) {
  const auto args = sort_args(node, {name, {"barrier"}, 1, {}, false}, span);
  if (!args) return Val::poison();
  const Val b = barrier_argument(args->positional[0], name, true);
  if (b.poisoned()) return b;
  if (op == ir::Op::barrier_test) {
    const SemType boolean = SemType::scalar(ir::Dtype::boolean);
    return Val::value(emit(op, span, {b.ir}, lower(boolean)), boolean);
  }
  if (op == ir::Op::barrier_wait) note_wait();
  push(op, span, {b.ir});
  return Val::nothing();
}

Val Elaborator::call_semaphore(ir::Op op, std::string_view name, const ast::Call& node, Span span) {
  Signature signature{name, {"semaphore", "n"}, 2, {}, false};
  if (op == ir::Op::semaphore_read) signature = {name, {"semaphore"}, 1, {}, false};
  if (op == ir::Op::semaphore_wait) signature.options = {"decrement"};
  const auto args = sort_args(node, signature, span);
  if (!args) return Val::poison();
  const Val s = expr(args->positional[0]);
  if (s.poisoned()) return s;
  const Span at = span_of(args->positional[0]);
  if (!s.is(Val::Kind::ref) || s.type.space != ir::Space::semaphore) {
    error<diag::not_a_barrier>(at, fmt::format("`{}` takes a semaphore; this is {}", name, describe(rvalue(s, at))));
    return Val::poison();
  }
  if (!s.type.shape.empty()) {
    error<diag::not_one_barrier>(at, fmt::format("`{}` takes one semaphore, and {} is an array of the shape {}", name,
                                                 describe(s), shape_text(s.type.shape)))
        .help(fmt::format("index it: `{}.at[i]`", ref_name(s)));
    return Val::poison();
  }
  const SemType index = SemType::scalar(ir::Dtype::index);
  if (op == ir::Op::semaphore_read) return Val::value(emit(op, span, {s.ir}, lower(index)), index);
  const Val n = value_expr(args->positional[1]);
  const ir::Value count = index_value(n, span_of(args->positional[1]), "the count of a semaphore");
  if (!count.valid()) return Val::poison();
  ir::Attrs attrs;
  if (op == ir::Op::semaphore_wait) {
    bool decrement = true;
    if (const ast::ExprId id = args->option("decrement"); id.valid()) {
      const Val v = value_expr(id);
      if (v.poisoned()) return v;
      if (!v.is(Val::Kind::boolean)) {
        error<diag::unknown_option>(span_of(id), "`decrement` is `true` or `false`");
        return Val::poison();
      }
      decrement = v.flag;
    }
    attrs.set(ir::Attr::decrement, decrement);
    note_wait();
  }
  push(op, span, {s.ir, count}, std::move(attrs));
  return Val::nothing();
}

Val Elaborator::call_sync(const ast::Call& node, Span span) {
  const auto args = sort_args(node, {"sync", {"axis", "threads"}, 1, {}, false}, span);
  if (!args) return Val::poison();
  const Val axis = expr(args->positional[0]);
  if (axis.poisoned()) return axis;
  const Span at = span_of(args->positional[0]);
  const int wg = kernel_.wg_axis();
  if (!axis.is(Val::Kind::axis) || axis.axis < 0 || axis.axis != wg) {
    auto builder =
        error<diag::bad_argument>(at, fmt::format("`sync` takes the wg axis of the mesh; `{}` is {}", source_text(at),
                                                  axis.is(Val::Kind::axis) ? "another axis" : describe(axis)));
    if (wg < 0) builder.note("this kernel has one thread a block, which needs no barrier");
    if (axis.is(Val::Kind::axis))
      builder.help(
          "blocks of a cluster meet at a `cluster_barrier`, blocks of the grid through a `semaphore … global`");
    return Val::poison();
  }
  ir::Attrs attrs;
  if (args->positional[1].valid()) {
    const auto* set = std::get_if<ast::SetExpr>(&node_of(args->positional[1]).node);
    const Span set_span = span_of(args->positional[1]);
    if (set == nullptr) {
      error<diag::bad_argument>(set_span, "the threads that meet are a set of numbers: `sync(w, {0, 1})`");
      return Val::poison();
    }
    std::vector<std::int64_t> threads;
    for (const ast::ExprId id : set->elements) {
      bool unresolved = false;
      const auto t = static_constant(id, "a thread number", unresolved);
      if (!t) {
        if (!unresolved) return Val::poison();
        threads.push_back(ir::unresolved_extent);
        continue;
      }
      const std::int64_t size = kernel_.thread_count();
      if (*t < 0 || (size > 0 && *t >= size)) {
        error<diag::out_of_bounds>(
            span_of(id), fmt::format("thread {} is outside the axis `{}` of extent {}", *t, source_text(at), size));
        return Val::poison();
      }
      if (std::find(threads.begin(), threads.end(), *t) != threads.end()) {
        error<diag::bad_argument>(span_of(id), fmt::format("thread {} is named twice", *t));
        return Val::poison();
      }
      threads.push_back(*t);
    }
    std::sort(threads.begin(), threads.end());
    attrs.set(ir::Attr::threads, threads);
  }
  note_wait();
  push(ir::Op::sync, span, {}, std::move(attrs));
  return Val::nothing();
}

}  // namespace pk::sema
