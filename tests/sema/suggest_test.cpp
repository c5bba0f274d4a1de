#include "suggest.h"

#include <catch2/catch.hpp>

using namespace pk::sema;

TEST_CASE("edit distance counts swaps of neighbours once", "[suggest]") {
  CHECK(edit_distance("warp", "warps") == 1);
  CHECK(edit_distance("bais", "bias") == 1);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("exp", "exp") == 0);
}

TEST_CASE("only near names are suggested", "[suggest]") {
  CHECK(closest("lenght", {"width", "length"}) == "length");
  CHECK(!closest("offset", {"x", "y", "tile"}));
  CHECK(!closest("x", {"y"}));
  CHECK(!closest("w", {""}));
}
