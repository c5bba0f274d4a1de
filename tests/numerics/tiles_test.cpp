// The tile kernels against single-element evaluation and plain loops.

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "pk/interp/tile_kernels.h"

using namespace pk;
using namespace pk::interp::tile;
using ir::Dtype;
using ir::Op;
using ir::Scalar;

namespace {

template <class T>
const std::byte* bytes(const std::vector<T>& v) {
  return reinterpret_cast<const std::byte*>(v.data());
}
template <class T>
std::byte* bytes(std::vector<T>& v) {
  return reinterpret_cast<std::byte*>(v.data());
}

/// Random elements of a type: all bit patterns for narrow types, plain numbers for wide floats (and no zero divisors).
std::vector<std::byte> random_elements(Dtype t, std::int64_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> data(static_cast<std::size_t>(n * ir::byte_size(t)));
  for (std::int64_t i = 0; i < n; ++i) {
    Scalar s = ir::is_floating(t) ? Scalar::of_double(t, static_cast<double>(random() % 4000) / 500.0 - 4.0)
                                  : Scalar::of_int(t, static_cast<std::int64_t>(random()));
    if (ir::is_integer(t) && s.as_int() == 0) s = Scalar::of_int(t, 3);
    s.store(data.data() + i * ir::byte_size(t));
  }
  return data;
}

bool same(Scalar a, Scalar b) {
  if (ir::is_floating(a.dtype) && std::isnan(a.as_double())) return std::isnan(b.as_double());
  return a.bits == b.bits;
}

}  // namespace

