// Matrix products of the tile kernels against plain loops, for every combination of types and odd sizes.

#include <catch2/catch.hpp>
#include <vector>

#include "pk/interp/tile_kernels.h"

using namespace pk;
using namespace pk::interp::tile;
using ir::Dtype;
using ir::Scalar;

namespace {

struct Case {
  Dtype a, b, acc;
  bool tf32 = false;
};

std::vector<std::byte> small_integers(Dtype t, std::int64_t n, std::int64_t stride) {
  std::vector<std::byte> data(static_cast<std::size_t>(n * ir::byte_size(t)));
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t x = i * stride % 7 - (t == Dtype::u8 ? 0 : 3);
    ir::convert(Scalar::of_int(Dtype::i32, x), t).store(data.data() + i * ir::byte_size(t));
  }
  return data;
}

Scalar element(Dtype t, const std::vector<std::byte>& data, std::int64_t i) {
  return Scalar::load(t, data.data() + i * ir::byte_size(t));
}

void check_product(const Case& types, std::int64_t m, std::int64_t n, std::int64_t k, bool a_turned, bool b_turned) {
  INFO(ir::spelling(types.a) << " " << ir::spelling(types.b) << " " << ir::spelling(types.acc) << " " << m << "x" << n
                             << "x" << k);
  REQUIRE(can_multiply(types.a, types.b, types.acc));
  const std::vector<std::byte> a = small_integers(types.a, m * k, 3), b = small_integers(types.b, k * n, 5);
  std::vector<std::byte> acc = small_integers(types.acc, m * n, 1);
  const std::vector<std::byte> before = acc;
  const std::int64_t wa = ir::byte_size(types.a), wb = ir::byte_size(types.b), wc = ir::byte_size(types.acc);
  const Matrix left = a_turned ? Matrix{types.a, a.data(), wa, m * wa} : Matrix{types.a, a.data(), k * wa, wa};
  const Matrix right = b_turned ? Matrix{types.b, b.data(), wb, k * wb} : Matrix{types.b, b.data(), n * wb, wb};
  multiply_add(types.acc, acc.data(), n * wc, m, n, k, left, right, types.tf32);
  int wrong = 0;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = element(types.acc, before, i * n + j).as_double();
      for (std::int64_t p = 0; p < k; ++p) {
        sum += element(types.a, a, a_turned ? p * m + i : i * k + p).as_double() *
               element(types.b, b, b_turned ? j * k + p : p * n + j).as_double();
      }
      if (element(types.acc, acc, i * n + j).as_double() != sum) ++wrong;
    }
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("products of all types, whole and ragged, straight and transposed", "[mma]") {
  std::vector<Case> cases{{Dtype::i8, Dtype::i8, Dtype::i32},   {Dtype::u8, Dtype::i8, Dtype::i32},
                          {Dtype::i8, Dtype::u8, Dtype::i32},   {Dtype::u8, Dtype::u8, Dtype::i32},
                          {Dtype::f32, Dtype::f32, Dtype::f32}, {Dtype::f32, Dtype::f32, Dtype::f32, true},
                          {Dtype::f64, Dtype::f64, Dtype::f64}, {Dtype::i64, Dtype::i64, Dtype::i64}};
  for (const Dtype narrow : {Dtype::f16, Dtype::bf16, Dtype::f8e4m3, Dtype::f8e5m2}) {
    cases.push_back({narrow, narrow, Dtype::f32});
    cases.push_back({narrow, narrow, Dtype::f16});
  }
  cases.push_back({Dtype::f8e4m3, Dtype::f8e5m2, Dtype::f32});
  for (const Case& c : cases) {
    for (const bool turned : {false, true}) {
      check_product(c, 64, 96, 32, turned, !turned);
      check_product(c, 7, 13, 5, turned, turned);
    }
    check_product(c, 1, 1, 0, false, false);
  }
  CHECK_FALSE(can_multiply(Dtype::f32, Dtype::f16, Dtype::f32));
  CHECK_FALSE(can_multiply(Dtype::i8, Dtype::i8, Dtype::f32));
}

TEST_CASE("integer accumulators wrap", "[mma]") {
  const std::int64_t k = 3;
  const std::vector<std::int8_t> a(3, -128), b(3, -128);
  std::int32_t acc = 2147483647;
  multiply_add(Dtype::i32, reinterpret_cast<std::byte*>(&acc), 4, 1, 1, k,
               {Dtype::i8, reinterpret_cast<const std::byte*>(a.data()), k, 1},
               {Dtype::i8, reinterpret_cast<const std::byte*>(b.data()), 1, 1}, false);
  CHECK(acc == static_cast<std::int32_t>(2147483647U + 3U * 16384U));
}

TEST_CASE("tf32 rounds operands to ten bits of mantissa, to nearest even", "[mma]") {
  const auto product = [](float x, bool tf32) {
    const float one = 1.0F;
    float acc = 0;
    multiply_add(Dtype::f32, reinterpret_cast<std::byte*>(&acc), 4, 1, 1, 1,
                 {Dtype::f32, reinterpret_cast<const std::byte*>(&x), 4, 4},
                 {Dtype::f32, reinterpret_cast<const std::byte*>(&one), 4, 4}, tf32);
    return acc;
  };
  CHECK(product(1 + 0x1p-11F, true) == 1.0F);
  CHECK(product(1 + 0x3p-11F, true) == 1 + 0x1p-9F);
  CHECK(product(1 + 0x1.2p-11F, true) == 1 + 0x1p-10F);
  CHECK(product(1 + 0x1p-11F, false) == 1 + 0x1p-11F);
}

TEST_CASE("products add in order of k, in runs of 16", "[mma]") {
  // 2^24 + 1 - 2^24: the one is lost when the terms are added in order, and kept in any other order.
  const std::vector<float> a{16777216.0F, 1.0F, -16777216.0F}, b{1.0F, 1.0F, 1.0F};
  float acc = 0;
  multiply_add(Dtype::f32, reinterpret_cast<std::byte*>(&acc), 4, 1, 1, 3,
               {Dtype::f32, reinterpret_cast<const std::byte*>(a.data()), 12, 4},
               {Dtype::f32, reinterpret_cast<const std::byte*>(b.data()), 4, 4}, false);
  CHECK(acc == 0.0F);
  // The large terms stand in the first run and cancel there; the ones of the second run are added after that.
  std::vector<float> longer(32, 1.0F);
  const std::vector<float> ones(32, 1.0F);
  longer[0] = 16777216.0F;
  longer[15] = -16777216.0F;
  multiply_add(Dtype::f32, reinterpret_cast<std::byte*>(&acc), 4, 1, 1, 32,
               {Dtype::f32, reinterpret_cast<const std::byte*>(longer.data()), 128, 4},
               {Dtype::f32, reinterpret_cast<const std::byte*>(ones.data()), 4, 4}, false);
  CHECK(acc == 16.0F);
}
