#include "pk/frontend/source.h"

#include <catch2/catch.hpp>

TEST_CASE("positions count code points, lines end where the file says") {
  pk::Sources sources;
  const pk::FileId file = sources.add("dir/a.pk", "ab\r\nä€c\n\nlast");
  CHECK(sources.path(file) == "dir/a.pk");
  CHECK(sources.position(file, 0) == pk::LineColumn{1, 1});
  CHECK(sources.position(file, 9) == pk::LineColumn{2, 3});
  CHECK(sources.position(file, 11) == pk::LineColumn{3, 1});
  CHECK(sources.position(file, 16) == pk::LineColumn{4, 5});
  CHECK(sources.position(file, 99) == pk::LineColumn{4, 5});
  CHECK(sources.line(file, 1) == "ab");
  CHECK(sources.line(file, 2) == "ä€c");
  CHECK(sources.line(file, 3).empty());
  CHECK(sources.line(file, 4) == "last");
  CHECK(sources.line(file, 5).empty());
  CHECK(sources.text(pk::Span{file, 4, 6}) == "ä");
}

TEST_CASE("views stay valid when files are added") {
  pk::Sources sources;
  const std::string_view first = sources.text(sources.add("a", "x"));
  for (int i = 0; i < 1000; ++i) (void)sources.add("b", "y");
  CHECK(first == "x");
}
