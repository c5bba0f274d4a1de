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

TEST_CASE("constants, coordinates and dimensions have their types") {
  CHECK(problem("    %0 = constant {value_float = 0.5} : f16\n").empty());
  CHECK_THAT(problem("    %0 = constant {value_int = 1} : f32\n"), Contains("a floating constant has `value_float`"));
  CHECK_THAT(problem("    %0 = coord {axis = 0} : i32\n"), Contains("the result has another type"));
  CHECK_THAT(problem("    %0 = coord {axis = 1} : index\n"), Contains("`axis` names an axis of the mesh"));
  CHECK_THAT(problem("    %0 = dim_value {dim = 1} : index\n"), Contains("`dim` names a dimension"));
}

TEST_CASE("operations on tiles follow the shapes") {
  const std::string tiles = "    %a = iota {axis = 0} : f32[8, 16]\n    %m = iota {axis = 0} : i32[8]\n";
  const auto of = [&](const std::string& line) { return problem(tiles + "    %r = " + line + "\n"); };
  CHECK(of("transpose %a {perm = [1, 0]} : f32[16, 8]").empty());
  CHECK_THAT(of("transpose %a {perm = [1, 1]} : f32[16, 16]"), Contains("`perm` names each axis once"));
  CHECK_THAT(of("transpose %a {perm = [1, 0]} : f32[8, 16]"), Contains("gives the result's shape"));
  CHECK(of("broadcast %m : i32[4, 8]").empty());
  CHECK_THAT(of("broadcast %m : i32[8, 4]"), Contains("only axes of extent 1 are repeated"));
  CHECK_THAT(of("reshape %a : f32[100]"), Contains("keeps the number of elements"));
  CHECK(of("concat %a, %a {axis = 1} : f32[8, 32]").empty());
  CHECK_THAT(of("concat %a, %a {axis = 1} : f32[16, 16]"), Contains("differ along `axis` only"));
  CHECK(of("extract_slice %a {starts = [4, 0]} : f32[4, 16]").empty());
  CHECK_THAT(of("extract_slice %a {starts = [5, 0]} : f32[4, 16]"), Contains("a slice lies within its tile"));
  CHECK_THAT(of("splat %m : i32[8, 8]"), Contains("the operand is a scalar"));
  CHECK(of("reduce_sum %a {axis = 1} : f32[8]").empty());
  CHECK_THAT(of("reduce_sum %a {axis = 2} : f32[8]"), Contains("names an axis of its tile"));
  CHECK_THAT(of("reduce_sum %a {axis = 0} : f32[8]"), Contains("removes one axis"));
  CHECK_THAT(of("reduce_any %a {axis = 1} : f32[8]"), Contains("no operation on f32"));
  CHECK_THAT(of("cumsum %a {axis = 1} : f32[16, 8]"), Contains("the result has the operand's type"));
  CHECK_THAT(of("exp %m : i32[8]"), Contains("no operation on i32"));
  CHECK(of("bitcast %a : i32[8, 16]").empty());
  CHECK_THAT(of("bitcast %a : i16[8, 16]"), Contains("a bitcast keeps the width"));
  CHECK_THAT(of("cast %a : f16[8]"), Contains("the result's shape is not the operand's"));
}

