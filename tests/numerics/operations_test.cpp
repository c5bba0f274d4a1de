// Every elementwise operation on scalars: known results, and the rules that people get wrong (wrap-around, signs of
// division, shifts by the width, NaN, signed zeros).

#include <catch2/catch.hpp>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <random>
#include <vector>

#include "pk/ir/numerics.h"
#include "reference.h"

using namespace pk::ir;

namespace {

Scalar f(double x, Dtype t = Dtype::f32) { return Scalar::of_double(t, x); }
Scalar n(std::int64_t x, Dtype t = Dtype::i32) { return Scalar::of_int(t, x); }

/// The result of an operation that must have one.
Scalar eval(Op op, std::initializer_list<Scalar> operands) {
  NumError error = NumError::none;
  const std::optional<Scalar> result = evaluate(op, std::vector<Scalar>(operands), error);
  REQUIRE(result);
  return *result;
}
NumError error_of(Op op, std::initializer_list<Scalar> operands) {
  NumError error = NumError::none;
  CHECK_FALSE(evaluate(op, std::vector<Scalar>(operands), error));
  return error;
}
double real(Op op, std::initializer_list<Scalar> operands) { return eval(op, operands).as_double(); }
std::int64_t whole(Op op, std::initializer_list<Scalar> operands) { return eval(op, operands).as_int(); }

const double nan_value = std::numeric_limits<double>::quiet_NaN();
const double infinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("every elementwise operation evaluates on every type of its domain", "[numerics]") {
  for (std::size_t i = 0; i < op_table.size(); ++i) {
    const Op op = static_cast<Op>(i);
    if (!is_elementwise(op) || info(op).cls == OpClass::conversion) continue;
    for (const DtypeInfo& type : dtype_table) {
      INFO(info(op).name << " on " << type.spelling);
      std::vector<Scalar> operands(static_cast<std::size_t>(info(op).min_operands), Scalar::of_int(type.dtype, 1));
      if (op == Op::select) operands[0] = n(1, Dtype::boolean);
      NumError error = NumError::none;
      const std::optional<Scalar> result = evaluate(op, operands, error);
      CHECK(result.has_value() == in_domain(info(op).domain, type.cls));
      CHECK(error == NumError::none);
      operands.push_back(n(1));
      CHECK_FALSE(evaluate(op, operands, error));
    }
  }
  NumError error = NumError::none;
  CHECK_FALSE(evaluate(Op::add, std::vector<Scalar>{n(1), f(1)}, error));
  CHECK_FALSE(evaluate(Op::load, std::vector<Scalar>{n(1)}, error));
}

TEST_CASE("unary operations", "[numerics]") {
  CHECK(real(Op::neg, {f(2)}) == -2);
  CHECK(whole(Op::neg, {n(-128, Dtype::i8)}) == -128);
  CHECK(whole(Op::neg, {n(1, Dtype::u16)}) == 65535);
  CHECK(whole(Op::logical_not, {n(1, Dtype::boolean)}) == 0);
  CHECK(whole(Op::bit_not, {n(0, Dtype::u8)}) == 255);
  CHECK(whole(Op::abs, {n(std::numeric_limits<std::int32_t>::min())}) == std::numeric_limits<std::int32_t>::min());
  CHECK(whole(Op::sign, {n(-7)}) == -1);
  CHECK(real(Op::sign, {f(3)}) == 1);
  CHECK(std::signbit(real(Op::sign, {f(-0.0)})));
  CHECK(std::isnan(real(Op::sign, {f(nan_value)})));
  CHECK(real(Op::exp, {f(0)}) == 1);
  CHECK(real(Op::exp2, {f(10)}) == 1024);
  CHECK(real(Op::expm1, {f(1e-20)}) == Approx(1e-20));
  CHECK(real(Op::log, {f(1)}) == 0);
  CHECK(real(Op::log2, {f(8)}) == 3);
  CHECK(real(Op::log10, {f(1000)}) == 3);
  CHECK(real(Op::log1p, {f(1e-20)}) == Approx(1e-20));
  CHECK(real(Op::sqrt, {f(2)}) == static_cast<double>(std::sqrt(2.0F)));
  CHECK(real(Op::rsqrt, {f(4)}) == 0.5);
  CHECK(real(Op::sin, {f(0)}) == 0);
  CHECK(real(Op::cos, {f(0)}) == 1);
  CHECK(real(Op::tan, {f(0)}) == 0);
  CHECK(real(Op::tanh, {f(100)}) == 1);
  CHECK(real(Op::erf, {f(100)}) == 1);
  CHECK(real(Op::floor, {f(-1.5)}) == -2);
  CHECK(real(Op::ceil, {f(-1.5)}) == -1);
  CHECK(real(Op::trunc, {f(-1.5)}) == -1);
  CHECK(real(Op::round, {f(2.5)}) == 2);
  CHECK(real(Op::round, {f(3.5)}) == 4);
  CHECK(whole(Op::is_nan, {f(nan_value)}) == 1);
  CHECK(whole(Op::is_inf, {f(-infinity)}) == 1);
  CHECK(whole(Op::is_finite, {f(infinity)}) == 0);
  CHECK(whole(Op::popcount, {n(-1, Dtype::i16)}) == 16);
  CHECK(whole(Op::clz, {n(1, Dtype::u8)}) == 7);
  CHECK(whole(Op::clz, {n(0, Dtype::i64)}) == 64);
}

TEST_CASE("integer arithmetic wraps at its own width", "[numerics]") {
  CHECK(whole(Op::add, {n(200, Dtype::u8), n(100, Dtype::u8)}) == 44);
  CHECK(whole(Op::sub, {n(0, Dtype::u32), n(1, Dtype::u32)}) == 4294967295);
  CHECK(whole(Op::mul, {n(100, Dtype::i8), n(100, Dtype::i8)}) == 16);
  CHECK(whole(Op::mul, {n(65535, Dtype::u16), n(65535, Dtype::u16)}) == 1);
  CHECK(whole(Op::add, {n(std::numeric_limits<std::int64_t>::max(), Dtype::i64), n(1, Dtype::i64)}) ==
        std::numeric_limits<std::int64_t>::min());
}

TEST_CASE("division in all four combinations of signs", "[numerics]") {
  struct Row {
    std::int64_t x, y, div, rem, floordiv, mod, cdiv;
  };
  for (const Row& r : {Row{7, 2, 3, 1, 3, 1, 4}, Row{-7, 2, -3, -1, -4, 1, -3}, Row{7, -2, -3, 1, -4, -1, -3},
                       Row{-7, -2, 3, -1, 3, -1, 4}, Row{6, 3, 2, 0, 2, 0, 2}, Row{-6, 3, -2, 0, -2, 0, -2}}) {
    for (const Dtype t : {Dtype::i8, Dtype::i16, Dtype::i32, Dtype::i64, Dtype::index}) {
      CHECK(whole(Op::div, {n(r.x, t), n(r.y, t)}) == r.div);
      CHECK(whole(Op::rem, {n(r.x, t), n(r.y, t)}) == r.rem);
      CHECK(whole(Op::floordiv, {n(r.x, t), n(r.y, t)}) == r.floordiv);
      CHECK(whole(Op::mod, {n(r.x, t), n(r.y, t)}) == r.mod);
      CHECK(whole(Op::cdiv, {n(r.x, t), n(r.y, t)}) == r.cdiv);
    }
  }
  CHECK(whole(Op::div, {n(2654435761, Dtype::u32), n(524288, Dtype::u32)}) == 5062);
  for (const Op op : {Op::div, Op::rem, Op::floordiv, Op::mod, Op::cdiv}) {
    CHECK(error_of(op, {n(1), n(0)}) == NumError::division_by_zero);
  }
  for (const Op op : {Op::div, Op::floordiv, Op::cdiv}) {
    CHECK(error_of(op, {n(-128, Dtype::i8), n(-1, Dtype::i8)}) == NumError::overflow);
  }
  CHECK(whole(Op::rem, {n(-128, Dtype::i8), n(-1, Dtype::i8)}) == 0);
  CHECK(whole(Op::mod, {n(-128, Dtype::i8), n(-1, Dtype::i8)}) == 0);
  CHECK(real(Op::div, {f(1), f(0)}) == infinity);
  CHECK(std::isnan(real(Op::div, {f(0), f(0)})));
  CHECK(real(Op::rem, {f(-7), f(2)}) == -1);
}

TEST_CASE("shifts count at the width of the type", "[numerics]") {
  CHECK(whole(Op::shl, {n(48, Dtype::u8), n(4, Dtype::u8)}) == 0);
  CHECK(whole(Op::shl, {n(8, Dtype::i8), n(4, Dtype::i8)}) == -128);
  CHECK(whole(Op::shr, {n(-128, Dtype::i8), n(4, Dtype::i8)}) == -8);
  for (const Dtype t : {Dtype::i8, Dtype::u8, Dtype::i16, Dtype::u16, Dtype::i32, Dtype::u32, Dtype::i64, Dtype::u64}) {
    const std::int64_t width = info(t).bits;
    for (const std::int64_t count : {width, width + 1, std::int64_t{100}, std::int64_t{-1}}) {
      INFO(spelling(t) << " by " << count);
      CHECK(whole(Op::shl, {n(1, t), n(count, t)}) == 0);
      CHECK(whole(Op::shr, {n(1, t), n(count, t)}) == 0);
      const bool is_signed_type = is_signed(t);
      CHECK(whole(Op::shr, {n(-1, t), n(count, t)}) == (is_signed_type ? -1 : 0));
    }
    CHECK(whole(Op::shl, {n(1, t), n(width - 1, t)}) ==
          n(static_cast<std::int64_t>(std::uint64_t{1} << (width - 1)), t).as_int());
  }
}

TEST_CASE("minimum, maximum and comparisons with NaN and signed zeros", "[numerics]") {
  for (const Dtype t : {Dtype::f8e4m3, Dtype::f8e5m2, Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64}) {
    const Scalar hole = f(nan_value, t), one = f(1, t), two = f(2, t), zero = f(0, t), minus_zero = f(-0.0, t);
    for (const Op op : {Op::min, Op::max}) {
      CHECK(std::isnan(real(op, {hole, one})));
      CHECK(std::isnan(real(op, {one, hole})));
    }
    for (const Op op : {Op::fmin, Op::fmax}) {
      CHECK(real(op, {hole, one}) == 1);
      CHECK(real(op, {one, hole}) == 1);
      CHECK(std::isnan(real(op, {hole, hole})));
    }
    CHECK(real(Op::min, {one, two}) == 1);
    CHECK(real(Op::max, {one, two}) == 2);
    CHECK(std::signbit(real(Op::min, {zero, minus_zero})));
    CHECK(std::signbit(real(Op::min, {minus_zero, zero})));
    CHECK_FALSE(std::signbit(real(Op::max, {zero, minus_zero})));
    CHECK_FALSE(std::signbit(real(Op::max, {minus_zero, zero})));
    CHECK(std::isnan(real(Op::clamp, {hole, one, two})));
    CHECK(real(Op::clamp, {f(5, t), one, two}) == 2);
    for (const Op op : {Op::eq, Op::lt, Op::le, Op::gt, Op::ge}) CHECK(whole(op, {hole, one}) == 0);
    CHECK(whole(Op::ne, {hole, hole}) == 1);
    CHECK(whole(Op::eq, {zero, minus_zero}) == 1);
  }
  CHECK(whole(Op::min, {n(-1), n(1)}) == -1);
  CHECK(whole(Op::max, {n(-1, Dtype::u8), n(1, Dtype::u8)}) == 255);
  CHECK(whole(Op::lt, {n(-1), n(1)}) == 1);
  CHECK(whole(Op::lt, {n(-1, Dtype::u32), n(1, Dtype::u32)}) == 0);
  CHECK(whole(Op::gt, {n(2), n(1)}) == 1);
  CHECK(whole(Op::le, {n(1), n(1)}) == 1);
  CHECK(whole(Op::ge, {n(0), n(1)}) == 0);
  CHECK(whole(Op::eq, {n(1, Dtype::boolean), n(1, Dtype::boolean)}) == 1);
}

TEST_CASE("bits, selection and the remaining functions", "[numerics]") {
  CHECK(whole(Op::bit_and, {n(12), n(10)}) == 8);
  CHECK(whole(Op::bit_or, {n(12), n(10)}) == 14);
  CHECK(whole(Op::bit_xor, {n(12), n(10)}) == 6);
  CHECK(whole(Op::bit_and, {n(1, Dtype::boolean), n(0, Dtype::boolean)}) == 0);
  CHECK(whole(Op::bit_or, {n(1, Dtype::boolean), n(0, Dtype::boolean)}) == 1);
  CHECK(whole(Op::bit_xor, {n(1, Dtype::boolean), n(1, Dtype::boolean)}) == 0);
  CHECK(whole(Op::select, {n(1, Dtype::boolean), n(3), n(4)}) == 3);
  CHECK(whole(Op::select, {n(0, Dtype::boolean), n(3), n(4)}) == 4);
  CHECK(real(Op::pow, {f(2), f(10)}) == 1024);
  CHECK(real(Op::atan2, {f(0), f(1)}) == 0);
  CHECK(real(Op::copysign, {f(3), f(-0.0)}) == -3);
  // 1 + 2^-12 squared is 1 + 2^-11 + 2^-24: the last term survives only in a fused operation.
  const Scalar x = f(1 + 0x1p-12);
  CHECK(real(Op::fma, {x, x, f(-1)}) == 0x1p-11 + 0x1p-24);
}

TEST_CASE("arithmetic of small floats is correctly rounded", "[numerics]") {
  std::mt19937 random(7);
  int wrong = 0;
  for (int i = 0; i < 200000; ++i) {
    const std::uint32_t bits = static_cast<std::uint32_t>(random());
    const F16 a{static_cast<std::uint16_t>(bits)}, b{static_cast<std::uint16_t>(bits >> 16)};
    const F16 c{static_cast<std::uint16_t>(random())};
    const long double x = static_cast<long double>(to_float(a)), y = static_cast<long double>(to_float(b)),
                      z = static_cast<long double>(to_float(c));
    if (!std::isfinite(x) || !std::isfinite(y) || !std::isfinite(z)) continue;
    const auto expect = [&](F16 got, long double exact) {
      if (exact != 0 && got.bits != pk::test::f16_model.round(exact)) ++wrong;
    };
    expect(apply<Op::add>(a, b), x + y);
    expect(apply<Op::sub>(a, b), x - y);
    expect(apply<Op::mul>(a, b), x * y);
    if (y != 0) expect(apply<Op::div>(a, b), x / y);
    if (x > 0) expect(apply<Op::sqrt>(a), std::sqrt(x));
    // The product has 22 bits; 64 bits hold its sum with any f16 whose exponent is not too far away.
    if (std::fabs(x * y) < 0x1p20L && std::fabs(z) > 0x1p-20L) expect(apply<Op::fma>(a, b, c), x * y + z);
  }
  CHECK(wrong == 0);
}
