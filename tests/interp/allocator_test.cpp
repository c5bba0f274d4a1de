// The allocator's invariant: a buffer for all threads is made once, by thread 0, and found by the others under the same
// key; any other request is an error that names both. Accepted programs cannot break it, so this is IR made by hand.

#include <catch2/catch.hpp>

#include "hand_made.h"

using namespace pk;
using pk::test::KernelMaker;

namespace {

ir::Value thread_is(KernelMaker& make, std::int64_t number) {
  const ir::Value w = make.coordinate(0);
  const ir::Value n = make.constant(ir::Dtype::index, number);
  return make.value(ir::Op::eq, ir::Type::scalar(ir::Dtype::boolean), {w, n});
}

}  // namespace

TEST_CASE("a collective buffer is one for all threads") {
  KernelMaker make(2);
  const ir::Value x = make.param(ir::Mode::in, "x", ir::Dtype::i32, {4});
  const ir::Value y = make.param(ir::Mode::out, "y", ir::Dtype::i32, {4});
  make.scope(true, [&] {
    const ir::Value buf = make.alloc(ir::Space::smem, "buf", ir::Dtype::i32, {4});
    make.if_(thread_is(make, 0), [&] { make.add(ir::Op::store, {buf, make.load(x)}); });
    make.add(ir::Op::sync);
    make.if_(thread_is(make, 1), [&] { make.add(ir::Op::store, {y, make.load(buf)}); });
  });
  std::vector<std::int32_t> in{1, 2, 3, 4}, out(4);
  CHECK(test::run(make.finish(), {test::argument(in, {4}), test::argument(out, {4}, false)}).empty());
  CHECK(out == in);
}

TEST_CASE("a thread other than 0 cannot make a buffer for all") {
  KernelMaker make(2);
  make.param(ir::Mode::out, "y", ir::Dtype::i32, {4});
  std::uint32_t request = 0;
  make.if_(thread_is(make, 1), [&] {
    make.scope(false, [&] {
      make.alloc(ir::Space::smem, "buf", ir::Dtype::i32, {4});
      request = make.last_place();
    });
  });
  std::vector<std::int32_t> out(4);
  const auto diags = test::run(make.finish(), {test::argument(out, {4}, false)});
  REQUIRE(diags.size() == 1);
  CHECK(diags[0].code == 911);
  CHECK(test::shows(diags[0], request));
  CHECK(diags[0].message.find("thread w = 1") != std::string::npos);
  CHECK(diags[0].message.find("thread 0") != std::string::npos);
}

TEST_CASE("requests from two different scopes are told with both places") {
  KernelMaker make(2);
  std::uint32_t first = 0, second = 0;
  const auto arm = [&](std::uint32_t& place) {
    return [&] {
      const std::uint32_t scope_place = make.last_place() + 1;
      make.scope(true, [&] { make.alloc(ir::Space::smem, "buf", ir::Dtype::i32, {4}); });
      place = scope_place;
    };
  };
  make.specialize(arm(first), arm(second));
  for (const interp::Schedule schedule : {interp::Schedule::fair, interp::Schedule::random, interp::Schedule::lazy}) {
    interp::Options options;
    options.schedule = schedule;
    KernelMaker copy = make;
    const auto diags = test::run(copy.finish(), {}, options);
    REQUIRE(diags.size() == 1);
    CHECK(diags[0].code == 911);
    CHECK(test::shows(diags[0], first));
    CHECK(test::shows(diags[0], second));
  }
}

TEST_CASE("a collective scope that one thread never enters is divergence") {
  KernelMaker make(3);
  make.if_(thread_is(make, 1),
           [&] { make.scope(true, [&] { make.alloc(ir::Space::smem, "buf", ir::Dtype::i32, {4}); }); });
  const auto diags = test::run(make.finish(), {});
  REQUIRE(diags.size() == 1);
  CHECK(diags[0].code == 913);
  CHECK(diags[0].message.find("thread w = 1") != std::string::npos);
}

TEST_CASE("accumulators are private to a thread and zero at each entry") {
  KernelMaker make(2);
  const ir::Value y = make.param(ir::Mode::out, "y", ir::Dtype::f32, {2, 2});
  make.loop(2, [&](ir::Value) {
    make.scope(false, [&] {
      const ir::Value acc = make.alloc(ir::Space::acc, "acc", ir::Dtype::f32, {2});
      const ir::Value row = make.at(y, make.coordinate(0));
      make.add(ir::Op::store, {row, make.load(acc)});
      const ir::Value one = make.value(ir::Op::constant, ir::Type::scalar(ir::Dtype::f32));
      make.add(ir::Op::store, {acc, one});
    });
  });
  std::vector<float> out(4, 7.0F);
  CHECK(test::run(make.finish(), {test::argument(out, {2, 2}, false)}).empty());
  CHECK(out == std::vector<float>(4, 0.0F));
}

TEST_CASE("shared memory is unwritten again at each entry of its scope") {
  KernelMaker make;
  const ir::Value y = make.param(ir::Mode::out, "y", ir::Dtype::i32, {2});
  make.loop(2, [&](ir::Value i) {
    make.scope(false, [&] {
      const ir::Value buf = make.alloc(ir::Space::smem, "buf", ir::Dtype::i32, {2});
      const ir::Value zero = make.constant(ir::Dtype::index, 0);
      const ir::Value first = make.value(ir::Op::eq, ir::Type::scalar(ir::Dtype::boolean), {i, zero});
      make.if_(first, [&] { make.add(ir::Op::store, {buf, make.constant(ir::Dtype::i32, 5)}); });
      make.add(ir::Op::store, {y, make.load(buf)});
    });
  });
  std::vector<std::int32_t> out(2);
  const auto diags = test::run(make.finish(), {test::argument(out, {2}, false)});
  REQUIRE(diags.size() == 1);
  CHECK(diags[0].code == 904);
}
