// Conversions between element types against a slow reference: every small float, every midpoint between neighbours, and
// integers around the places where rounding twice would show.

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "pk/ir/numerics.h"
#include "reference.h"

using namespace pk::ir;
using pk::test::FormatModel;

namespace {

template <class T>
struct Model;
template <>
struct Model<F16> {
  static constexpr const FormatModel& format = pk::test::f16_model;
};
template <>
struct Model<BF16> {
  static constexpr const FormatModel& format = pk::test::bf16_model;
};
template <>
struct Model<F8E4M3> {
  static constexpr const FormatModel& format = pk::test::e4m3_model;
};
template <>
struct Model<F8E5M2> {
  static constexpr const FormatModel& format = pk::test::e5m2_model;
};

template <class T>
T of_bits(std::uint32_t bits) {
  T x;
  x.bits = static_cast<decltype(x.bits)>(bits);
  return x;
}

/// Counts disagreements instead of asserting each: some loops run over hundreds of thousands of values.
struct Tally {
  int wrong = 0;
  double first = 0;
  void check(bool same, double at) {
    if (!same && wrong++ == 0) first = at;
  }
};

}  // namespace

TEMPLATE_TEST_CASE("every small float widens exactly and comes back", "[numerics]", F16, BF16, F8E4M3, F8E5M2) {
  const FormatModel& model = Model<TestType>::format;
  Tally widening, back;
  for (std::uint32_t code = 0; code < model.first_special(); ++code) {
    for (const std::uint32_t sign : {0U, model.sign_bit()}) {
      const TestType x = of_bits<TestType>(code | sign);
      const double expected = sign != 0 ? -model.value(code) : model.value(code);
      widening.check(to_double(x) == expected && std::signbit(to_double(x)) == (sign != 0), expected);
      back.check(from_float<TestType>(to_float(x)).bits == x.bits, expected);
      back.check(convert_value<TestType>(to_double(x)).bits == x.bits, expected);
    }
  }
  INFO("first at " << widening.first << " and " << back.first);
  CHECK(widening.wrong == 0);
  CHECK(back.wrong == 0);
}

TEMPLATE_TEST_CASE("values between neighbours round to nearest even, once", "[numerics]", F16, BF16, F8E4M3, F8E5M2) {
  const FormatModel& model = Model<TestType>::format;
  Tally from_double, from_single;
  for (std::uint32_t code = 0; code + 1 < model.first_special(); ++code) {
    const double low = model.value(code), high = model.value(code + 1);
    const double middle = (low + high) / 2;
    // A hair beside the midpoint is where rounding to f32 first would go wrong.
    for (const double x : {middle, std::nextafter(middle, 0.0), std::nextafter(middle, high), low + (high - low) / 4}) {
      for (const double s : {x, -x}) {
        from_double.check(convert_value<TestType>(s).bits == model.round(s), s);
        const float single = static_cast<float>(s);
        from_single.check(from_float<TestType>(single).bits == model.round(single), s);
      }
    }
  }
  INFO("first at " << from_double.first << " and " << from_single.first);
  CHECK(from_double.wrong == 0);
  CHECK(from_single.wrong == 0);
}

