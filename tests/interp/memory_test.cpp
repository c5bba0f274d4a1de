#include "memory.h"

#include <catch2/catch.hpp>
#include <numeric>

using namespace pk;
using namespace pk::interp;

namespace {

struct Matrix {
  explicit Matrix(const ir::Shape& shape) : elements(static_cast<std::size_t>(ir::element_count(shape))) {
    std::iota(elements.begin(), elements.end(), 0);
    buffer.data = reinterpret_cast<std::byte*>(elements.data());
    buffer.dtype = ir::Dtype::i32;
    buffer.name = "x";
    buffer.set_shape(shape);
  }
  std::vector<std::int32_t> elements;
  Buffer buffer;
};

Ref box(Buffer& buffer, std::vector<std::int64_t> low, std::vector<std::int64_t> high) {
  std::array<std::int64_t, max_rank> l{}, h{};
  std::copy(low.begin(), low.end(), l.begin());
  std::copy(high.begin(), high.end(), h.begin());
  return part(whole(buffer), l, h);
}

}  // namespace

TEST_CASE("a whole buffer is one run, a box of it one run a row") {
  Matrix m({4, 6});
  int runs = 0;
  for_each_run(walk_in_order(whole(m.buffer)), [&](std::int64_t first, std::int64_t length, std::int64_t step) {
    ++runs;
    CHECK(first == 0);
    CHECK(length == 24);
    CHECK(step == 1);
  });
  CHECK(runs == 1);
  std::vector<std::int64_t> firsts;
  for_each_run(walk_in_order(box(m.buffer, {1, 2}, {3, 5})),
               [&](std::int64_t first, std::int64_t length, std::int64_t) {
                 firsts.push_back(first);
                 CHECK(length == 3);
               });
  CHECK(firsts == std::vector<std::int64_t>{8, 14});
}

TEST_CASE("an empty view has no run, and an empty buffer none either") {
  Matrix m({4, 6}), none({0, 6});
  int runs = 0;
  const auto count = [&](std::int64_t, std::int64_t, std::int64_t) { ++runs; };
  for_each_run(walk_in_order(box(m.buffer, {1, 2}, {1, 5})), count);
  for_each_run(walk_by_address(whole(none.buffer)), count);
  CHECK(runs == 0);
}

TEST_CASE("a transposed view is gathered in its own order and walked by address in long runs") {
  Matrix m({2, 3});
  Ref t = whole(m.buffer);
  std::swap(t.axis[0], t.axis[1]);
  std::swap(t.extent[0], t.extent[1]);
  std::vector<std::int32_t> out(6);
  gather(t, reinterpret_cast<std::byte*>(out.data()));
  CHECK(out == std::vector<std::int32_t>{0, 3, 1, 4, 2, 5});
  CHECK(walk_by_address(t).rank == 1);
  CHECK_FALSE(t.is_contiguous());
}

TEST_CASE("what lies inside is found by axis") {
  Matrix m({4, 6});
  Ref ref = whole(m.buffer);
  ref.start = {-1, 4};
  ref.extent = {3, 4};
  CHECK_FALSE(ref.inside());
  const Inside in = inside_part(ref);
  CHECK(in.any);
  CHECK(in.low[0] == 1);
  CHECK(in.high[0] == 3);
  CHECK(in.low[1] == 0);
  CHECK(in.high[1] == 2);
  CHECK_FALSE(locate(ref, 0));
  CHECK(locate(ref, 4) == 4);
  CHECK(describe(ref) == "x[-1:2, 4:8]");
}

TEST_CASE("ranges are told in logical indices") {
  Matrix m({2, 3, 4});
  CHECK(describe_range(m.buffer, 17, 18) == "x[1, 1, 1]");
  CHECK(describe_range(m.buffer, 4, 8) == "x[0, 1, 0:4]");
}
