// Random arrays: fixed numbers (so that every platform agrees), bounds, and independence of seeds.

#include "pk/runtime/array.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <set>

#include "pk/ir/numerics.h"

using namespace pk;
using ir::Dtype;

namespace {

ir::Scalar element(const runtime::Array& a, std::int64_t i) {
  return ir::Scalar::load(a.dtype, a.data.data() + i * ir::byte_size(a.dtype));
}

}  // namespace

TEST_CASE("random numbers are the documented sequence", "[runtime]") {
  // Written out again from the definition: SplitMix64 whose state starts at the mixed seed.
  const auto mix = [](std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  };
  const std::uint64_t seed = 7;
  std::uint64_t state = mix(seed + 0x9e3779b97f4a7c15U);
  const runtime::Array x = runtime::random_array(Dtype::f64, {2, 50}, seed, -1, 1);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    state += 0x9e3779b97f4a7c15U;
    CHECK(element(x, i).as_double() == -1 + 2 * (static_cast<double>(mix(state) >> 11) * 0x1p-53));
  }
  // And fixed, so that a change of the definition does not pass unseen.
  const runtime::Array y = runtime::random_array(Dtype::f32, {3}, 1, -1, 1);
  CHECK(ir::format(element(y, 0)) == "-0.26362097");
  CHECK(ir::format(element(y, 2)) == "-0.909486");
  const runtime::Array z = runtime::random_array(Dtype::i32, {4}, 1, 0, 9);
  CHECK(element(z, 0).as_int() == 3);
  CHECK(element(z, 3).as_int() == 7);
}

TEST_CASE("random numbers stay inside their bounds and fill them", "[runtime]") {
  const runtime::Array x = runtime::random_array(Dtype::bf16, {10000}, 3, -1, 1);
  double sum = 0;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const double v = element(x, i).as_double();
    REQUIRE(v >= -1);
    REQUIRE(v <= 1);
    sum += v;
  }
  CHECK(std::fabs(sum / 10000) < 0.03);
  std::set<std::int64_t> seen;
  const runtime::Array n = runtime::random_array(Dtype::i8, {2000}, 4, -3, 5);
  for (std::int64_t i = 0; i < n.size(); ++i) seen.insert(element(n, i).as_int());
  CHECK(seen.size() == 9);
  CHECK(*seen.begin() == -3);
  CHECK(*seen.rbegin() == 5);
  const runtime::Array other = runtime::random_array(Dtype::i8, {2000}, 5, -3, 5);
  CHECK(other.data != n.data);
  CHECK(runtime::random_array(Dtype::i8, {2000}, 4, -3, 5).data == n.data);
  CHECK(runtime::random_array(Dtype::f32, {0, 7}, 1, -1, 1).data.empty());
}
