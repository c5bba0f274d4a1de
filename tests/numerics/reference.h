#pragma once
// A slow and independent model of small floats: all values of a format in order, and rounding by searching among them.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace pk::test {

struct FormatModel {
  int exponent_bits, mantissa_bits;
  bool has_infinity;  ///< else the top exponent holds values, and only the last code is a NaN
  bool saturates;

  [[nodiscard]] int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  [[nodiscard]] std::uint32_t codes() const { return 1U << (exponent_bits + mantissa_bits); }
  [[nodiscard]] std::uint32_t sign_bit() const { return codes(); }
  [[nodiscard]] std::uint32_t first_special() const {
    return has_infinity ? codes() - (1U << mantissa_bits) : codes() - 1;
  }

  /// The value of a code without its sign; codes from `first_special` on are not numbers.
  [[nodiscard]] double value(std::uint32_t code) const {
    const int exponent = static_cast<int>(code >> mantissa_bits);
    const double fraction = static_cast<double>(code & ((1U << mantissa_bits) - 1));
    const double one = std::ldexp(1.0, mantissa_bits);
    if (exponent == 0) return std::ldexp(fraction / one, 1 - bias());
    return std::ldexp(1.0 + fraction / one, exponent - bias());
  }

  /// The code of `x` (not a NaN) rounded to nearest even, found by bisection over the values.
  [[nodiscard]] std::uint32_t round(long double x) const {
    const std::uint32_t sign = std::signbit(x) ? sign_bit() : 0;
    const long double magnitude = std::fabs(x);
    const std::uint32_t largest = first_special() - 1;
    if (magnitude >= static_cast<long double>(value(largest))) {
      if (saturates) return sign | largest;
      const long double step = static_cast<long double>(value(largest)) - static_cast<long double>(value(largest - 1));
      // Half a step over the largest value is where the next one, infinity, begins (it has an even code).
      return sign | (magnitude >= static_cast<long double>(value(largest)) + step / 2 ? first_special() : largest);
    }
    std::uint32_t low = 0, high = largest;
    while (high - low > 1) {
      const std::uint32_t middle = (low + high) / 2;
      (static_cast<long double>(value(middle)) <= magnitude ? low : high) = middle;
    }
    const long double below = magnitude - static_cast<long double>(value(low));
    const long double above = static_cast<long double>(value(high)) - magnitude;
    if (below == above) return sign | (low % 2 == 0 ? low : high);
    return sign | (below < above ? low : high);
  }
};

inline constexpr FormatModel f16_model{5, 10, true, false};
inline constexpr FormatModel bf16_model{8, 7, true, false};
inline constexpr FormatModel e4m3_model{4, 3, false, true};
inline constexpr FormatModel e5m2_model{5, 2, true, true};

}  // namespace pk::test