TEST_CASE("views, loads and stores follow the ref") {
  const std::string scope =
      "    scoped {collective = false} {\n      %s = alloc {name = \"s\"} : smem f32[4, 8]\n"
      "      %b = alloc {name = \"b\"} : barrier[2]\n"
      "      %t = iota {axis = 0} : f32[8]\n      %c0 = constant {value_int = 0} : index\n";
  const auto of = [&](const std::string& line) { return problem(scope + "      " + line + "\n    }\n"); };
  const std::string row = "%v = subview %s, %c0, %c0 {sizes = [1, 8], squeeze = [0]} : smem f32";
  CHECK(of(row + "[8]").empty());
  CHECK_THAT(of(row + "[1, 8]"), Contains("the axes that are not squeezed"));
  CHECK_THAT(of("%v = subview %s, %c0 {sizes = [4, 8], squeeze = []} : smem f32[4, 8]"),
             Contains("a start and a size for each axis"));
  CHECK_THAT(of("%v = subview %s, %c0, %c0 {sizes = [2, 8], squeeze = [0]} : smem f32[8]"),
             Contains("a squeezed axis has the size 1"));
  CHECK(of("%v = ref_transpose %s : smem f32[8, 4]").empty());
  CHECK_THAT(of("%v = ref_transpose %s : smem f32[4, 8]"), Contains("two axes exchanged"));
  CHECK_THAT(of("%v = ref_reshape %s : smem f32[4, 4]"), Contains("keeps the number of elements"));
  CHECK_THAT(of("%v = load %s : f32[8]"), Contains("a load gives the ref's type"));
  CHECK_THAT(of("%v = load %b : f32[2]"), Contains("a ref to memory"));
  CHECK_THAT(of("%v = load %t : f32[8]"), Contains("a ref to memory"));
  CHECK_THAT(of("store %s, %t"), Contains("a tile of another shape than the ref"));
  CHECK_THAT(of("store %s, %c0"), Contains("operand 1 is index, not f32"));
  CHECK_THAT(of("%v = load_masked %s, %t, %t : f32[4, 8]"), Contains("operand 1 is f32, not bool"));
  CHECK_THAT(of("%v = var %s : cell f32[4, 8]"), Contains("operand 0 is no scalar or tile"));
  CHECK_THAT(of("barrier_wait %b"), Contains("operand 0 is no single barrier"));
  CHECK_THAT(of("semaphore_signal %b, %c0"), Contains("operand 0 is no semaphore ref"));
  CHECK_THAT(of("copy_gmem_to_smem %s, %s, %b"), Contains("operand 0 is no gmem ref"));
  CHECK_THAT(of("copy_smem_to_gmem %s, %y.1"), Contains("source and destination have one shape"));
  CHECK_THAT(of("wgmma %s, %s, %s"), Contains("operand 0 is no acc ref"));
  CHECK_THAT(of("sync {threads = [0, 1]}"), Contains("there is no thread 1"));
}

TEST_CASE("the axes of cluster barriers follow the allocation rules") {
  const auto barrier = [](const std::string& axes) {
    return problem("    scoped {collective = false} {\n      %b = alloc {name = \"b\", axes = " + axes +
                       ", arrivals = 1} : cluster_barrier[]\n    }\n",
                   "cluster c: 2");
  };
  CHECK(barrier("[0]").empty());
  CHECK_THAT(barrier("[]"), Contains("PK0305"));
  CHECK_THAT(barrier("[1]"), Contains("PK0305"));
  CHECK_THAT(barrier("[0, 0]"), Contains("PK0305"));
  CHECK_THAT(
      problem("    scoped {collective = false} {\n      %b = alloc {name = \"b\", axes = [0]} : cluster_barrier[]\n"
              "    }\n"),
      Contains("PK0303"));
  CHECK_THAT(
      problem("    scoped {collective = false} {\n      %s = alloc {name = \"s\", global} : smem f32[8]\n    }\n"),
      Contains("PK0314"));
}

TEST_CASE("control flow has its conditions and counters") {
  CHECK_THAT(problem("    if %n.1 {\n    }\n"), Contains("the condition is a bool"));
  CHECK_THAT(problem("    while {\n      yield %n.1\n    } {\n    }\n"), Contains("yields the condition"));
  CHECK(problem("    for %n.1, %n.1, %n.1 (%i: i32) {\n    }\n").empty());
  CHECK_THAT(problem("    for %n.1, %n.1, %n.1 (%i: index) {\n    }\n"), Contains("the body has the counter"));
  CHECK_THAT(problem("    block (%i: index) {\n    }\n"), Contains("regions without arguments"));
  CHECK_THAT(problem("    assert %n.1 {text = \"\"}\n"), Contains("the condition is a bool"));
}

