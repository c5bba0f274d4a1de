#pragma once
// The storage types of elements, and the conversions between them: the part of the table of numeric semantics that
// says what bits a value has. Included through numerics.h; used by constant folding, the interpreter's tile loops and
// host arrays. Everything here is branch-free where it matters, so that loops over it vectorise.
//
// A conversion to a float rounds to nearest even exactly once, whatever it converts from. f16 and bf16 overflow to
// infinity; the 8-bit formats saturate, infinities included. A NaN becomes the format's canonical NaN (PTX ISA, cvt).

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "pk/ir/dtype.h"

namespace pk::ir {

/// A bool in memory: any non-zero byte counts as true, so that unknown memory is harmless to read.
struct Bool {
  std::uint8_t bits = 0;
  Bool() = default;
  constexpr explicit Bool(bool b) : bits(b ? 1 : 0) {}
  [[nodiscard]] constexpr explicit operator bool() const { return bits != 0; }
};
struct F16 {
  std::uint16_t bits = 0;
};
struct BF16 {
  std::uint16_t bits = 0;
};
struct F8E4M3 {
  std::uint8_t bits = 0;
};
struct F8E5M2 {
  std::uint8_t bits = 0;
};

template <class T>
concept SmallFloat =
    std::same_as<T, F16> || std::same_as<T, BF16> || std::same_as<T, F8E4M3> || std::same_as<T, F8E5M2>;
template <class T>
concept Float = SmallFloat<T> || std::floating_point<T>;
template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;

/// Storage<Dtype::f16>::Type is F16, and so on. `index` is stored as i64 is.
template <Dtype>
struct Storage;
template <>
struct Storage<Dtype::boolean> {
  using Type = Bool;
};
template <>
struct Storage<Dtype::i8> {
  using Type = std::int8_t;
};
template <>
struct Storage<Dtype::i16> {
  using Type = std::int16_t;
};
template <>
struct Storage<Dtype::i32> {
  using Type = std::int32_t;
};
template <>
struct Storage<Dtype::i64> {
  using Type = std::int64_t;
};
template <>
struct Storage<Dtype::u8> {
  using Type = std::uint8_t;
};
template <>
struct Storage<Dtype::u16> {
  using Type = std::uint16_t;
};
template <>
struct Storage<Dtype::u32> {
  using Type = std::uint32_t;
};
template <>
struct Storage<Dtype::u64> {
  using Type = std::uint64_t;
};
template <>
struct Storage<Dtype::f8e4m3> {
  using Type = F8E4M3;
};
template <>
struct Storage<Dtype::f8e5m2> {
  using Type = F8E5M2;
};
template <>
struct Storage<Dtype::f16> {
  using Type = F16;
};
template <>
struct Storage<Dtype::bf16> {
  using Type = BF16;
};
template <>
struct Storage<Dtype::f32> {
  using Type = float;
};
template <>
struct Storage<Dtype::f64> {
  using Type = double;
};
template <>
struct Storage<Dtype::index> {
  using Type = std::int64_t;
};

template <class T>
struct TypeTag {
  using Type = T;
};

/// Calls `f(TypeTag<T>{})` with the storage type of `dtype`.
template <class F>
constexpr decltype(auto) visit_dtype(Dtype dtype, F&& f) {
  switch (dtype) {
#define PK_DTYPE(name, spelling, bits, cls) \
  case Dtype::name:                         \
    return f(TypeTag<Storage<Dtype::name>::Type>{});
#include "pk/ir/dtypes.def"
  }
  return f(TypeTag<std::int64_t>{});  // not reached: the switch is complete
}

namespace detail {

/// Exponent and mantissa widths of a format narrower than f32, and where its finite values end.
template <class T>
struct Format;
template <>
struct Format<F16> {
  using Bits = std::uint16_t;
  static constexpr int exponent = 5, mantissa = 10;
  static constexpr bool saturates = false, has_infinity = true;
  static constexpr float largest = 65504.0F;
  static constexpr Bits nan = 0x7fff;
};
template <>
struct Format<BF16> {
  using Bits = std::uint16_t;
  static constexpr int exponent = 8, mantissa = 7;
  static constexpr bool saturates = false, has_infinity = true;
  static constexpr Bits nan = 0x7fff;
};
template <>
struct Format<F8E4M3> {
  using Bits = std::uint8_t;
  static constexpr int exponent = 4, mantissa = 3;
  static constexpr bool saturates = true, has_infinity = false;
  static constexpr float largest = 448.0F;
  static constexpr Bits nan = 0x7f;
};
template <>
struct Format<F8E5M2> {
  using Bits = std::uint8_t;
  static constexpr int exponent = 5, mantissa = 2;
  static constexpr bool saturates = true, has_infinity = true;
  static constexpr float largest = 57344.0F;
  static constexpr Bits nan = 0x7f;
};

/// 2 to the power of `e`, for exponents of normal f32 values.
constexpr float power_of_two(int e) { return std::bit_cast<float>(static_cast<std::uint32_t>(e + 127) << 23); }

}  // namespace detail

/// The value of a small float, exactly.
[[nodiscard]] constexpr float to_float(BF16 x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
}
template <SmallFloat T>
[[nodiscard]] constexpr float to_float(T x) {
  using F = detail::Format<T>;
  constexpr int width = F::exponent + F::mantissa;
  constexpr std::uint32_t magnitude_mask = (1U << width) - 1;
  const std::uint32_t magnitude = x.bits & magnitude_mask;
  const std::uint32_t sign = static_cast<std::uint32_t>(x.bits >> width) << 31;
  // The fields are moved to f32's places; multiplying corrects the exponent's bias, subnormals included.
  constexpr float rebias = detail::power_of_two(127 - ((1 << (F::exponent - 1)) - 1));
  std::uint32_t bits = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude << (23 - F::mantissa)) * rebias);
  if constexpr (F::has_infinity) {
    constexpr std::uint32_t infinity = ((1U << F::exponent) - 1) << F::mantissa;
    bits = magnitude >= infinity ? (magnitude << (23 - F::mantissa)) | 0x7f800000U : bits;
  } else {
    bits = magnitude == F::nan ? 0x7fc00000U : bits;
  }
  return std::bit_cast<float>(bits | sign);
}

