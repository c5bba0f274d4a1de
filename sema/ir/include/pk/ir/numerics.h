#pragma once
// The one table of numeric semantics (docs/language.md, "Numbers"): storage types and conversions (float_formats.h),
// what each elementwise operation computes (elementwise.h), and here the same on single values whose type is known at
// run time. Used by constant folding in sema and the IR passes, by the interpreter, and by host arrays of test items.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pk/ir/dtype.h"
#include "pk/ir/elementwise.h"
#include "pk/ir/float_formats.h"

namespace pk::ir {

/// One value of an element type: its bits, in the low bytes; the other bytes are zero.
struct Scalar {
  Dtype dtype = Dtype::i32;
  std::uint64_t bits = 0;

  /// From an integer: wraps to an integer type, rounds once to a float, `!= 0` for bool.
  [[nodiscard]] static Scalar of_int(Dtype dtype, std::int64_t value);
  /// From a float: rounds once, or truncates and saturates to an integer.
  [[nodiscard]] static Scalar of_double(Dtype dtype, double value);
  /// From memory: `byte_size(dtype)` bytes.
  [[nodiscard]] static Scalar load(Dtype dtype, const std::byte* from);
  void store(std::byte* to) const;

  /// Integers, sign-extended (u64: the same bits); bools 0 or 1; floats truncated.
  [[nodiscard]] std::int64_t as_int() const;
  /// Floats exactly; integers rounded to f64.
  [[nodiscard]] double as_double() const;
  [[nodiscard]] bool as_bool() const { return as_int() != 0; }

  template <class T>
  [[nodiscard]] T get() const;
  template <class T>
  [[nodiscard]] static Scalar make(Dtype dtype, T value);

  friend bool operator==(const Scalar&, const Scalar&) = default;  ///< of the bits
};

/// `x as to`.
[[nodiscard]] Scalar convert(Scalar x, Dtype to);
/// `bitcast(to, x)`; the widths must be equal (PK_CHECK).
[[nodiscard]] Scalar bitcast(Scalar x, Dtype to);

/// The result of an elementwise operation (all but cast and bitcast, which need a target type). Nothing when it fails
/// (`error` says why) or when the operands do not fit the operation's row in the table (`error` is none).
[[nodiscard]] std::optional<Scalar> evaluate(Op op, std::span<const Scalar> operands, NumError& error);
/// "division by zero" or "overflow of a division"
[[nodiscard]] std::string_view describe(NumError error);

/// Smallest and largest value: the identities of max and min. Floats: the infinities, but for the 8-bit formats the
/// largest finite values, since nothing converts to an infinity of theirs.
[[nodiscard]] Scalar lowest(Dtype dtype);
[[nodiscard]] Scalar highest(Dtype dtype);

/// For messages: `true`, `-3`, `0.1`, `nan`, `-inf`; a float gets the fewest digits that give the same value again.
[[nodiscard]] std::string format(Scalar x);
/// Reads what `format` writes (and any decimal number), rounding once. Nothing when the text is not a value of the
/// type.
[[nodiscard]] std::optional<Scalar> parse_scalar(Dtype dtype, std::string_view text);

template <class T>
T Scalar::get() const {
  if constexpr (sizeof(T) == 8) {
    return std::bit_cast<T>(bits);
  } else if constexpr (sizeof(T) == 4) {
    return std::bit_cast<T>(static_cast<std::uint32_t>(bits));
  } else if constexpr (sizeof(T) == 2) {
    return std::bit_cast<T>(static_cast<std::uint16_t>(bits));
  } else {
    return std::bit_cast<T>(static_cast<std::uint8_t>(bits));
  }
}

template <class T>
Scalar Scalar::make(Dtype dtype, T value) {
  if constexpr (sizeof(T) == 8) {
    return {dtype, std::bit_cast<std::uint64_t>(value)};
  } else if constexpr (sizeof(T) == 4) {
    return {dtype, std::bit_cast<std::uint32_t>(value)};
  } else if constexpr (sizeof(T) == 2) {
    return {dtype, std::bit_cast<std::uint16_t>(value)};
  } else {
    return {dtype, std::bit_cast<std::uint8_t>(value)};
  }
}

}  // namespace pk::ir
