// The verifier names what is wrong, and says nothing about what is right.

#include <catch2/catch.hpp>

#include "pk/ir/passes.h"
#include "support.h"

using namespace pk::ir;
using namespace pk::ir::testing;

namespace {
/// The first problem of a kernel with this body; "" when there is none.
std::string problem(const std::string& body, const std::string& mesh = "grid b: 1") {
  const auto problems = verify(kernel_of(with_body(body, mesh)));
  return problems.empty() ? std::string() : problems.front();
}
using Catch::Contains;
}  // namespace

TEST_CASE("operands follow the table") {
  CHECK(problem("    %0 = neg %n.1 : i32\n").empty());
  CHECK_THAT(problem("    %0 = neg %n.1, %n.1 : i32\n"), Contains("2 operands; the table wants 1 to 1"));
  CHECK_THAT(problem("    %0 = neg %n.1 : f32\n"), Contains("the result is i32"));
  CHECK_THAT(problem("    %0 = neg %x.1 : f32\n"), Contains("operand 0 is no scalar or tile"));
}

TEST_CASE("elementwise operations have one type and one shape") {
  const std::string tiles = "    %a = iota : f32[8]\n    %b = iota : f32[16]\n    %c = iota : f16[8]\n";
  CHECK(problem(tiles + "    %0 = add %a, %a : f32[8]\n").empty());
  CHECK_THAT(problem(tiles + "    %0 = add %a, %b : f32[8]\n"), Contains("tiles of several shapes"));
  CHECK_THAT(problem(tiles + "    %0 = add %a, %c : f32[8]\n"), Contains("operands of several element types"));
  CHECK_THAT(problem(tiles + "    %0 = lt %a, %a : f32[8]\n"), Contains("the result is bool"));
}

TEST_CASE("values are visible in their region only") {
  CHECK_THAT(problem("    block {\n      %0 = neg %n.1 : i32\n    }\n    %1 = neg %n.1 : i32\n"), Catch::Equals(""));
  Kernel kernel = kernel_of(with_body("    block {\n      %0 = neg %n.1 : i32\n    }\n    %1 = neg %n.1 : i32\n"));
  kernel.body.insts[1].operands[0] = kernel.body.insts[0].regions[0].insts[0].results[0];
  REQUIRE_FALSE(verify(kernel).empty());
  CHECK_THAT(verify(kernel).front(), Contains("an operand is not defined here"));
}

TEST_CASE("terminators stand at the end, and in what they leave") {
  CHECK_THAT(problem("    break\n"), Contains("outside a loop"));
  CHECK_THAT(problem("    exit_block\n"), Contains("outside a block"));
  CHECK_THAT(problem("    block {\n      exit_block\n      commit_smem\n    }\n"),
             Contains("a terminator ends its region"));
}

TEST_CASE("the allocation rules hold in IR made by hand") {
  const std::string smem = "      %s = alloc {name = \"s\"} : smem f32[128]\n";
  const std::string acc = "      %a = alloc {name = \"a\"} : acc f32[64, 64]\n";
  const auto scope = [](const std::string& attrs, const std::string& body) {
    return "    scoped {" + attrs + "} {\n" + body + "    }\n";
  };
  CHECK(problem(scope("collective", smem), "wg w: 2").empty());
  CHECK(problem(scope("collective = false", acc), "wg w: 2").empty());
  CHECK(problem(scope("collective = false", smem)).empty());
  CHECK_THAT(problem(scope("collective = false", smem), "wg w: 2"), Contains("PK0301"));
  CHECK_THAT(problem(scope("collective", acc), "wg w: 2"), Contains("PK0302"));
  CHECK_THAT(problem(scope("collective", smem)), Contains("PK0304"));
  CHECK_THAT(problem("    block {\n" + smem + "    }\n"), Contains("an alloc stands at the start of a scoped region"));
  CHECK_THAT(problem(scope("collective = false", "      commit_smem\n" + smem)),
             Contains("an alloc stands at the start"));
}

TEST_CASE("specialize has an arm for each thread") {
  CHECK(problem("    specialize {arms = [0, 1], registers = [0, 0]} {\n    } {\n    }\n", "wg w: 2").empty());
  CHECK_THAT(problem("    specialize {arms = [0], registers = [0]} {\n    }\n", "wg w: 2"),
             Contains("an arm for each thread"));
  CHECK_THAT(problem("    specialize {arms = [0, 2], registers = [0]} {\n    }\n", "wg w: 2"),
             Contains("arm 2 does not exist"));
}