/// Rounds an f32 to a small format, to nearest even.
template <SmallFloat T>
[[nodiscard]] constexpr T from_float(float x) {
  using F = detail::Format<T>;
  using Bits = typename F::Bits;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = (bits >> 31) << (F::exponent + F::mantissa);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  constexpr int drop = 23 - F::mantissa;
  constexpr std::uint32_t half_less_one = (1U << (drop - 1)) - 1;
  std::uint32_t result = 0;
  if constexpr (std::same_as<T, BF16>) {
    result = (magnitude + half_less_one + ((magnitude >> drop) & 1)) >> drop;
  } else {
    constexpr int bias = (1 << (F::exponent - 1)) - 1;
    constexpr std::uint32_t largest = std::bit_cast<std::uint32_t>(F::largest);
    constexpr std::uint32_t smallest_normal = std::bit_cast<std::uint32_t>(detail::power_of_two(1 - bias));
    // Adding a power of two whose last bit weighs as much as the smallest subnormal makes the adder round for us.
    constexpr float shifter = detail::power_of_two(1 - bias - F::mantissa + 23);
    constexpr std::uint32_t infinity = ((1U << F::exponent) - 1) << F::mantissa;
    const std::uint32_t kept = F::saturates && magnitude > largest ? largest : magnitude;
    const std::uint32_t small =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(kept) + shifter) - std::bit_cast<std::uint32_t>(shifter);
    const std::uint32_t normal =
        (kept - (static_cast<std::uint32_t>(127 - bias) << 23) + half_less_one + ((kept >> drop) & 1)) >> drop;
    result = kept < smallest_normal ? small : normal;
    if constexpr (!F::saturates) result = result > infinity ? infinity : result;
  }
  result = magnitude > 0x7f800000U ? F::nan : result;
  T out;
  out.bits = static_cast<Bits>(result | sign);
  return out;
}