TEST_CASE("elementwise loops agree with the evaluation of single elements", "[tiles]") {
  constexpr std::int64_t n = 1100;  // more than two chunks, and no multiple of a vector
  for (std::size_t row = 0; row < ir::op_table.size(); ++row) {
    const Op op = static_cast<Op>(row);
    for (const ir::DtypeInfo& type : ir::dtype_table) {
      if (!ir::is_computed(op, type.cls)) continue;
      const ir::OpInfo& info = ir::info(op);
      INFO(info.name << " on " << type.spelling);
      std::vector<std::vector<std::byte>> data;
      for (int i = 0; i < info.min_operands; ++i) {
        data.push_back(
            random_elements(op == Op::select && i == 0 ? Dtype::boolean : type.dtype, n, static_cast<unsigned>(i + 1)));
      }
      const Dtype result_type =
          info.cls == ir::OpClass::predicate || info.cls == ir::OpClass::comparison ? Dtype::boolean : type.dtype;
      // Once with tiles, then with the last operand as a repeated scalar.
      for (const bool repeated : {false, true}) {
        std::vector<Operand> operands;
        for (const auto& d : data) operands.push_back({d.data(), repeated && &d == &data.back() && data.size() > 1});
        std::vector<std::byte> out(static_cast<std::size_t>(n * ir::byte_size(result_type)));
        std::vector<std::uint8_t> failed(static_cast<std::size_t>(n));
        elementwise(op, type.dtype, out.data(), operands, n, failed.data());
        int wrong = 0;
        for (std::int64_t i = 0; i < n; ++i) {
          std::vector<Scalar> elements;
          for (std::size_t o = 0; o < data.size(); ++o) {
            const Dtype t = op == Op::select && o == 0 ? Dtype::boolean : type.dtype;
            elements.push_back(Scalar::load(t, data[o].data() + (operands[o].scalar ? 0 : i) * ir::byte_size(t)));
          }
          ir::NumError error = ir::NumError::none;
          const std::optional<Scalar> expected = ir::evaluate(op, elements, error);
          const Scalar got = Scalar::load(result_type, out.data() + i * ir::byte_size(result_type));
          if (expected ? !same(*expected, got) : failed[static_cast<std::size_t>(i)] != 1) ++wrong;
        }
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("conversions of tiles agree with those of single elements", "[tiles]") {
  constexpr std::int64_t n = 100;
  for (const ir::DtypeInfo& from : ir::dtype_table) {
    const std::vector<std::byte> data = random_elements(from.dtype, n, 5);
    for (const ir::DtypeInfo& to : ir::dtype_table) {
      INFO(from.spelling << " as " << to.spelling);
      std::vector<std::byte> out(static_cast<std::size_t>(n * ir::byte_size(to.dtype)));
      convert(to.dtype, out.data(), from.dtype, data.data(), n);
      int wrong = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        const Scalar x = Scalar::load(from.dtype, data.data() + i * ir::byte_size(from.dtype));
        if (!same(ir::convert(x, to.dtype), Scalar::load(to.dtype, out.data() + i * ir::byte_size(to.dtype)))) ++wrong;
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("integer division reports the first element that fails and marks them all", "[tiles]") {
  const std::vector<std::int32_t> x(700, 8);
  std::vector<std::int32_t> y(700, 2), out(700);
  y[600] = 0;
  y[650] = 0;
  std::vector<std::uint8_t> failed(700, 0);
  const std::vector<Operand> operands{{bytes(x)}, {bytes(y)}};
  const Failure failure = elementwise(Op::div, Dtype::i32, bytes(out), operands, 700, failed.data());
  CHECK(failure.error == ir::NumError::division_by_zero);
  CHECK(failure.element == 600);
  CHECK(std::accumulate(failed.begin(), failed.end(), 0) == 2);
  CHECK(out[599] == 4);
  CHECK_FALSE(elementwise(Op::div, Dtype::i32, bytes(out), operands, 600));
}

TEST_CASE("elements move", "[tiles]") {
  std::vector<std::int16_t> x(2 * 3 * 4);
  std::iota(x.begin(), x.end(), std::int16_t{0});
  const ir::Shape shape{2, 3, 4};

  std::vector<std::int16_t> turned(24);
  transpose(2, bytes(turned), bytes(x), shape, std::vector<std::int64_t>{2, 0, 1});
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 4; ++k)
        CHECK(turned[static_cast<std::size_t>(k * 6 + i * 3 + j)] == x[static_cast<std::size_t>(i * 12 + j * 4 + k)]);
    }
  }
  std::vector<std::int16_t> part(4);
  slice(2, bytes(part), {2, 1, 2}, bytes(x), shape, std::vector<std::int64_t>{0, 1, 2});
  CHECK(part == std::vector<std::int16_t>{6, 7, 18, 19});

  std::vector<std::int16_t> wide(12);
  broadcast(2, bytes(wide), {2, 2, 3}, bytes(x), {2, 1});
  CHECK(wide == std::vector<std::int16_t>{0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1});

  std::vector<std::int16_t> joined(6);
  concat_part(2, bytes(joined), {2, 3}, 1, 0, bytes(x), {2, 2});
  concat_part(2, bytes(joined), {2, 3}, 1, 2, bytes(part), {2, 1});
  CHECK(joined == std::vector<std::int16_t>{0, 1, 6, 2, 3, 7});

  // A transposed copy larger than one square, and a masked one.
  const std::int64_t m = 70, n = 45;
  std::vector<std::int32_t> a(static_cast<std::size_t>(m * n)), b(a.size(), -1);
  std::iota(a.begin(), a.end(), 0);
  copy(4, {m, n}, bytes(b), std::vector<std::int64_t>{4, m * 4}, bytes(a), std::vector<std::int64_t>{n * 4, 4});
  int wrong = 0;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j)
      wrong += b[static_cast<std::size_t>(j * m + i)] != a[static_cast<std::size_t>(i * n + j)] ? 1 : 0;
  }
  CHECK(wrong == 0);
  std::vector<std::uint8_t> mask{1, 0, 0, 1};
  std::vector<std::int32_t> target(4, -1);
  copy_masked(4, {2, 2}, bytes(mask), bytes(target), std::vector<std::int64_t>{8, 4}, bytes(a),
              std::vector<std::int64_t>{8, 4});
  CHECK(target == std::vector<std::int32_t>{0, -1, -1, 3});

  std::vector<float> coordinates(24);
  iota(Dtype::f32, bytes(coordinates), shape, 1);
  CHECK(coordinates[4] == 1);
  CHECK(coordinates[23] == 2);
  iota(Dtype::f32, bytes(coordinates), shape, -1);
  CHECK(coordinates[23] == 23);
  std::vector<std::int8_t> wraps(300);
  iota(Dtype::i8, bytes(wraps), {300}, 0);
  CHECK(wraps[128] == -128);
}

TEST_CASE("reductions over each axis", "[tiles]") {
  const ir::Shape shape{3, 20, 5};
  std::vector<std::int32_t> x(300);
  std::iota(x.begin(), x.end(), -100);
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t inner = axis == 0 ? 100 : (axis == 1 ? 5 : 1);
    const std::int64_t extent = shape[static_cast<std::size_t>(axis)];
    std::vector<std::int32_t> sum(static_cast<std::size_t>(300 / extent)), low(sum.size()), high(sum.size()),
        product(sum.size());
    reduce(Op::reduce_sum, Dtype::i32, bytes(sum), bytes(x), shape, axis);
    reduce(Op::reduce_min, Dtype::i32, bytes(low), bytes(x), shape, axis);
    reduce(Op::reduce_max, Dtype::i32, bytes(high), bytes(x), shape, axis);
    reduce(Op::reduce_prod, Dtype::i32, bytes(product), bytes(x), shape, axis);
    std::vector<std::int32_t> running(300);
    cumsum(Dtype::i32, bytes(running), bytes(x), shape, axis);
    for (std::size_t r = 0; r < sum.size(); ++r) {
      const std::int64_t first =
          static_cast<std::int64_t>(r) / inner * inner * extent + static_cast<std::int64_t>(r) % inner;
      std::uint32_t total = 0, times = 1;
      for (std::int64_t i = 0; i < extent; ++i) {
        const std::size_t at = static_cast<std::size_t>(first + i * inner);
        total += static_cast<std::uint32_t>(x[at]);
        times *= static_cast<std::uint32_t>(x[at]);
        CHECK(running[at] == static_cast<std::int32_t>(total));
      }
      CHECK(sum[r] == static_cast<std::int32_t>(total));
      CHECK(product[r] == static_cast<std::int32_t>(times));
      CHECK(low[r] == x[static_cast<std::size_t>(first)]);
      CHECK(high[r] == x[static_cast<std::size_t>(first + (extent - 1) * inner)]);
    }
  }
}

TEST_CASE("float sums have the documented order, the same along every axis", "[tiles]") {
  constexpr std::int64_t n = 37, width = 3;
  std::mt19937 random(3);
  std::vector<float> rows(n * width), columns(n * width);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < width; ++j) {
      const float x = static_cast<float>(random()) / 1e9F;
      rows[static_cast<std::size_t>(j * n + i)] = x;
      columns[static_cast<std::size_t>(i * width + j)] = x;
    }
  }
  std::vector<float> by_row(width), by_column(width);
  reduce(Op::reduce_sum, Dtype::f32, bytes(by_row), bytes(rows), {width, n}, 1);
  reduce(Op::reduce_sum, Dtype::f32, bytes(by_column), bytes(columns), {n, width}, 0);
  CHECK(by_row == by_column);
  float run[8] = {};
  for (std::size_t i = 0; i < n; ++i) run[i % 8] += rows[i];
  CHECK(by_row[0] == ((run[0] + run[4]) + (run[2] + run[6])) + ((run[1] + run[5]) + (run[3] + run[7])));
}

