#pragma once
// What each elementwise operation computes: `apply<op>` on storage types, one definition for constant folding, the
// interpreter's tile loops and host arrays, so that these cannot disagree. Included through numerics.h.
//
// Integers wrap at their own width. Floats narrower than f32 compute + - * / sqrt in f32 and round once, which gives
// the correctly rounded result (f32 has more than twice their bits). Functions such as exp are computed in f64 and
// rounded once; in f64 they are the C library's (below 1 unit in the last place).

#include <algorithm>
#include <bit>
#include <cmath>

#include "pk/ir/float_formats.h"
#include "pk/ir/ops.h"

namespace pk::ir {

/// Why an operation has no result. Only integer division can fail.
enum class NumError : std::uint8_t { none, division_by_zero, overflow };

[[nodiscard]] constexpr bool in_domain(Domain domain, DtypeClass cls) {
  switch (domain) {
    case Domain::any:
      return true;
    case Domain::number:
      return cls != DtypeClass::boolean;
    case Domain::integer:
      return cls == DtypeClass::sint || cls == DtypeClass::uint;
    case Domain::floating:
      return cls == DtypeClass::floating;
    case Domain::boolean:
      return cls == DtypeClass::boolean;
    case Domain::bits:
      return cls != DtypeClass::floating;
  }
  return false;
}

template <class T>
inline constexpr DtypeClass class_of = std::same_as<T, Bool>     ? DtypeClass::boolean
                                       : Float<T>                ? DtypeClass::floating
                                       : std::signed_integral<T> ? DtypeClass::sint
                                                                 : DtypeClass::uint;

/// Whether `op` may fail on elements of this class.
[[nodiscard]] constexpr bool can_fail(Op op, DtypeClass cls) {
  const bool divides = op == Op::div || op == Op::rem || op == Op::floordiv || op == Op::mod || op == Op::cdiv;
  return divides && (cls == DtypeClass::sint || cls == DtypeClass::uint);
}

namespace detail {

/// An unsigned type in which arithmetic of T wraps without promotion getting in the way.
template <Integer T>
using Wrap = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <Op op, Integer T>
constexpr T apply_integer(T x) {
  using U = std::make_unsigned_t<T>;
  if constexpr (op == Op::neg) return static_cast<T>(Wrap<T>{0} - static_cast<Wrap<T>>(x));
  if constexpr (op == Op::bit_not) return static_cast<T>(~x);
  if constexpr (op == Op::abs) return x < T{0} ? static_cast<T>(Wrap<T>{0} - static_cast<Wrap<T>>(x)) : x;
  if constexpr (op == Op::sign) return static_cast<T>((x > T{0} ? 1 : 0) - (x < T{0} ? 1 : 0));
  if constexpr (op == Op::popcount) return static_cast<T>(std::popcount(static_cast<U>(x)));
  if constexpr (op == Op::clz) return static_cast<T>(std::countl_zero(static_cast<U>(x)));
}

template <Op op, std::floating_point T>
T apply_float(T x) {
  if constexpr (op == Op::neg) return -x;
  if constexpr (op == Op::abs) return std::fabs(x);
  if constexpr (op == Op::sign) return x > T{0} ? T{1} : (x < T{0} ? T{-1} : x);
  if constexpr (op == Op::sqrt) return std::sqrt(x);
  if constexpr (op == Op::floor) return std::floor(x);
  if constexpr (op == Op::ceil) return std::ceil(x);
  if constexpr (op == Op::trunc) return std::trunc(x);
  if constexpr (op == Op::round) return std::nearbyint(x);
}

/// Functions that are computed in f64 for every narrower type.
template <Op op>
double apply_function(double x) {
  if constexpr (op == Op::exp) return std::exp(x);
  if constexpr (op == Op::exp2) return std::exp2(x);
  if constexpr (op == Op::expm1) return std::expm1(x);
  if constexpr (op == Op::log) return std::log(x);
  if constexpr (op == Op::log2) return std::log2(x);
  if constexpr (op == Op::log10) return std::log10(x);
  if constexpr (op == Op::log1p) return std::log1p(x);
  if constexpr (op == Op::rsqrt) return 1.0 / std::sqrt(x);
  if constexpr (op == Op::sin) return std::sin(x);
  if constexpr (op == Op::cos) return std::cos(x);
  if constexpr (op == Op::tan) return std::tan(x);
  if constexpr (op == Op::tanh) return std::tanh(x);
  if constexpr (op == Op::erf) return std::erf(x);
}
template <Op op>
double apply_function(double x, double y) {
  if constexpr (op == Op::pow) return std::pow(x, y);
  if constexpr (op == Op::atan2) return std::atan2(x, y);
}
constexpr bool is_function(Op op) {
  constexpr Op functions[] = {Op::exp, Op::exp2, Op::expm1, Op::log,  Op::log2, Op::log10, Op::log1p, Op::rsqrt,
                              Op::sin, Op::cos,  Op::tan,   Op::tanh, Op::erf,  Op::pow,   Op::atan2};
  return std::ranges::find(functions, op) != std::end(functions);
}

template <Op op, Integer T>
constexpr T divide(T x, T y) {
  constexpr T lowest = std::numeric_limits<T>::min();
  if (y == T{0}) return T{0};
  if constexpr (std::signed_integral<T>) {
    if (x == lowest && y == T{-1}) return op == Op::rem || op == Op::mod ? T{0} : lowest;
  }
  const T quotient = static_cast<T>(x / y);
  const T remainder = static_cast<T>(x % y);
  const bool inexact = remainder != T{0};
  const bool negative = (x < T{0}) != (y < T{0});
  if constexpr (op == Op::div) return quotient;
  if constexpr (op == Op::rem) return remainder;
  if constexpr (op == Op::floordiv) return static_cast<T>(quotient - T{inexact && negative});
  if constexpr (op == Op::cdiv) return static_cast<T>(quotient + T{inexact && !negative});
  if constexpr (op == Op::mod) return inexact && negative ? static_cast<T>(remainder + y) : remainder;
}

template <Op op, Integer T>
constexpr T apply_integer(T x, T y) {
  using U = std::make_unsigned_t<T>;
  using W = Wrap<T>;
  constexpr unsigned width = sizeof(T) * 8;
  if constexpr (op == Op::add) return static_cast<T>(static_cast<W>(x) + static_cast<W>(y));
  if constexpr (op == Op::sub) return static_cast<T>(static_cast<W>(x) - static_cast<W>(y));
  if constexpr (op == Op::mul) return static_cast<T>(static_cast<W>(x) * static_cast<W>(y));
  if constexpr (can_fail(op, DtypeClass::sint)) return divide<op>(x, y);
  if constexpr (op == Op::min) return y < x ? y : x;
  if constexpr (op == Op::max) return y > x ? y : x;
  if constexpr (op == Op::bit_and) return static_cast<T>(x & y);
  if constexpr (op == Op::bit_or) return static_cast<T>(x | y);
  if constexpr (op == Op::bit_xor) return static_cast<T>(x ^ y);
  if constexpr (op == Op::shl || op == Op::shr) {
    const bool inside = static_cast<U>(y) < width;
    const unsigned count = inside ? static_cast<unsigned>(static_cast<U>(y)) : width - 1;
    if constexpr (op == Op::shl) return inside ? static_cast<T>(static_cast<W>(x) << count) : T{0};
    // Shifting by the width less one leaves only copies of the sign.
    if constexpr (std::signed_integral<T>) return static_cast<T>(x >> count);
    return inside ? static_cast<T>(x >> count) : T{0};
  }
}

template <class T>
using FloatBits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

/// The smaller (larger) of two; -0 counts as smaller than 0, a NaN wins.
template <bool smaller, std::floating_point T>
T extreme(T x, T y) {
  using B = FloatBits<T>;
  const B bx = std::bit_cast<B>(x), by = std::bit_cast<B>(y);
  // Equal operands differ at most in the sign of a zero: combining the bits picks it.
  const T same = std::bit_cast<T>(smaller ? bx | by : bx & by);
  const bool first = smaller ? x < y : x > y;
  const bool second = smaller ? y < x : y > x;
  return first ? x : (second ? y : (x == y ? same : x + y));
}

template <Op op, std::floating_point T>
T apply_float(T x, T y) {
  if constexpr (op == Op::add) return x + y;
  if constexpr (op == Op::sub) return x - y;
  if constexpr (op == Op::mul) return x * y;
  if constexpr (op == Op::div) return x / y;
  if constexpr (op == Op::rem) return std::fmod(x, y);
  if constexpr (op == Op::min) return extreme<true>(x, y);
  if constexpr (op == Op::max) return extreme<false>(x, y);
  if constexpr (op == Op::fmin) return x != x ? y : (y != y ? x : extreme<true>(x, y));
  if constexpr (op == Op::fmax) return x != x ? y : (y != y ? x : extreme<false>(x, y));
  if constexpr (op == Op::copysign) return std::copysign(x, y);
}

/// A type in which comparisons and selections of T are made: small floats compare as f32.
template <class T>
constexpr auto comparable(T x) {
  if constexpr (SmallFloat<T>) {
    return to_float(x);
  } else if constexpr (std::same_as<T, Bool>) {
    return static_cast<bool>(x);
  } else {
    return x;
  }
}

}  // namespace detail

/// Whether the table has `op` as an elementwise operation on elements of this class (conversions apart: they need a
/// target type).
[[nodiscard]] constexpr bool is_computed(Op op, DtypeClass cls) {
  if (!is_elementwise(op) || info(op).cls == OpClass::conversion) return false;
  return in_domain(info(op).domain, cls);
}
/// Whether `apply<op>` exists for operands of type T.
template <Op op, class T>
inline constexpr bool applies = is_computed(op, class_of<T>);

/// Operands of the operations of one class.
template <class T, Op op, OpClass cls>
concept Operand = (is_computed(op, class_of<T>) && info(op).cls == cls);

template <Op op, Operand<op, OpClass::unary> T>
T apply(T x) {
  if constexpr (std::same_as<T, Bool>) {
    return Bool(!static_cast<bool>(x));
  } else if constexpr (Integer<T>) {
    return detail::apply_integer<op>(x);
  } else if constexpr (detail::is_function(op)) {
    return convert_value<T>(detail::apply_function<op>(to_double(x)));
  } else if constexpr (SmallFloat<T>) {
    return from_float<T>(detail::apply_float<op>(to_float(x)));
  } else {
    return detail::apply_float<op>(x);
  }
}

template <Op op, Operand<op, OpClass::predicate> T>
Bool apply(T x) {
  const auto v = detail::comparable(x);
  if constexpr (op == Op::is_nan) return Bool(v != v);
  constexpr auto infinity = std::numeric_limits<decltype(v)>::infinity();
  if constexpr (op == Op::is_inf) return Bool(std::fabs(v) == infinity);
  if constexpr (op == Op::is_finite) return Bool(std::fabs(v) < infinity);
}

template <Op op, Operand<op, OpClass::binary> T>
T apply(T x, T y) {
  if constexpr (std::same_as<T, Bool>) {
    const bool a = static_cast<bool>(x), b = static_cast<bool>(y);
    if constexpr (op == Op::bit_and) return Bool(a && b);
    if constexpr (op == Op::bit_or) return Bool(a || b);
    if constexpr (op == Op::bit_xor) return Bool(a != b);
  } else if constexpr (Integer<T>) {
    return detail::apply_integer<op>(x, y);
  } else if constexpr (detail::is_function(op)) {
    return convert_value<T>(detail::apply_function<op>(to_double(x), to_double(y)));
  } else if constexpr (SmallFloat<T>) {
    return from_float<T>(detail::apply_float<op>(to_float(x), to_float(y)));
  } else {
    return detail::apply_float<op>(x, y);
  }
}

template <Op op, Operand<op, OpClass::comparison> T>
Bool apply(T x, T y) {
  const auto a = detail::comparable(x), b = detail::comparable(y);
  if constexpr (op == Op::eq) return Bool(a == b);
  if constexpr (op == Op::ne) return Bool(a != b);
  if constexpr (op == Op::lt) return Bool(a < b);
  if constexpr (op == Op::le) return Bool(a <= b);
  if constexpr (op == Op::gt) return Bool(a > b);
  if constexpr (op == Op::ge) return Bool(a >= b);
}

/// fma and clamp; `select` is `select_value`, since its condition is a bool.
template <Op op, Operand<op, OpClass::ternary> T>
T apply(T x, T y, T z) {
  if constexpr (op == Op::clamp) {
    return apply<Op::min>(apply<Op::max>(x, y), z);
  } else if constexpr (SmallFloat<T>) {
    return convert_value<T>(detail::add_to_odd(to_double(x) * to_double(y), to_double(z)));
  } else {
    return std::fma(x, y, z);
  }
}

template <class T>
T select_value(Bool condition, T if_true, T if_false) {
  return static_cast<bool>(condition) ? if_true : if_false;
}

/// What is wrong with an integer division; `none` for everything that `can_fail` excludes.
template <Op op, class T>
constexpr NumError check(T x, T y) {
  if constexpr (Integer<T>) {
    if constexpr (can_fail(op, class_of<T>)) {
      if (y == T{0}) return NumError::division_by_zero;
      if constexpr (std::signed_integral<T> && op != Op::rem && op != Op::mod) {
        if (x == std::numeric_limits<T>::min() && y == T{-1}) return NumError::overflow;
      }
    }
  }
  return NumError::none;
}

/// Calls `f` with the operation as a template argument: f(OpTag<Op::add>{}). Rows that are not elementwise are skipped.
template <Op op_>
struct OpTag {
  static constexpr Op op = op_;
};
template <class F>
void visit_elementwise(Op op, F&& f) {
  switch (op) {
#define PK_OP(name, cls_, ...)                                    \
  case Op::name:                                                  \
    if constexpr (is_elementwise(Op::name)) f(OpTag<Op::name>{}); \
    break;
#include "pk/ir/ops.def"
  }
}

}  // namespace pk::ir