TEST_CASE("the ends of the small floats", "[numerics]") {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(convert_value<F16>(65504.0).bits == 0x7bff);
  CHECK(convert_value<F16>(65519.999).bits == 0x7bff);
  CHECK(convert_value<F16>(65520.0).bits == 0x7c00);
  CHECK(convert_value<F16>(-infinity).bits == 0xfc00);
  CHECK(convert_value<BF16>(3.4e38).bits == 0x7f80);
  CHECK(convert_value<BF16>(1e300).bits == 0x7f80);
  CHECK(convert_value<F8E4M3>(infinity).bits == 0x7e);
  CHECK(convert_value<F8E4M3>(-1000.0).bits == 0xfe);
  CHECK(convert_value<F8E4M3>(465.0).bits == 0x7e);
  CHECK(convert_value<F8E5M2>(infinity).bits == 0x7b);
  CHECK(convert_value<F8E5M2>(-1e30).bits == 0xfb);
  CHECK(convert_value<F16>(nan).bits == 0x7fff);
  CHECK(convert_value<BF16>(nan).bits == 0x7fff);
  CHECK(convert_value<F8E4M3>(nan).bits == 0x7f);
  CHECK(convert_value<F8E5M2>(nan).bits == 0x7f);
  CHECK(std::isnan(to_float(F8E4M3{0xff})));
  CHECK(std::isinf(to_float(F8E5M2{0xfc})));
  CHECK(std::isnan(to_float(F16{0x7c01})));
  CHECK(convert_value<BF16>(1e-300).bits == 0);
  CHECK(convert_value<BF16>(-1e-300).bits == 0x8000);
}

TEST_CASE("integers round once to small floats", "[numerics]") {
  Tally f16, bf16, e4m3;
  for (std::int32_t i = -70000; i <= 70000; ++i) {
    f16.check(convert_value<F16>(i).bits == pk::test::f16_model.round(i), i);
    bf16.check(convert_value<BF16>(i).bits == pk::test::bf16_model.round(i), i);
    e4m3.check(convert_value<F8E4M3>(i).bits == pk::test::e4m3_model.round(i), i);
  }
  CHECK(f16.wrong == 0);
  CHECK(bf16.wrong == 0);
  CHECK(e4m3.wrong == 0);
  // In f32 these become a tie first: 2^24 + 2^16 + 1 lies above the middle between two bf16 values.
  CHECK(convert_value<BF16>((std::int32_t{1} << 24) + (std::int32_t{1} << 16) + 1).bits ==
        pk::test::bf16_model.round((1L << 24) + (1L << 16) + 1));
  for (const int shift : {40, 55, 62}) {
    const std::int64_t one = std::int64_t{1} << shift;
    for (const std::int64_t x : {one + (one >> 8) + 1, one + (one >> 8), one + (one >> 8) - 1, -one - (one >> 8) - 1}) {
      CHECK(convert_value<BF16>(x).bits == pk::test::bf16_model.round(static_cast<long double>(x)));
    }
  }
  const std::uint64_t top = std::numeric_limits<std::uint64_t>::max();
  CHECK(to_float(convert_value<BF16>(top)) == 18446744073709551616.0F);
  CHECK(convert_value<float>(std::int64_t{16777217}) == 16777216.0F);
  CHECK(convert_value<float>((std::int64_t{1} << 62) + (std::int64_t{1} << 38) + 1) == 0x1.000002p62F);
}

TEST_CASE("floats to integers truncate and saturate", "[numerics]") {
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(convert_value<std::int32_t>(2.75F) == 2);
  CHECK(convert_value<std::int32_t>(-2.75F) == -2);
  CHECK(convert_value<std::int32_t>(-0.9) == 0);
  CHECK(convert_value<std::int32_t>(std::nanf("")) == 0);
  CHECK(convert_value<std::int32_t>(3e9F) == std::numeric_limits<std::int32_t>::max());
  CHECK(convert_value<std::int32_t>(-infinity) == std::numeric_limits<std::int32_t>::min());
  CHECK(convert_value<std::int8_t>(127.9) == 127);
  CHECK(convert_value<std::int8_t>(128.0) == 127);
  CHECK(convert_value<std::int8_t>(-128.9) == -128);
  CHECK(convert_value<std::int8_t>(-129.0) == -128);
  CHECK(convert_value<std::uint8_t>(-0.5F) == 0);
  CHECK(convert_value<std::uint8_t>(-7.0F) == 0);
  CHECK(convert_value<std::uint8_t>(255.99F) == 255);
  CHECK(convert_value<std::uint8_t>(256.0F) == 255);
  CHECK(convert_value<std::int64_t>(-9223372036854775808.0) == std::numeric_limits<std::int64_t>::min());
  CHECK(convert_value<std::int64_t>(9.3e18F) == std::numeric_limits<std::int64_t>::max());
  CHECK(convert_value<std::uint64_t>(1e30) == std::numeric_limits<std::uint64_t>::max());
  CHECK(convert_value<std::uint32_t>(4294967295.5) == 4294967295U);
  CHECK(convert_value<std::int16_t>(F16{0x7c00}) == 32767);
}

