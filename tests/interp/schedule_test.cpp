// Threads, barriers and what the schedules may and may not change.

#include <catch2/catch.hpp>

#include "hand_made.h"

using namespace pk;
using pk::test::KernelMaker;

namespace {

/// Thread 0 hands `rounds` rows to thread 1 through one buffer; without `back_pressure` it does not wait for it.
ir::Kernel relay(std::int64_t rounds, bool back_pressure) {
  KernelMaker make(2);
  const ir::Value x = make.param(ir::Mode::in, "x", ir::Dtype::i32, {rounds, 4});
  const ir::Value y = make.param(ir::Mode::out, "y", ir::Dtype::i32, {rounds, 4});
  make.scope(true, [&] {
    const ir::Value buf = make.alloc(ir::Space::smem, "buf", ir::Dtype::i32, {4});
    const ir::Value there = make.alloc(ir::Space::barrier, "there", ir::Dtype::i32, {rounds});
    const ir::Value back = make.alloc(ir::Space::barrier, "back", ir::Dtype::i32, {rounds});
    make.specialize(
        [&] {
          make.loop(rounds, [&](ir::Value i) {
            make.add(ir::Op::store, {buf, make.load(make.at(x, i))});
            make.add(ir::Op::barrier_arrive, {make.at(there, i)});
            if (back_pressure) make.add(ir::Op::barrier_wait, {make.at(back, i)});
          });
          if (!back_pressure)
            make.loop(rounds, [&](ir::Value i) { make.add(ir::Op::barrier_wait, {make.at(back, i)}); });
        },
        [&] {
          make.loop(rounds, [&](ir::Value i) {
            make.add(ir::Op::barrier_wait, {make.at(there, i)});
            make.add(ir::Op::store, {make.at(y, i), make.load(buf)});
            make.add(ir::Op::barrier_arrive, {make.at(back, i)});
          });
        });
  });
  return make.finish();
}

std::vector<interp::Options> all_schedules() {
  std::vector<interp::Options> out;
  for (const interp::Schedule schedule : {interp::Schedule::fair, interp::Schedule::lazy, interp::Schedule::eager}) {
    out.emplace_back().schedule = schedule;
  }
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    out.emplace_back().schedule = interp::Schedule::random;
    out.back().seed = seed;
  }
  return out;
}

}  // namespace

TEST_CASE("a right program gives the same under every schedule") {
  std::vector<std::int32_t> in(20);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::int32_t>(i * i);
  for (const interp::Options& options : all_schedules()) {
    std::vector<std::int32_t> out(20);
    CHECK(test::run(relay(5, true), {test::argument(in, {5, 4}), test::argument(out, {5, 4}, false)}, options).empty());
    CHECK(out == in);
  }
}

TEST_CASE("a missing order is found under every schedule") {
  std::vector<std::int32_t> in(8), out(8);
  for (const interp::Options& options : all_schedules()) {
    const auto diags =
        test::run(relay(2, false), {test::argument(in, {2, 4}), test::argument(out, {2, 4}, false)}, options);
    REQUIRE_FALSE(diags.empty());
    CHECK(diags[0].code == 901);
  }
}

TEST_CASE("waits that cannot end are told with what each thread waits for") {
  for (const interp::Options& options : all_schedules()) {
    KernelMaker make(2);
    std::uint32_t waits[2] = {0, 0};
    make.scope(true, [&] {
      const ir::Value b = make.alloc(ir::Space::barrier, "b", ir::Dtype::i32, {2}, 2);
      make.specialize(
          [&] {
            make.add(ir::Op::barrier_wait, {make.at(b, make.constant(ir::Dtype::index, 0))});
            waits[0] = make.last_place();
          },
          [&] {
            make.add(ir::Op::barrier_wait, {make.at(b, make.constant(ir::Dtype::index, 1))});
            waits[1] = make.last_place();
          });
    });
    const auto diags = test::run(make.finish(), {}, options);
    REQUIRE(diags.size() == 1);
    CHECK(diags[0].code == 902);
    CHECK(test::shows(diags[0], waits[0]));
    CHECK(test::shows(diags[0], waits[1]));
  }
}

