// bind_launch: what the arguments say, and why a launch is refused.
#include <catch2/catch.hpp>

#include "support.h"

using pk::test::Program;
using namespace pk;

namespace {

constexpr std::string_view source = R"(
kernel gemm<T: f16 | bf16 = bf16, BM: int = 64, BN: int>(in A: T[M, K], in B: T[K, BN], in s: f32, out C: f32[M, BN])
where M % BM == 0, K > 0
mesh(grid m: M / BM) { C[m * BM, :] = s; }
kernel twice(in x: f32[N], in y: f32[2 * N], out z: f32[N]) mesh(grid b: 1) { z[0] = x[0] + y[0]; }
)";

struct Outcome {
  std::optional<sema::Bindings> bindings;
  std::string message;
  int code = 0;
};

Outcome bind(std::string_view kernel, std::vector<sema::ExplicitGeneric> generics, std::vector<sema::ArgInfo> args) {
  const Program program(source);
  Diagnostics diags;
  Outcome outcome;
  outcome.bindings =
      sema::bind_launch(program.module(), *sema::find_kernel(program.module(), kernel), generics, args, {}, diags);
  if (!diags.all().empty()) {
    outcome.message = diags.all()[0].message;
    outcome.code = diags.all()[0].code;
  }
  return outcome;
}

sema::ArgInfo array(ir::Dtype dtype, ir::Shape shape) { return {dtype, std::move(shape), false, false}; }
sema::ArgInfo number(ir::Dtype dtype) { return {dtype, {}, true, true}; }

}  // namespace

TEST_CASE("generics are deduced from types and extents", "[launch]") {
  const Outcome o =
      bind("gemm", {}, {array(ir::Dtype::f16, {128, 32}), array(ir::Dtype::f16, {32, 48}), number(ir::Dtype::f32)});
  REQUIRE(o.bindings);
  CHECK(std::get<ir::Dtype>(o.bindings->generics.at("T")) == ir::Dtype::f16);
  CHECK(std::get<std::int64_t>(o.bindings->generics.at("BN")) == 48);
  CHECK(std::get<std::int64_t>(o.bindings->generics.at("BM")) == 64);
  CHECK(o.bindings->dims.empty());
}

TEST_CASE("launches are refused in terms of their arguments", "[launch]") {
  const auto a = array(ir::Dtype::f16, {128, 32});
  const auto b = array(ir::Dtype::f16, {32, 48});
  const auto s = number(ir::Dtype::f32);
  const auto refused = [](const Outcome& o, std::string_view word) {
    INFO(o.message);
    CHECK(!o.bindings);
    CHECK(o.code == 907);
    CHECK(o.message.find(word) != std::string::npos);
  };
  refused(bind("gemm", {}, {array(ir::Dtype::f16, {100, 32}), b, s}), "M = 100");
  refused(bind("gemm", {}, {array(ir::Dtype::f16, {0, 0}), array(ir::Dtype::f16, {0, 48}), s}), "K > 0");
  refused(bind("gemm", {}, {a, array(ir::Dtype::f16, {16, 48}), s}), "`K` is 32");
  refused(bind("gemm", {}, {a, array(ir::Dtype::bf16, {32, 48}), s}), "bf16");
  refused(bind("gemm", {}, {array(ir::Dtype::f32, {128, 32}), b, s}), "`f16` and `bf16`");
  refused(bind("gemm", {}, {a, b}), "3 arguments");
  refused(bind("gemm", {}, {a, array(ir::Dtype::f16, {32}), s}), "2 axes");
  refused(bind("gemm", {}, {s, b, s}), "scalar");
  refused(bind("gemm", {{"BN", std::int64_t{24}, {}}}, {a, b, s}), "`BN` is 24");
  refused(bind("gemm", {{"", std::int64_t{24}, {}}}, {a, b, s}), "a type");
  refused(bind("gemm", {{"Q", std::int64_t{24}, {}}}, {a, b, s}), "`Q`");
  refused(bind("twice", {}, {array(ir::Dtype::f32, {8}), array(ir::Dtype::f32, {15})}), "2 * N");
}

TEST_CASE("computed extents that fit are accepted", "[launch]") {
  CHECK(bind("twice", {}, {array(ir::Dtype::f32, {8}), array(ir::Dtype::f32, {16})}).bindings);
}