TEST_CASE("reductions of small floats, bools, NaN and nothing", "[tiles]") {
  // In bf16 arithmetic 256 + 1 stays 256; the sum is kept in f32 and rounded once.
  std::vector<ir::BF16> x(512, ir::convert_value<ir::BF16>(1.0));
  std::vector<ir::BF16> total(1);
  reduce(Op::reduce_sum, Dtype::bf16, bytes(total), bytes(x), {512}, 0);
  CHECK(ir::to_float(total[0]) == 512);

  const std::vector<std::uint8_t> flags{1, 0, 1, 1, 0, 0};
  std::vector<std::int32_t> count(2);
  CHECK(reduced_dtype(Op::reduce_sum, Dtype::boolean) == Dtype::i32);
  reduce(Op::reduce_sum, Dtype::boolean, bytes(count), bytes(flags), {2, 3}, 1);
  CHECK(count == std::vector<std::int32_t>{2, 1});
  std::vector<std::uint8_t> some(2), every(2);
  reduce(Op::reduce_any, Dtype::boolean, bytes(some), bytes(flags), {3, 2}, 0);
  reduce(Op::reduce_all, Dtype::boolean, bytes(every), bytes(flags), {3, 2}, 0);
  CHECK(some == std::vector<std::uint8_t>{1, 1});
  CHECK(every == std::vector<std::uint8_t>{0, 0});

  std::vector<float> hole(9, 1.0F), top(1);
  hole[5] = std::nanf("");
  reduce(Op::reduce_max, Dtype::f32, bytes(top), bytes(hole), {9}, 0);
  CHECK(std::isnan(top[0]));

  for (const ir::DtypeInfo& type : ir::dtype_table) {
    if (type.cls == ir::DtypeClass::boolean) continue;
    std::vector<std::byte> out(8);
    const auto of_nothing = [&](Op op) {
      reduce(op, type.dtype, out.data(), out.data(), {0}, 0);
      return Scalar::load(type.dtype, out.data());
    };
    CHECK(of_nothing(Op::reduce_sum).as_double() == 0);
    CHECK(of_nothing(Op::reduce_prod).as_double() == 1);
    CHECK(of_nothing(Op::reduce_min) == ir::highest(type.dtype));
    CHECK(of_nothing(Op::reduce_max) == ir::lowest(type.dtype));
  }
}

