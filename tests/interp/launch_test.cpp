// What a launch checks before anything runs.

#include <catch2/catch.hpp>

#include "hand_made.h"

using namespace pk;
using pk::test::KernelMaker;

namespace {

/// kernel made(in a: i32[N], in b: i32[N], out c: i32[N]) with a grid of N / 4 blocks, a block for each four elements.
ir::Kernel add_kernel() {
  KernelMaker make;
  make.kernel.dims = {"N"};
  for (const char* name : {"a", "b", "c"}) {
    make.param(name == std::string("c") ? ir::Mode::out : ir::Mode::in, name, ir::Dtype::i32, {ir::dynamic_extent});
    make.kernel.params.back().dims[0] = {ir::ParamDim::Kind::symbol, 0};
  }
  make.axis(ir::MeshAxis::Kind::grid, "g", ir::dynamic_extent);
  const ir::Value four = make.constant(ir::Dtype::index, 4);
  const ir::Value start = make.value(ir::Op::mul, ir::Type::scalar(ir::Dtype::index), {make.coordinate(0), four});
  std::vector<ir::Value> parts;
  for (const ir::Value param : make.kernel.body.args) {
    parts.push_back(make.value(ir::Op::subview, ir::Type::ref(ir::Space::gmem, ir::Dtype::i32, {4}), {param, start}));
    make.kernel.body.insts.back().attrs.set(ir::Attr::sizes, std::vector<std::int64_t>{4});
  }
  const ir::Value sum =
      make.value(ir::Op::add, ir::Type::tile(ir::Dtype::i32, {4}), {make.load(parts[0]), make.load(parts[1])});
  make.add(ir::Op::store, {parts[2], sum});

  ir::Kernel kernel = std::move(make.kernel);
  const auto index = [&] { return kernel.new_value(ir::Type::scalar(ir::Dtype::index)); };
  const ir::Value n = index(), size = index(), rest = index(), zero = index();
  const ir::Value fits = kernel.new_value(ir::Type::scalar(ir::Dtype::boolean)), blocks = index();
  const auto add = [&](ir::Op op, std::vector<ir::Value> in, std::vector<ir::Value> out) -> ir::Inst& {
    kernel.launch.insts.push_back({op, {}, std::move(in), std::move(out), {}, {}});
    return kernel.launch.insts.back();
  };
  add(ir::Op::dim_value, {}, {n}).attrs.set(ir::Attr::dim, std::int64_t{0});
  add(ir::Op::constant, {}, {size}).attrs.set(ir::Attr::value_int, std::int64_t{4});
  add(ir::Op::constant, {}, {zero}).attrs.set(ir::Attr::value_int, std::int64_t{0});
  add(ir::Op::rem, {n, size}, {rest});
  add(ir::Op::eq, {rest, zero}, {fits});
  add(ir::Op::require, {fits}, {}).attrs.set(ir::Attr::text, std::string("N % 4 == 0"));
  add(ir::Op::div, {n, size}, {blocks});
  add(ir::Op::yield, {blocks}, {});
  return kernel;
}

}  // namespace

TEST_CASE("dimensions are bound from the arguments and size the grid") {
  for (const std::int64_t n : {0, 4, 40}) {
    std::vector<std::int32_t> a(static_cast<std::size_t>(n), 1), b(static_cast<std::size_t>(n), 2),
        c(static_cast<std::size_t>(n));
    std::int64_t last_done = 0;
    interp::Options options;
    options.progress = [&](std::int64_t done, std::int64_t total) {
      last_done = done;
      CHECK(total == n / 4);
    };
    CHECK(test::run(add_kernel(), {test::argument(a, {n}), test::argument(b, {n}), test::argument(c, {n}, false)},
                    options)
              .empty());
    CHECK(c == std::vector<std::int32_t>(static_cast<std::size_t>(n), 3));
    CHECK(last_done == n / 4);
  }
}

TEST_CASE("workers compute the same without checks") {
  std::vector<std::int32_t> a(4000, 5), b(4000, 6), c(4000);
  interp::Options options;
  options.check_races = options.check_init = options.check_bounds = false;
  options.worker_threads = 3;
  CHECK(test::run(add_kernel(), {test::argument(a, {4000}), test::argument(b, {4000}), test::argument(c, {4000})},
                  options)
            .empty());
  CHECK(c == std::vector<std::int32_t>(4000, 11));
}

TEST_CASE("extents that disagree are told with the dimension and both values") {
  std::vector<std::int32_t> a(8), b(12), c(8);
  const auto diags = test::run(add_kernel(), {test::argument(a, {8}), test::argument(b, {12}), test::argument(c, {8})});
  REQUIRE(diags.size() == 1);
  CHECK(diags[0].code == 907);
  for (const char* word : {"`b`", "`a`", "`N`", "8", "12"}) CHECK(diags[0].message.find(word) != std::string::npos);
}

TEST_CASE("a clause that does not hold is told with the values in it") {
  std::vector<std::int32_t> a(6), b(6), c(6);
  const auto diags = test::run(add_kernel(), {test::argument(a, {6}), test::argument(b, {6}), test::argument(c, {6})});
  REQUIRE(diags.size() == 1);
  CHECK(diags[0].code == 907);
  CHECK(diags[0].message.find("N % 4 == 0") != std::string::npos);
  CHECK(diags[0].message.find("N = 6") != std::string::npos);
}

TEST_CASE("too few arguments and a wrong rank are refused") {
  std::vector<std::int32_t> a(4);
  CHECK(test::run(add_kernel(), {test::argument(a, {4})}).at(0).code == 907);
  CHECK(
      test::run(add_kernel(), {test::argument(a, {4}), test::argument(a, {2, 2}), test::argument(a, {4})}).at(0).code ==
      907);
}

TEST_CASE("an output that overlaps another argument is refused") {
  std::vector<std::int32_t> a(8), b(8);
  const interp::Argument overlapping{a.data() + 4, {8}, 0, true};
  const auto diags = test::run(add_kernel(), {test::argument(a, {8}), test::argument(b, {8}), overlapping});
  REQUIRE(diags.size() == 1);
  CHECK(diags[0].message.find("overlap") != std::string::npos);
}
