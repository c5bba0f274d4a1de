// Calls that read and write memory: masked accesses, atomics, accumulator loads; and messages, assertions and traps.

#include "builtins.h"
#include "elaborator.h"
#include "pk/ir/ops.h"
#include "suggest.h"

namespace pk::sema {
namespace {

bool is_plain_memory(ir::Space space) {
  return space == ir::Space::gmem || space == ir::Space::smem || space == ir::Space::acc || space == ir::Space::tmem;
}

}  // namespace

Val Elaborator::ref_argument(ast::ExprId id, std::string_view callee, std::string_view what) {
  const Val v = expr(id);
  if (v.poisoned()) return v;
  if (v.is(Val::Kind::ref) && is_plain_memory(v.type.space)) return v;
  auto builder = error<diag::not_memory>(
      span_of(id), fmt::format("{} of `{}` is memory (gmem or smem); this is {}", what, callee, describe(v)));
  const auto* indexed = std::get_if<ast::IndexExpr>(&node_of(id).node);
  if (indexed != nullptr && !indexed->at) builder.help("`r[…]` loads; write `r.at[…]` for a part of the memory itself");
  return Val::poison();
}

// A mask broadcasts to the ref's shape, as operands of an operator do.
Val Elaborator::mask_argument(ast::ExprId id, const SymShape& shape, bool is_scalar) {
  const Val given = value_expr(id);
  const Val mask = adapt(given, ir::Dtype::boolean, span_of(id));
  if (mask.poisoned() || is_scalar) {
    if (!mask.is_tile()) return mask;
    error<diag::shape_mismatch>(
        span_of(id), fmt::format("the mask of one element is one `bool`; this is `{}`", type_text(mask.type)));
    return Val::poison();
  }
  const SemType type = SemType::tile(ir::Dtype::boolean, shape);
  if (mask.is_scalar()) return Val::value(emit(ir::Op::splat, span_of(id), {mask.ir}, lower(type)), type);
  const auto common = broadcast_shape(mask.type.shape, shape);
  if (!common || equal(*common, shape) == Truth::no) {
    error<diag::shape_mismatch>(span_of(id), fmt::format("the mask has the shape {} and the memory {}",
                                                         shape_text(mask.type.shape), shape_text(shape)));
    return Val::poison();
  }
  return broadcast_to(mask, shape, span_of(id));
}

Val Elaborator::call_load(const ast::Call& node, Span span) {
  const auto args = sort_args(node, {"load", {"ref", "mask", "other"}, 1, {}, false}, span);
  if (!args) return Val::poison();
  const Val ref = ref_argument(args->positional[0], "load", "the first argument");
  if (ref.poisoned()) return ref;
  if (!args->positional[1].valid()) return load(ref, span);
  if (!require_static(ref.type.shape, span_of(args->positional[0]), "a tile")) return Val::poison();
  if (ref.type.space == ir::Space::acc) {
    error<diag::bad_argument>(span, "an accumulator is not loaded under a mask")
        .help("read it with `acc[...]` and use `select`");
    return Val::poison();
  }
  const bool is_scalar = ref.type.shape.empty();
  const Val mask = mask_argument(args->positional[1], ref.type.shape, is_scalar);
  const Val given = args->positional[2].valid() ? value_expr(args->positional[2]) : Val::integer(Sym(0));
  const Span other_span = args->positional[2].valid() ? span_of(args->positional[2]) : span;
  Val other = ref.type.dtype == ir::Dtype::boolean && !args->positional[2].valid() ? Val::boolean(false) : given;
  other = adapt(other, ref.type.dtype, other_span);
  if (mask.poisoned() || other.poisoned()) return Val::poison();
  const SemType type = is_scalar ? SemType::scalar(ref.type.dtype) : SemType::tile(ref.type.dtype, ref.type.shape);
  if (other.is_tile()) {
    const auto common = broadcast_shape(other.type.shape, ref.type.shape);
    if (is_scalar || !common || equal(*common, ref.type.shape) == Truth::no) {
      error<diag::shape_mismatch>(other_span, fmt::format("`other` has the shape {} and the memory {}",
                                                          shape_text(other.type.shape), shape_text(ref.type.shape)));
      return Val::poison();
    }
    other = broadcast_to(other, ref.type.shape, other_span);
  }
  note_read(ref, span);
  return Val::value(emit(ir::Op::load_masked, span, {ref.ir, mask.ir, other.ir}, lower(type)), type);
}

Val Elaborator::call_store(const ast::Call& node, Span span) {
  const auto args = sort_args(node, {"store", {"ref", "value", "mask"}, 2, {}, false}, span);
  if (!args) return Val::poison();
  const Val ref = ref_argument(args->positional[0], "store", "the first argument");
  const Val value = value_expr(args->positional[1]);
  if (ref.poisoned()) return ref;
  const Span value_span = span_of(args->positional[1]);
  if (!args->positional[2].valid()) {
    store(ref, value, span_of(args->positional[0]), value_span);
    return Val::nothing();
  }
  if (ref.type.space == ir::Space::acc) {
    error<diag::bad_argument>(span, "an accumulator is not written under a mask").help("write it with `acc[...] = x`");
    return Val::poison();
  }
  const Val mask = mask_argument(args->positional[2], ref.type.shape, ref.type.shape.empty());
  note_write(ref, span_of(args->positional[0]));
  const Val converted = adapt(value, ref.type.dtype, value_span);
  if (mask.poisoned() || converted.poisoned() ||
      !require_static(ref.type.shape, span_of(args->positional[0]), "a store"))
    return Val::poison();
  if (converted.is_tile() && equal(converted.type.shape, ref.type.shape) == Truth::no) {
    error<diag::shape_mismatch>(value_span, fmt::format("a store takes a tile of the shape {} or a scalar; this is {}",
                                                        shape_text(ref.type.shape), shape_text(converted.type.shape)));
    return Val::poison();
  }
  push(ir::Op::store_masked, span, {ref.ir, converted.ir, mask.ir});
  return Val::nothing();
}

Val Elaborator::call_atomic(std::string_view name, const ast::Call& node, Span span) {
  const std::string_view kind = atomic_kind(name);
  const bool is_cas = kind == "cas";
  Signature signature{name, {"ref", "value"}, 2, {"order", "scope"}, false};
  if (is_cas) signature = {name, {"ref", "compare", "value"}, 3, {"order", "scope"}, false};
  const auto args = sort_args(node, signature, span);
  if (!args) return Val::poison();
  const Val ref = ref_argument(args->positional[0], name, "the first argument");
  if (ref.poisoned()) return ref;
  if (ref.type.space != ir::Space::gmem && ref.type.space != ir::Space::smem) {
    error<diag::bad_atomic>(span, fmt::format("`{}` works on gmem and smem; this is {}", name, describe(ref)));
    return Val::poison();
  }
  const ir::Dtype dtype = ref.type.dtype;
  const bool bitwise = kind == "and" || kind == "or" || kind == "xor";
  if (!check_domain(ir::Op::atomic, dtype, span)) return Val::poison();
  if (bitwise && ir::is_floating(dtype)) {
    error<diag::bad_atomic>(span, fmt::format("`{}` works on integers; this is `{}`", name, ir::spelling(dtype)));
    return Val::poison();
  }
  if (ir::info(dtype).bits < 16 || (ir::info(dtype).bits == 16 && !ir::is_floating(dtype))) {
    error<diag::bad_atomic>(span, fmt::format("the hardware has no atomic operations on `{}`", ir::spelling(dtype)))
        .help("use a type of 32 or 64 bits, or `f16` and `bf16`");
    return Val::poison();
  }
  if (!require_static(ref.type.shape, span_of(args->positional[0]), "an atomic operation")) return Val::poison();
  std::vector<ir::Value> operands{ref.ir};
  for (std::size_t i = 1; i < args->positional.size(); ++i) {
    const Span at = span_of(args->positional[i]);
    Val v = adapt(value_expr(args->positional[i]), dtype, at);
    if (v.poisoned()) return v;
    if (v.is_tile() && equal(v.type.shape, ref.type.shape) == Truth::no) {
      error<diag::shape_mismatch>(at, fmt::format("the memory has the shape {} and the value {}",
                                                  shape_text(ref.type.shape), shape_text(v.type.shape)));
      return Val::poison();
    }
    operands.push_back(v.ir);
  }
  ir::Attrs attrs;
  attrs.set(ir::Attr::kind, std::string(kind));
  for (const auto& [option, attr, words] :
       {std::tuple(std::string_view("order"), ir::Attr::order,
                   std::vector<std::string>{"relaxed", "acquire", "release", "acq_rel"}),
        std::tuple(std::string_view("scope"), ir::Attr::scope,
                   std::vector<std::string>{"block", "cluster", "device", "system"})}) {
    const ast::ExprId id = args->option(option);
    if (!id.valid()) continue;
    const std::string word = option_word(id);
    if (std::find(words.begin(), words.end(), word) == words.end()) {
      error<diag::unknown_option>(span_of(id), fmt::format("`{}` is one of {}", option, quoted_list(words)));
      return Val::poison();
    }
    attrs.set(attr, word);
  }
  // An atomic reads and writes at once: reading an `out` this way is not held against the program, which may have
  // another launch fill it; writing an `in` is.
  note_write(ref, span_of(args->positional[0]));
  const SemType type = ref.type.shape.empty() ? SemType::scalar(dtype) : SemType::tile(dtype, ref.type.shape);
  return Val::value(emit(ir::Op::atomic, span, std::move(operands), lower(type), std::move(attrs)), type);
}

Val Elaborator::call_acc_load(const Val& acc, const ast::Call& node, Span span) {
  const auto args = sort_args(node, {"load", {}, 0, {"wait"}, false}, span);
  if (!args) return Val::poison();
  std::int64_t in_flight = 0;
  if (args->option("wait").valid()) {
    bool unresolved = false;
    const auto given = static_constant(args->option("wait"), "the number of MMAs that may stay in flight", unresolved);
    if (!given && !unresolved) return Val::poison();
    in_flight = given.value_or(0);
    if (in_flight < 0) {
      error<diag::bad_argument>(span_of(args->option("wait")),
                                "the number of MMAs that may stay in flight is not negative");
      return Val::poison();
    }
  }
  const SemType type = SemType::tile(acc.type.dtype, acc.type.shape);
  ir::Attrs attrs;
  attrs.set(ir::Attr::count, in_flight);
  return Val::value(emit(ir::Op::acc_load, span, {acc.ir}, lower(type), std::move(attrs)), type);
}

Val Elaborator::call_print(const ast::Call& node, Span span) {
  std::vector<std::string> texts(1);
  std::vector<ir::Value> operands;
  for (const ast::Arg& arg : node.args) {
    Val v = value_expr(arg.value);
    if (v.poisoned()) return v;
    if (v.is(Val::Kind::text)) {
      texts.back() += texts.back().empty() ? v.text : " " + v.text;
      continue;
    }
    v = fix_type(v, span_of(arg.value));
    if (!v.is(Val::Kind::value)) v = adapt(v, ir::Dtype::f32, span_of(arg.value));
    if (v.poisoned()) return v;
    operands.push_back(v.ir);
    texts.emplace_back();
  }
  ir::Attrs attrs;
  attrs.set(ir::Attr::texts, std::move(texts));
  push(ir::Op::print, span, std::move(operands), std::move(attrs));
  return Val::nothing();
}

Val Elaborator::call_assert(ir::Op op, std::string_view name, const ast::Call& node, Span span) {
  const auto args = sort_args(node, {name, {"condition", "text"}, 1, {}, false}, span);
  if (!args) return Val::poison();
  const Span at = span_of(args->positional[0]);
  const Val given = value_expr(args->positional[0]);
  const Val text = args->positional[1].valid() ? value_expr(args->positional[1]) : Val::nothing();
  if (args->positional[1].valid() && !text.poisoned() && !text.is(Val::Kind::text)) {
    error<diag::bad_argument>(span_of(args->positional[1]), fmt::format("the second argument of `{}` is a text", name));
    return Val::poison();
  }
  const Val condition = adapt(given, ir::Dtype::boolean, at);
  if (condition.poisoned()) return condition;
  ir::Attrs attrs;
  attrs.set(ir::Attr::text, text.is(Val::Kind::text) ? text.text : source_text(at));
  push(op, span, {condition.ir}, std::move(attrs));
  return Val::nothing();
}

Val Elaborator::call_trap(const ast::Call& node, Span span) {
  const auto args = sort_args(node, {"trap", {"text"}, 0, {}, false}, span);
  if (!args) return Val::poison();
  std::string text = "trap";
  if (args->positional[0].valid()) {
    const Val v = value_expr(args->positional[0]);
    if (v.poisoned()) return v;
    if (!v.is(Val::Kind::text)) {
      error<diag::bad_argument>(span_of(args->positional[0]), "the argument of `trap` is a text");
      return Val::poison();
    }
    text = v.text;
  }
  ir::Attrs attrs;
  attrs.set(ir::Attr::text, text);
  push(ir::Op::trap, span, {}, std::move(attrs));
  return Val::nothing();
}

}  // namespace pk::sema