TEST_CASE("updates read, change and write", "[tiles]") {
  const std::vector<std::int64_t> dense{4};
  const auto after = [&](std::string_view kind, std::vector<std::int32_t> place, std::int32_t value) {
    const std::vector<std::int32_t> values(place.size(), value);
    std::vector<std::int32_t> old(place.size());
    const std::vector<std::int32_t> before = place;
    const std::int32_t expected = 5;
    update(*parse_update(kind), Dtype::i32, {static_cast<std::int64_t>(place.size())}, bytes(place), dense,
           bytes(values), dense, bytes(old), {reinterpret_cast<const std::byte*>(&expected), true});
    CHECK(old == before);
    return place;
  };
  using Values = std::vector<std::int32_t>;
  CHECK(after("add", {5, 6}, 7) == Values{12, 13});
  CHECK(after("min", {5, 9}, 7) == Values{5, 7});
  CHECK(after("max", {5, 9}, 7) == Values{7, 9});
  CHECK(after("and", {5, 9}, 12) == Values{4, 8});
  CHECK(after("or", {5, 9}, 12) == Values{13, 13});
  CHECK(after("xor", {5, 9}, 12) == Values{9, 5});
  CHECK(after("exchange", {5, 9}, 12) == Values{12, 12});
  CHECK(after("cas", {5, 9}, 12) == Values{12, 9});
  CHECK_FALSE(parse_update("sub"));
  std::vector<ir::BF16> sum(1, ir::convert_value<ir::BF16>(1.0));
  const std::vector<ir::BF16> half(1, ir::convert_value<ir::BF16>(0.5));
  update(Update::add, Dtype::bf16, {1}, bytes(sum), std::vector<std::int64_t>{2}, bytes(half),
         std::vector<std::int64_t>{2});
  CHECK(ir::to_float(sum[0]) == 1.5F);
}
