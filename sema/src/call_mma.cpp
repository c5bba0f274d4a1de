// Matrix products: what the operands of `wgmma` and `dot` may be (PTX ISA, "Asynchronous warpgroup matrix
// instructions").

#include "elaborator.h"
#include "pk/ir/ops.h"

namespace pk::sema {
namespace {

constexpr std::int64_t rows_of_an_mma = 64;
constexpr std::int64_t most_columns = 256;
constexpr std::int64_t inner_bytes = 32;  // K of one instruction, in bytes of the operand type

bool is_fp8(ir::Dtype t) { return t == ir::Dtype::f8e4m3 || t == ir::Dtype::f8e5m2; }
bool is_byte(ir::Dtype t) { return t == ir::Dtype::i8 || t == ir::Dtype::u8; }

}  // namespace

bool Elaborator::check_mma_types(const Val& acc, const Val& a, const Val& b, bool tf32, const std::vector<Span>& spans,
                                 Span span) {
  const ir::Dtype ta = a.type.dtype;
  const ir::Dtype tb = b.type.dtype;
  const ir::Dtype tc = acc.type.dtype;
  const auto labelled = [&](DiagnosticBuilder builder) {
    builder.label(spans[0], fmt::format("`{}`", ir::spelling(tc)))
        .label(spans[1], fmt::format("`{}`", ir::spelling(ta)))
        .label(spans[2], fmt::format("`{}`", ir::spelling(tb)));
    return builder;
  };
  const bool mixed = (is_fp8(ta) && is_fp8(tb)) || (is_byte(ta) && is_byte(tb));
  if (ta != tb && !mixed) {
    labelled(error<diag::mma_types>(span, fmt::format("the operands of a wgmma have one type; these are `{}` and `{}`",
                                                      ir::spelling(ta), ir::spelling(tb))));
    return false;
  }
  if (ta == ir::Dtype::f32 && !tf32) {
    labelled(
        error<diag::mma_types>(
            span, "wgmma reads `f32` operands as tf32, with 10 bits of mantissa, and only where the program says so"))
        .help("write `wgmma(acc, a, b, precision = tf32)`");
    return false;
  }
  if (tf32 && ta != ir::Dtype::f32) {
    labelled(error<diag::mma_types>(
        span, fmt::format("`precision = tf32` is for `f32` operands; these are `{}`", ir::spelling(ta))));
    return false;
  }
  const bool known = ta == ir::Dtype::f16 || ta == ir::Dtype::bf16 || is_fp8(ta) || is_byte(ta) || ta == ir::Dtype::f32;
  if (!known) {
    labelled(error<diag::mma_types>(span, fmt::format("wgmma takes `f16`, `bf16`, `f8e4m3`, `f8e5m2`, `i8`, `u8` and, "
                                                      "with `precision = tf32`, `f32`; these are `{}`",
                                                      ir::spelling(ta))));
    return false;
  }
  const bool integers = is_byte(ta);
  const bool half_sums = tc == ir::Dtype::f16 && (ta == ir::Dtype::f16 || is_fp8(ta));
  const bool fits = integers ? tc == ir::Dtype::i32 : tc == ir::Dtype::f32 || half_sums;
  if (fits) return true;
  labelled(error<diag::mma_types>(
      span, fmt::format("products of `{}` are summed in {}; the accumulator is `{}`", ir::spelling(ta),
                        integers                             ? "`i32`"
                        : ta == ir::Dtype::f16 || is_fp8(ta) ? "`f32` or `f16`"
                                                             : "`f32`",
                        ir::spelling(tc))));
  return false;
}

bool Elaborator::check_mma_shapes(const Val& acc, const Val& a, const Val& b, const std::vector<Span>& spans,
                                  Span span) {
  const auto refuse = [&](std::string text, std::string help = {}) {
    auto builder = error<diag::mma_shape>(span, text);
    builder.label(spans[0], fmt::format("{}", shape_text(acc.type.shape)))
        .label(spans[1], fmt::format("{}", shape_text(a.type.shape)))
        .label(spans[2], fmt::format("{}", shape_text(b.type.shape)));
    if (!help.empty()) builder.help(help);
    return false;
  };
  if (acc.type.shape.size() != 2 || a.type.shape.size() != 2 || b.type.shape.size() != 2) {
    return refuse("the operands of a wgmma have two axes: acc [M, N], a [M, K], b [K, N]",
                  "index the others: `a_s.at[slot]`");
  }
  const Sym& m = acc.type.shape[0];
  const Sym& n = acc.type.shape[1];
  const Sym& k = a.type.shape[1];
  if (equal(a.type.shape[0], m) == Truth::no)
    return refuse(fmt::format("`a` has {} rows and the accumulator {}", syms_.print(a.type.shape[0]), syms_.print(m)));
  if (equal(b.type.shape[0], k) == Truth::no) {
    return refuse(
        fmt::format("`a` has {} columns and `b` {} rows: both are K", syms_.print(k), syms_.print(b.type.shape[0])),
        equal(b.type.shape[1], k) == Truth::yes ? "pass `b.T` if it is stored as [N, K]" : "");
  }
  if (equal(b.type.shape[1], n) == Truth::no)
    return refuse(
        fmt::format("`b` has {} columns and the accumulator {}", syms_.print(b.type.shape[1]), syms_.print(n)));
  const auto rows = m.constant();
  const auto columns = n.constant();
  const auto inner = k.constant();
  if (rows && (*rows <= 0 || *rows % rows_of_an_mma != 0)) {
    return refuse(fmt::format("an accumulator has a multiple of {} rows; this one has {}", rows_of_an_mma, *rows));
  }
  if (columns && (*columns <= 0 || *columns % 8 != 0 || *columns > most_columns)) {
    return refuse(
        fmt::format("an accumulator has a multiple of 8 columns, at most {}; this one has {}", most_columns, *columns),
        *columns > most_columns ? "work on slices of the accumulator: `acc.at[:, 0:256]`" : "");
  }
  if (columns && is_byte(a.type.dtype) && *columns > 32 && *columns % 16 != 0) {
    return refuse(
        fmt::format("with `{}` operands an accumulator of more than 32 columns has a multiple of 16; this one has {}",
                    ir::spelling(a.type.dtype), *columns));
  }
  const std::int64_t step = inner_bytes / ir::byte_size(a.type.dtype);
  if (inner && (*inner <= 0 || *inner % step != 0)) {
    return refuse(fmt::format("K is a multiple of {} for `{}` operands (32 bytes); this is {}", step,
                              ir::spelling(a.type.dtype), *inner));
  }
  return true;
}

// 16-bit types are read along either axis; all others along K only.
bool Elaborator::check_mma_majors(const Val& a, const Val& b, const std::vector<Span>& spans) {
  const auto either = [](ir::Dtype t) { return ir::info(t).bits == 16; };
  if (a.is(Val::Kind::ref) && a.transposed && !either(a.type.dtype)) {
    error<diag::mma_operand>(
        spans[1],
        fmt::format("`{}` operands are read along K only: `a` has to be stored as [M, K]", ir::spelling(a.type.dtype)))
        .help("store the transpose, and pass it without `.T`");
    return false;
  }
  if (b.is(Val::Kind::ref) && !b.transposed && !either(b.type.dtype)) {
    error<diag::mma_operand>(
        spans[2], fmt::format("`{}` operands are read along K only: `b` has to be stored as [N, K] and passed as `.T`",
                              ir::spelling(b.type.dtype)))
        .help("store the transpose, and pass `b.T`");
    return false;
  }
  return true;
}

Val Elaborator::call_wgmma(const ast::Call& node, Span span) {
  const auto args = sort_args(node, {"wgmma", {"acc", "a", "b"}, 3, {"precision"}, false}, span);
  if (!args) return Val::poison();
  const Val acc = expr(args->positional[0]);
  const Val a = expr(args->positional[1]);
  const Val b = expr(args->positional[2]);
  if (acc.poisoned() || a.poisoned() || b.poisoned()) return Val::poison();
  std::vector<Span> spans;
  for (const ast::ExprId id : args->positional) spans.push_back(span_of(id));
  bool tf32 = false;
  if (const ast::ExprId id = args->option("precision"); id.valid()) {
    if (option_word(id) != "tf32") {
      error<diag::unknown_option>(span_of(id), "`precision` has the one value `tf32`");
      return Val::poison();
    }
    tf32 = true;
  }
  if (!acc.is(Val::Kind::ref) || acc.type.space != ir::Space::acc) {
    error<diag::mma_operand>(spans[0], fmt::format("wgmma adds to an accumulator; this is {}", describe(acc)))
        .help("allocate one: `scoped (acc: acc f32[64, 128]) { … }`");
    return Val::poison();
  }
  const bool a_in_registers = a.is_tile();
  if (!a_in_registers && !(a.is(Val::Kind::ref) && a.type.space == ir::Space::smem)) {
    error<diag::mma_operand>(spans[1],
                             fmt::format("`a` of a wgmma lies in smem or in registers; this is {}", describe(a)))
        .help(a.is(Val::Kind::ref) ? "copy it to shared memory, or load it: `a[...]`"
                                   : "pass a ref to shared memory or a tile");
    return Val::poison();
  }
  if (!(b.is(Val::Kind::ref) && b.type.space == ir::Space::smem)) {
    error<diag::mma_operand>(spans[2], fmt::format("`b` of a wgmma lies in smem; this is {}", describe(b)))
        .help("store it to shared memory first: the hardware takes only `a` from registers");
    return Val::poison();
  }
  if (!check_mma_types(acc, a, b, tf32, spans, span) || !check_mma_shapes(acc, a, b, spans, span) ||
      !check_mma_majors(a, b, spans))
    return Val::poison();
  ir::Attrs attrs;
  if (tf32) attrs.set(ir::Attr::precision, std::string("tf32"));
  push(ir::Op::wgmma, span, {acc.ir, a.ir, b.ir}, std::move(attrs));
  return Val::nothing();
}

Val Elaborator::call_wgmma_wait(const ast::Call& node, Span span) {
  const auto args = sort_args(node, {"wgmma_wait", {"n"}, 1, {}, false}, span);
  if (!args) return Val::poison();
  bool unresolved = false;
  const auto count = static_constant(args->positional[0], "the number of MMAs that may stay in flight", unresolved);
  if (!count && !unresolved) return Val::poison();
  if (count.value_or(0) < 0 || count.value_or(0) > 7) {
    error<diag::bad_argument>(span_of(args->positional[0]),
                              fmt::format("between 0 and 7 MMAs may stay in flight, this is {}", *count));
    return Val::poison();
  }
  ir::Attrs attrs;
  attrs.set(ir::Attr::count, count.value_or(0));
  push(ir::Op::wgmma_wait, span, {}, std::move(attrs));
  return Val::nothing();
}

Val Elaborator::call_dot(const ast::Call& node, Span span) {
  const auto args = sort_args(node, {"dot", {"a", "b", "c"}, 3, {}, false}, span);
  if (!args) return Val::poison();
  std::vector<Val> v;
  std::vector<Span> spans;
  for (const ast::ExprId id : args->positional) {
    v.push_back(value_expr(id));
    spans.push_back(span_of(id));
    if (v.back().poisoned()) return Val::poison();
    if (!v.back().is_tile() || v.back().type.shape.size() != 2) {
      error<diag::mma_operand>(spans.back(),
                               fmt::format("`dot` takes tiles with two axes; this is {}", describe(v.back())));
      return Val::poison();
    }
  }
  const ir::Dtype operand = v[0].type.dtype;
  const bool sixteen = operand == ir::Dtype::f16 || operand == ir::Dtype::bf16;
  const bool bytes = is_byte(operand);
  const bool types_fit = v[1].type.dtype == operand && (sixteen || bytes) &&
                         (bytes ? v[2].type.dtype == ir::Dtype::i32 : v[2].type.dtype == ir::Dtype::f32);
  if (!types_fit) {
    error<diag::mma_types>(
        span, fmt::format("`dot` takes `f16` or `bf16` with an `f32` sum, or `i8` or `u8` with an `i32` sum; these are "
                          "`{}`, `{}` and `{}`",
                          ir::spelling(operand), ir::spelling(v[1].type.dtype), ir::spelling(v[2].type.dtype)));
    return Val::poison();
  }
  const SymShape& a = v[0].type.shape;
  const SymShape& b = v[1].type.shape;
  const SymShape& c = v[2].type.shape;
  if (equal(a[1], b[0]) == Truth::no || equal(a[0], c[0]) == Truth::no || equal(b[1], c[1]) == Truth::no) {
    error<diag::mma_shape>(span, fmt::format("the shapes {}, {} and {} do not fit: a [M, K], b [K, N], c [M, N]",
                                             shape_text(a), shape_text(b), shape_text(c)));
    return Val::poison();
  }
  return Val::value(emit(ir::Op::dot, span, {v[0].ir, v[1].ir, v[2].ir}, lower(v[2].type)), v[2].type);
}

}  // namespace pk::sema