namespace detail {

/// Rounds to f32 "to odd": an inexact value gets a set last bit. Rounding that once more, to a format of at most 22
/// bits, gives what rounding the original once would have given.
[[nodiscard]] constexpr float round_to_odd(double x) {
  const float nearest = static_cast<float>(x);
  const double back = static_cast<double>(nearest);
  std::uint32_t bits = std::bit_cast<std::uint32_t>(nearest);
  const double far = back < 0 ? -back : back;
  const double exact = x < 0 ? -x : x;
  bits -= far > exact ? 1U : 0U;
  bits |= back < x || back > x ? 1U : 0U;
  return std::bit_cast<float>(bits);
}
template <Integer T>
[[nodiscard]] constexpr float round_to_odd(T x) {
  if constexpr (sizeof(T) < 8) {
    return round_to_odd(static_cast<double>(x));
  } else {
    const bool negative = std::signed_integral<T> && x < 0;
    const std::uint64_t magnitude = negative ? ~static_cast<std::uint64_t>(x) + 1 : static_cast<std::uint64_t>(x);
    const float nearest = static_cast<float>(magnitude);
    const bool over = nearest >= 18446744073709551616.0F;
    const std::uint64_t back = over ? 0 : static_cast<std::uint64_t>(nearest);
    std::uint32_t bits = std::bit_cast<std::uint32_t>(nearest);
    bits -= over || back > magnitude ? 1U : 0U;
    bits |= over || back != magnitude ? 1U : 0U;
    return negative ? -std::bit_cast<float>(bits) : std::bit_cast<float>(bits);
  }
}

/// a + b rounded to odd in f64. With an exact product as `a` this makes a fused multiply-add of a narrower format.
[[nodiscard]] inline double add_to_odd(double a, double b) {
  const double sum = a + b;
  if (!(std::fabs(sum) <= std::numeric_limits<double>::max())) return sum;
  const double virtual_b = sum - a;
  const double error = (a - (sum - virtual_b)) + (b - virtual_b);
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(sum);
  if (error == 0 || (bits & 1) != 0) return sum;
  // The exact value lies beside an even `sum`: the odd neighbour is on the side of the error.
  const bool away = (error > 0) == (sum > 0);
  return std::bit_cast<double>(away ? bits + 1 : bits - 1);
}

/// Truncates and saturates; NaN gives 0.
template <Integer To, std::floating_point From>
[[nodiscard]] constexpr To truncate_to(From x) {
  using Limits = std::numeric_limits<To>;
  // The lower bound is a power of two or 0, the upper one is a power of two minus one: compare with the power itself.
  constexpr From low = static_cast<From>(Limits::min());
  constexpr From past_high = static_cast<From>(To{1} << (Limits::digits - 1)) * From{2};
  const bool inside = x > low - From{1} || x >= low;
  const bool below_high = x < past_high;
  const From safe = inside && below_high ? x : From{0};
  const To value = static_cast<To>(safe);
  const To saturated = x >= past_high ? Limits::max() : Limits::min();
  return x != x ? To{0} : (inside && below_high ? value : saturated);
}

}  // namespace detail

/// An exact widening of any float to f64.
template <Float T>
[[nodiscard]] constexpr double to_double(T x) {
  if constexpr (SmallFloat<T>) {
    return static_cast<double>(to_float(x));
  } else {
    return static_cast<double>(x);
  }
}

/// `x as To`: the table of conversions.
template <class To, class From>
[[nodiscard]] constexpr To convert_value(From x) {
  if constexpr (std::same_as<To, From>) {
    return x;
  } else if constexpr (std::same_as<From, Bool>) {
    return convert_value<To>(static_cast<std::int32_t>(static_cast<bool>(x)));
  } else if constexpr (std::same_as<To, Bool>) {
    if constexpr (SmallFloat<From>) {
      return Bool(to_float(x) != 0.0F);
    } else {
      return Bool(x != From{});
    }
  } else if constexpr (Integer<To> && Integer<From>) {
    return static_cast<To>(x);
  } else if constexpr (Integer<To> && SmallFloat<From>) {
    return detail::truncate_to<To>(to_float(x));
  } else if constexpr (Integer<To>) {
    return detail::truncate_to<To>(x);
  } else if constexpr (SmallFloat<To> && SmallFloat<From>) {
    return from_float<To>(to_float(x));
  } else if constexpr (SmallFloat<To> && std::same_as<From, float>) {
    return from_float<To>(x);
  } else if constexpr (SmallFloat<To>) {
    return from_float<To>(detail::round_to_odd(x));
  } else if constexpr (SmallFloat<From>) {
    return static_cast<To>(to_float(x));
  } else {
    return static_cast<To>(x);  // to f32 or f64 from an integer or float: the compiler's conversion rounds once
  }
}

}  // namespace pk::ir
