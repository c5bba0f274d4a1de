// Expectations of test items.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host_eval.h"

namespace pk::runtime {
namespace {

/// Equal by value: two NaNs are equal, so are the two zeros.
bool same_value(ir::Scalar a, ir::Scalar b) {
  if (a.bits == b.bits) return true;
  if (!ir::is_floating(a.dtype)) return a.dtype == ir::Dtype::boolean && a.as_bool() == b.as_bool();
  const double x = a.as_double(), y = b.as_double();
  return x == y || (std::isnan(x) && std::isnan(y));
}

/// The tolerance near 0 when a test gives none: elements that cancel to almost nothing carry the rounding errors of
/// their terms, which have the size of the other elements.
double default_atol(const Array& expected, double rtol) {
  constexpr double of_largest = 1e-4;
  double largest = 0;
  const std::size_t bytes = static_cast<std::size_t>(ir::byte_size(expected.dtype));
  for (std::size_t at = 0; at < expected.data.size(); at += bytes) {
    const double x = std::fabs(ir::Scalar::load(expected.dtype, expected.data.data() + at).as_double());
    if (std::isfinite(x)) largest = std::max(largest, x);
  }
  return rtol * of_largest * largest;
}

/// |a - b| <= atol + rtol * |b|; infinities are close to themselves only.
bool close_value(ir::Scalar a, ir::Scalar b, double rtol, double atol) {
  if (same_value(a, b)) return true;
  const double x = a.as_double(), y = b.as_double();
  if (!std::isfinite(x) || !std::isfinite(y)) return false;
  return std::fabs(x - y) <= atol + rtol * std::fabs(y);
}

}  // namespace

std::optional<Value> HostEvaluator::expect_call(bool close, const ast::Call& node, Span span) {
  const std::optional<Arguments> args = close ? match(node, "expect_close", {"a", "b", "rtol", "atol"}, 2, span)
                                              : match(node, "expect_equal", {"a", "b"}, 2, span);
  if (!args) return std::nullopt;
  std::vector<Array> sides;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    std::optional<Array> side = eval_array((*args)[i]);
    if (!side) return std::nullopt;
    sides.push_back(std::move(*side));
  }
  double tolerances[2] = {0, 0};
  for (std::size_t i = 2; i < args->size(); ++i) {
    if (!(*args)[i].valid()) continue;
    const std::optional<double> tolerance = eval_real((*args)[i], i == 2 ? "`rtol`" : "`atol`");
    if (!tolerance) return std::nullopt;
    tolerances[i - 2] = *tolerance;
  }
  if (const std::optional<Error> error = unify(sides)) {
    report(*error, span);
    return std::nullopt;
  }
  if (sides[0].shape != sides[1].shape) {
    report<diag::shape_mismatch>(
        span, fmt::format("`{}` and `{}` have different shapes", type_text(sides[0]), type_text(sides[1])));
    return std::nullopt;
  }
  if (close && !(*args)[3].valid()) tolerances[1] = default_atol(sides[1], tolerances[0]);
  compare(sides[0], sides[1], close ? std::optional(tolerances[0]) : std::nullopt, tolerances[1], span);
  return Value();
}

void HostEvaluator::compare(const Array& got, const Array& expected, std::optional<double> rtol, double atol,
                            Span span) {
  constexpr std::size_t shown = 8;
  Mismatch mismatch;
  mismatch.total = got.size();
  const std::size_t bytes = static_cast<std::size_t>(ir::byte_size(got.dtype));
  for (std::int64_t i = 0; i < mismatch.total; ++i) {
    const ir::Scalar a = ir::Scalar::load(got.dtype, got.data.data() + static_cast<std::size_t>(i) * bytes);
    const ir::Scalar b = ir::Scalar::load(got.dtype, expected.data.data() + static_cast<std::size_t>(i) * bytes);
    if (rtol ? close_value(a, b, *rtol, atol) : same_value(a, b)) continue;
    ++mismatch.count;
    if (mismatch.first.size() == shown) continue;
    std::vector<std::int64_t> index(got.shape.size());
    std::int64_t rest = i;
    for (std::size_t axis = index.size(); axis-- > 0; rest /= got.shape[axis]) index[axis] = rest % got.shape[axis];
    mismatch.first.push_back({std::move(index), ir::format(a), ir::format(b)});
  }
  if (mismatch.count == 0) return;
  mismatch.what = rtol ? fmt::format("expect_close (rtol {}, atol {})", *rtol, atol) : "expect_equal";
  result_.mismatch = std::move(mismatch);
  result_.mismatch_span = span;
}

Flow HostEvaluator::expect_error(const ast::ExpectError& node, Span span) {
  const std::optional<Value> wanted = eval(node.code);
  if (!wanted) return Flow::stop;
  if (wanted->text() == nullptr) {
    report<diag::bad_argument>(span_of(node.code),
                               "a code such as \"PK0907\" or a class such as \"launch\" is expected here");
    return Flow::stop;
  }
  Diagnostics inside;
  Diagnostics* const outside = diags_;
  diags_ = &inside;
  const Flow flow = run(node.block);
  diags_ = outside;
  if (result_.mismatch || !result_.skip_reason.empty()) return Flow::stop;
  std::vector<Diagnostic> found = inside.take();
  const auto matches = [&](const Diagnostic& d) {
    return code_name(d.code) == *wanted->text() || d.run_class == *wanted->text();
  };
  if (std::ranges::any_of(found, matches)) return Flow::next;
  const auto is_error = [](const Diagnostic& d) { return d.severity == Severity::error; };
  if (!std::ranges::any_of(found, is_error)) {
    report<diag::expected_error>(span, *wanted->text(), "none happened");
    return flow == Flow::next ? Flow::stop : flow;
  }
  report<diag::expected_error>(span, *wanted->text(), "another one happened");
  for (Diagnostic& d : found) diags_->add(std::move(d));
  return Flow::stop;
}

}  // namespace pk::runtime
