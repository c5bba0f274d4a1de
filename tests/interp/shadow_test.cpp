#include "shadow.h"

#include <catch2/catch.hpp>

using namespace pk::interp;

namespace {

constexpr Agent first = 0, second = lanes_per_thread;

Access by(Agent thread, Time time, AccessKind kind, std::uint32_t pc = 1) {
  return {thread, time, thread, pc, kind, 0};
}

Clock knows(std::initializer_list<std::pair<Agent, Time>> events) {
  Clock clock(0, 4 * lanes_per_thread);
  for (const auto& [agent, time] : events) clock.raise(agent, time);
  return clock;
}

}  // namespace

TEST_CASE("a store races with what does not know it, on exactly the bytes it covers") {
  Shadow shadow(10000, true, 0);
  const Clock mine = knows({{first, 1}}), other = knows({{second, 1}}), informed = knows({{second, 1}, {first, 1}});
  CHECK_FALSE(shadow.access(4000, 4200, by(first, 1, AccessKind::store), {&mine, false, true}));  // over two pages
  CHECK_FALSE(shadow.access(0, 4000, by(second, 1, AccessKind::load), {&other, false, true}));
  CHECK_FALSE(shadow.access(4200, 10000, by(second, 1, AccessKind::load), {&other, false, true}));
  CHECK_FALSE(shadow.access(4000, 4200, by(second, 1, AccessKind::load), {&informed, false, true}));
  const auto fault = shadow.access(4100, 4110, by(second, 1, AccessKind::load), {&other, false, true});
  REQUIRE(fault);
  CHECK(fault->kind == Fault::Kind::race);
  CHECK(fault->begin == 4100);
  CHECK(fault->end == 4110);
  CHECK(fault->earlier.thread == first);
}

TEST_CASE("a load races with a later store, two loads do not") {
  Shadow shadow(64, true, 0);
  const Clock a = knows({{first, 1}}), b = knows({{second, 1}});
  CHECK_FALSE(shadow.access(0, 64, by(first, 1, AccessKind::load), {&a, false, true}));
  CHECK_FALSE(shadow.access(0, 64, by(second, 1, AccessKind::load), {&b, false, true}));
  CHECK(shadow.access(60, 64, by(second, 1, AccessKind::store), {&b, false, true}));
}

TEST_CASE("atomics race with plain accesses, not with each other") {
  Shadow shadow(4, true, 0);
  const Clock a = knows({{first, 1}}), b = knows({{second, 1}});
  CHECK_FALSE(shadow.access(0, 4, by(first, 1, AccessKind::atomic), {&a, false, true}));
  CHECK_FALSE(shadow.access(0, 4, by(second, 1, AccessKind::atomic), {&b, false, true}));
  CHECK_FALSE(shadow.access(0, 4, by(second, 1, AccessKind::reduce), {&b, false, true}));
  CHECK(shadow.access(0, 4, by(second, 1, AccessKind::load), {&b, false, true}));
}

TEST_CASE("asynchronous units see only committed stores") {
  Shadow shadow(16, false, 0);
  const Clock before = knows({{first, 3}});
  CHECK_FALSE(shadow.access(0, 16, by(first, 3, AccessKind::store), {&before, false, true}));
  const auto fault = shadow.access(0, 16, by(first, 4, AccessKind::async_read), {&before, true, true});
  REQUIRE(fault);
  CHECK(fault->kind == Fault::Kind::not_committed);
  const Clock after = knows({{first, 4}, {first + static_cast<Agent>(Lane::committed), 3}});
  CHECK_FALSE(shadow.access(0, 16, by(first, 4, AccessKind::async_read), {&after, true, true}));
}

TEST_CASE("mere loads need no commit") {
  Shadow shadow(16, true, 0);
  const Clock a = knows({{first, 1}});
  CHECK_FALSE(shadow.access(0, 16, by(first, 1, AccessKind::load), {&a, false, true}));
  CHECK_FALSE(shadow.access(0, 16, {first + 4, 1, first, 1, AccessKind::async_write, 0}, {&a, true, true}));
}

TEST_CASE("unwritten bytes are told, written ones are not") {
  Shadow shadow(100, false, 0);
  const Check init{nullptr, false, true};
  CHECK_FALSE(shadow.access(0, 40, by(first, 0, AccessKind::store), init));
  CHECK_FALSE(shadow.access(60, 100, by(first, 0, AccessKind::store), init));
  const auto fault = shadow.access(0, 100, by(first, 0, AccessKind::load), init);
  REQUIRE(fault);
  CHECK(fault->kind == Fault::Kind::uninitialised);
  CHECK(fault->begin == 40);
  CHECK(fault->end == 60);
  shadow.reset();
  CHECK(shadow.access(0, 1, by(first, 0, AccessKind::load), init));
}

TEST_CASE("readers of many clusters are remembered by a few") {
  constexpr Agent per_cluster = lanes_per_thread;
  Shadow shadow(4, true, per_cluster);
  for (Agent cluster = 0; cluster < 1000; ++cluster) {
    Clock clock(cluster * per_cluster, per_cluster);
    clock.raise(cluster * per_cluster, 1);
    CHECK_FALSE(shadow.access(0, 4, by(cluster * per_cluster, 1, AccessKind::load), {&clock, false, true}));
  }
  for (const Agent cluster : {0U, 1U, 2U, 999U}) {
    Shadow copy = shadow;
    Clock clock(cluster * per_cluster, per_cluster);
    clock.raise(cluster * per_cluster, 9);
    CHECK(copy.access(0, 4, by(cluster * per_cluster, 9, AccessKind::store), {&clock, false, true}));
  }
}