TEST_CASE("a thread that never ends meets the step limit") {
  KernelMaker make;
  make.add(ir::Op::while_);
  ir::Inst& loop = make.kernel.body.insts.back();
  const ir::Value yes = make.kernel.new_value(ir::Type::scalar(ir::Dtype::boolean));
  loop.regions.resize(2);
  loop.regions[0].insts.push_back({ir::Op::constant, {}, {}, {yes}, {}, {}});
  loop.regions[0].insts.back().attrs.set(ir::Attr::value_int, std::int64_t{1});
  loop.regions[0].insts.push_back({ir::Op::yield, {}, {yes}, {}, {}, {}});
  interp::Options options;
  options.step_limit = 1000;
  const auto diags = test::run(make.finish(), {}, options);
  REQUIRE(diags.size() == 1);
  CHECK(diags[0].code == 914);
}

TEST_CASE("blocks that wait for later blocks are all resident") {
  // Block g waits for a signal of block g + 1: a run in launch order alone would never end.
  constexpr std::int64_t blocks = 5;
  KernelMaker make;
  make.axis(ir::MeshAxis::Kind::grid, "g", blocks);
  make.scope(false, [&] {
    const ir::Value turn = make.alloc(ir::Space::semaphore, "turn", ir::Dtype::i32, {blocks + 1});
    make.kernel.values[turn.id].name = "turn";
    const ir::Value g = make.coordinate(0), one = make.constant(ir::Dtype::index, 1),
                    last = make.constant(ir::Dtype::index, blocks - 1);
    const ir::Value waits = make.value(ir::Op::lt, ir::Type::scalar(ir::Dtype::boolean), {g, last});
    make.if_(waits, [&] {
      make.add(ir::Op::semaphore_wait,
               {make.at(turn, make.value(ir::Op::add, ir::Type::scalar(ir::Dtype::index), {g, one})), one})
          .attrs.set(ir::Attr::decrement, true);
    });
    const ir::Value first = make.constant(ir::Dtype::index, 0);
    make.if_(make.value(ir::Op::gt, ir::Type::scalar(ir::Dtype::boolean), {g, first}), [&] {
      make.add(ir::Op::semaphore_signal, {make.at(turn, g), one});
    });
  });
  ir::Kernel kernel = make.finish();
  for (ir::Inst& inst : kernel.body.insts[0].regions[0].insts) {
    if (inst.op == ir::Op::alloc) inst.attrs.set(ir::Attr::global, true);
  }
  for (const interp::Options& options : all_schedules()) CHECK(test::run(kernel, {}, options).empty());
}

TEST_CASE("a semaphore left over is a warning") {
  KernelMaker make;
  make.scope(false, [&] {
    const ir::Value s = make.alloc(ir::Space::semaphore, "s", ir::Dtype::i32, {});
    make.add(ir::Op::semaphore_signal, {s, make.constant(ir::Dtype::index, 3)});
  });
  const auto diags = test::run(make.finish(), {});
  REQUIRE(diags.size() == 1);
  CHECK(diags[0].code == 912);
  CHECK(diags[0].severity == Severity::warning);
  CHECK(diags[0].message.find('3') != std::string::npos);
}

TEST_CASE("a thread that asks for a completion in a loop gets it under every schedule") {
  for (const interp::Options& options : all_schedules()) {
    KernelMaker make;
    const ir::Value x = make.param(ir::Mode::in, "x", ir::Dtype::i32, {4});
    make.scope(false, [&] {
      const ir::Value buf = make.alloc(ir::Space::smem, "buf", ir::Dtype::i32, {4});
      const ir::Value ready = make.alloc(ir::Space::barrier, "ready", ir::Dtype::i32, {});
      make.add(ir::Op::copy_gmem_to_smem, {x, buf, ready});
      make.add(ir::Op::while_);
      make.regions(
          [&] {
            const ir::Value over = make.value(ir::Op::barrier_test, ir::Type::scalar(ir::Dtype::boolean), {ready});
            make.add(ir::Op::yield, {make.value(ir::Op::logical_not, ir::Type::scalar(ir::Dtype::boolean), {over})});
          },
          [] {});
      make.add(ir::Op::barrier_wait, {ready});
    });
    std::vector<std::int32_t> in(4);
    CHECK(test::run(make.finish(), {test::argument(in, {4})}, options).empty());
  }
}
