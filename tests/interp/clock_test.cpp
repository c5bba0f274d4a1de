#include "clock.h"

#include <catch2/catch.hpp>

using namespace pk::interp;

TEST_CASE("clocks of one cluster join and meet agent by agent") {
  Clock a(10, 3), b(10, 3);
  a.raise(10, 4);
  b.raise(10, 2);
  b.raise(12, 5);
  Clock both = a;
  both.join(b);
  CHECK(both[10] == 4);
  CHECK(both[11] == 0);
  CHECK(both[12] == 5);
  both = a;
  both.meet(b);
  CHECK(both[10] == 2);
  CHECK(both[12] == 0);
}

TEST_CASE("what is known of another cluster is kept apart") {
  Clock a(0, 2), b(2, 2);
  b.raise(3, 7);
  b.raise(0, 1);
  a.join(b);
  CHECK(a[3] == 7);
  CHECK(a[0] == 1);
  CHECK(a[2] == 0);
  CHECK(a[100] == 0);
  Clock c(4, 2);
  c.join(a);
  CHECK(c[3] == 7);
  a.clear();
  CHECK(a[3] == 0);
}