TEST_CASE("integers wrap, bools are 0 and 1", "[numerics]") {
  CHECK(convert_value<std::int8_t>(std::int32_t{200}) == -56);
  CHECK(convert_value<std::uint16_t>(std::int64_t{-1}) == 65535);
  CHECK(convert_value<std::int32_t>(std::uint64_t{0xffffffff00000005U}) == 5);
  CHECK(static_cast<bool>(convert_value<Bool>(std::int32_t{256})));
  CHECK(static_cast<bool>(convert_value<Bool>(0.25F)));
  CHECK(static_cast<bool>(convert_value<Bool>(std::nanf(""))));
  CHECK_FALSE(static_cast<bool>(convert_value<Bool>(-0.0F)));
  CHECK(convert_value<std::uint8_t>(Bool(true)) == 1);
  CHECK(to_float(convert_value<BF16>(Bool(true))) == 1.0F);
  Bool odd;
  odd.bits = 0xa5;  // unknown memory read as a bool
  CHECK(convert_value<std::int32_t>(odd) == 1);
}

TEST_CASE("scalars convert, print and read back", "[numerics]") {
  CHECK(format(Scalar::of_double(Dtype::f32, 0.1)) == "0.1");
  CHECK(format(Scalar::of_double(Dtype::f64, 0.1)) == "0.1");
  CHECK(format(Scalar::of_double(Dtype::f32, 10.0)) == "10");
  CHECK(format(Scalar::of_double(Dtype::f16, 1000.0)) == "1000");
  CHECK(format(Scalar::of_double(Dtype::bf16, 3.14159)) == "3.14");
  CHECK(format(Scalar::of_double(Dtype::f32, -std::numeric_limits<double>::infinity())) == "-inf");
  CHECK(format(Scalar::of_int(Dtype::u64, -1)) == "18446744073709551615");
  CHECK(format(Scalar::of_int(Dtype::i8, 200)) == "-56");
  CHECK(format(Scalar::of_int(Dtype::boolean, 2)) == "true");
  for (const Dtype t : {Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64, Dtype::f8e5m2}) {
    for (const double x : {1.0 / 3, 1e-3, -12345.678, 0.0}) {
      const Scalar s = Scalar::of_double(t, x);
      CHECK(parse_scalar(t, format(s)) == s);
    }
  }
  CHECK_FALSE(parse_scalar(Dtype::i8, "128"));
  CHECK_FALSE(parse_scalar(Dtype::u8, "-1"));
  CHECK_FALSE(parse_scalar(Dtype::i32, "1.5"));
  CHECK_FALSE(parse_scalar(Dtype::f32, "abc"));
  CHECK(convert(Scalar::of_double(Dtype::f64, 300.0), Dtype::u8).as_int() == 255);
  CHECK(bitcast(Scalar::of_double(Dtype::f32, 1.5), Dtype::u32).bits == 0x3fc00000);
  CHECK(lowest(Dtype::f8e5m2).as_double() == -57344.0);
  CHECK(lowest(Dtype::f16).as_double() == -std::numeric_limits<double>::infinity());
  CHECK(highest(Dtype::f8e4m3).as_double() == 448.0);
  CHECK(highest(Dtype::u16).as_int() == 65535);
  CHECK(lowest(Dtype::i64).as_int() == std::numeric_limits<std::int64_t>::min());
}