namespace {
/// A pipeline with one load, with these attributes, block type, and body of its step.
std::string pipeline(const std::string& attrs = "stages = 2, delay_release = 0",
                     const std::string& block = "smem f32[128]", const std::string& step = "",
                     const std::string& transfers = "      transfer %v {name = \"x_s\"}\n") {
  return "    %c0 = constant {value_int = 0} : index\n    pipeline %c0, %c0 {" + attrs +
         "} (%k: index) {\n      %v = subview %x.1, %k, %c0 {sizes = [1, 128], squeeze = [0]} : gmem f32[128]\n" +
         transfers + "    } (%x_s: " + block + ") {\n      step (%j: index) {\n" + step + "      }\n    }\n";
}
}  // namespace

TEST_CASE("pipelines have a step, and a block of the right type for each transfer") {
  CHECK(problem(pipeline()).empty());
  CHECK_THAT(problem(pipeline("stages = 0")), Contains("a stage at least"));
  CHECK_THAT(problem(pipeline("stages = 2, delay_release = 2")), Contains("`delay_release` is less than `stages`"));
  CHECK_THAT(problem(pipeline("stages = 2", "smem f16[128]")), Contains("a block has the type of what it holds"));
  CHECK_THAT(problem(pipeline("stages = 2", "gmem f32[128]")), Contains("a block lies in shared memory"));
  CHECK_THAT(problem(pipeline("stages = 2", "smem f32[128]", "", "")), Contains("a block for each transfer"));
  CHECK_THAT(problem(pipeline("stages = 2", "smem f32[128]", "", "      transfer %v {name = \"x_s\"}\n      trap\n")),
             Contains("only views and what they need"));
  CHECK_THAT(problem(pipeline("stages = 2", "smem f32[128]", "        break\n")), Contains("outside a loop"));
  const std::string roles = "stages = 2, memory = 1, compute = ";
  CHECK(problem(pipeline(roles + "[0]"), "wg w: 2").empty());
  CHECK_THAT(problem(pipeline(roles + "[]"), "wg w: 2"), Contains("a compute thread at least"));
  CHECK_THAT(problem(pipeline(roles + "[0, 1]"), "wg w: 2"), Contains("a thread has one role"));
  CHECK_THAT(problem(pipeline(roles + "[2]"), "wg w: 2"), Contains("roles are those of threads"));
  Kernel repeated = kernel_of(with_body(pipeline()));
  Region& body = repeated.body.insts.back().regions[1];
  Inst loop{Op::while_, {}, {}, {}, {}, {}};
  loop.regions.resize(2);
  std::swap(loop.regions[1].insts, body.insts);
  body.insts.push_back(std::move(loop));
  const std::vector<std::string> problems = verify(repeated);
  CHECK(std::any_of(problems.begin(), problems.end(), [](const std::string& text) {
    return text.find("where it is reached once") != std::string::npos;
  }));
  CHECK_THAT(problem("    step (%j: index) {\n    }\n"), Contains("in the second region of a pipeline"));
  CHECK_THAT(problem("    %c0 = constant {value_int = 0} : index\n    %v = subview %x.1, %c0, %c0 "
                     "{sizes = [1, 128], squeeze = [0]} : gmem f32[128]\n    transfer %v {name = \"x\"}\n"),
             Contains("in the first region of a pipeline"));
}

TEST_CASE("the launch region computes and yields extents") {
  Kernel kernel = kernel_of(with_body(""));
  REQUIRE(verify(kernel).empty());
  Kernel without = kernel;
  without.launch.insts.pop_back();
  REQUIRE_FALSE(verify(without).empty());
  CHECK_THAT(verify(without).front(), Contains("ends in a yield of extents"));
  kernel.launch.insts.back().operands.clear();
  REQUIRE_FALSE(verify(kernel).empty());
  CHECK_THAT(verify(kernel).front(), Contains("extents: 1 of them"));
}
