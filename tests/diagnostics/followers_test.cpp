#include "pk/frontend/followers.h"

#include <catch2/catch.hpp>

#include "pk/frontend/parse.h"
#include "sample.h"

using namespace pk;
using pk::test::Sample;

namespace {

/// Codes left of those that parsing reports and of an unknown name at each span.
std::vector<int> codes_left(const Sample& s) {
  Diagnostics diags;
  const ast::Ast tree = parse(s.sources, s.file, diags);
  for (const Span& span : s.spans) diags.report<diag::unknown_name>(span, s.sources.text(span));
  drop_followers(s.sources, tree, diags);
  std::vector<int> codes;
  for (const Diagnostic& d : diags.all()) codes.push_back(d.code);
  return codes;
}

}  // namespace

TEST_CASE("errors stay where everything parses") {
  CHECK(codes_left(Sample("fn f() {\n    let a = ⟦b⟧;\n}\n")) == std::vector{201});
}

TEST_CASE("what stands in a line with a syntax error is dropped, other lines stay") {
  CHECK(codes_left(Sample("fn f() {\n    ⟦fro⟧ ⟦i⟧ in 0 .. 4 { }\n    let a = ⟦b⟧;\n}\n")) == std::vector{101, 201});
}

TEST_CASE("an item whose brackets do not match says nothing else, its neighbours do") {
  CHECK(codes_left(Sample("fn f() {\n    let a = ⟦b⟧;\n}\nfn g() {\n    let a = (1;\n    let c = ⟦b⟧;\n}\nfn h() {\n   "
                          " let a = ⟦b⟧;\n}\n")) == std::vector{105, 201, 201});
}

TEST_CASE("a bracket too many is one mistake") {
  CHECK(codes_left(Sample("fn g() {\n    let a = 1);\n}\n")) == std::vector{106});
  CHECK(codes_left(Sample("fn g() {\n    let a = (1];\n}\n")) == std::vector{106});
}

TEST_CASE("brackets that an endless string swallows are no mistake of their own") {
  CHECK(codes_left(Sample("fn g() {\n    print(\"b);\n    let c = ⟦b⟧;\n}\n")) == std::vector{104});
}
