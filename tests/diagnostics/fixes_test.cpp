#include "pk/frontend/fixes.h"

#include <catch2/catch.hpp>

#include "sample.h"

using namespace pk;
using pk::test::error_at;
using pk::test::Sample;

namespace {

Diagnostic with_fix(std::vector<Edit> edits) {
  Diagnostic d = error_at(edits.front().span);
  d.fixes.push_back({"change it", std::move(edits)});
  return d;
}

}  // namespace

TEST_CASE("fixes of several diagnostics are applied together") {
  const Sample s("⟦a⟧ ⟦b⟧ c⟦⟧\n");
  const FixedText fixed =
      apply_fixes(s.sources, s.file, {with_fix({{s.spans[1], "BB"}}), with_fix({{s.spans[0], ""}, {s.spans[2], ";"}})});
  CHECK(fixed.text == " BB c;\n");
  CHECK(fixed.applied == 2);
}

TEST_CASE("a fix that overlaps an earlier one is left, with all its edits") {
  const Sample s("⟦a ⟦b⟧⟧ ⟦c⟧\n");
  const FixedText fixed =
      apply_fixes(s.sources, s.file, {with_fix({{s.spans[1], "B"}}), with_fix({{s.spans[0], "A"}, {s.spans[2], "C"}})});
  CHECK(fixed.text == "a B c\n");
  CHECK(fixed.applied == 1);
}

TEST_CASE("the same fix from two diagnostics is applied once") {
  const Sample s("scoped⟦⟧ (a)\n");
  const FixedText fixed = apply_fixes(
      s.sources, s.file, {with_fix({{s.spans[0], " collective(w)"}}), with_fix({{s.spans[0], " collective(w)"}})});
  CHECK(fixed.text == "scoped collective(w) (a)\n");
  CHECK(fixed.applied == 1);
}

TEST_CASE("two insertions of one fix at one place keep their order") {
  const Sample s("a⟦⟧b\n");
  CHECK(apply_fixes(s.sources, s.file, {with_fix({{s.spans[0], "1"}, {s.spans[0], "2"}})}).text == "a12b\n");
}

TEST_CASE("only the first fix of a diagnostic is applied, and none of other files") {
  Sample s("⟦a⟧\n");
  s.add("⟦z⟧\n", "b.pk");
  Diagnostic d = with_fix({{s.spans[0], "b"}});
  d.fixes.push_back({"or this", {{s.spans[0], "c"}}});
  const FixedText fixed = apply_fixes(s.sources, FileId{0}, {d, with_fix({{s.spans[1], "y"}})});
  CHECK(fixed.text == "b\n");
  CHECK(fixed.applied == 1);
}
