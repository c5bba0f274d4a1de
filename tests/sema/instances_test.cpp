// The IR of instances: what the back ends rely on.
#include <catch2/catch.hpp>

#include "support.h"

using pk::test::find_insts;
using pk::test::Program;
using namespace pk;

TEST_CASE("parameters, dimensions and mesh", "[instances]") {
  const Program program(R"(
kernel k<BM: int = 64>(in x: f32[M, N], in v: f16[2 * N], in count: i32, out y: f32[M, 4])
where M % BM == 0, BM > 0
mesh(grid m: M / BM, grid q: 3, cluster c: 2, wg w: 2) { if w == 0 { y[m * BM, :] = count as f32; } }
)");
  sema::Bindings bindings;
  bindings.dims.emplace("N", 8);
  const ir::Kernel general = program.kernel("k");
  CHECK(general.dims == std::vector<std::string>{"M", "N"});
  REQUIRE(general.params.size() == 4);
  CHECK(general.params[0].dims[1] == ir::ParamDim{ir::ParamDim::Kind::symbol, 1});
  CHECK(general.params[1].dims[0] == ir::ParamDim{ir::ParamDim::Kind::computed, 4});
  CHECK(general.params[2].type.is_scalar());
  CHECK(general.params[3].dims[1] == ir::ParamDim{ir::ParamDim::Kind::constant, 4});
  CHECK(general.params[0].type.shape == ir::Shape{ir::dynamic_extent, ir::dynamic_extent});
  REQUIRE(general.axes.size() == 4);
  CHECK(general.axes[0].size == ir::dynamic_extent);
  CHECK(general.axes[1].size == 3);
  CHECK(general.thread_count() == 2);
  CHECK(general.cluster_size() == 2);
  REQUIRE(!general.launch.insts.empty());
  CHECK(general.launch.insts.back().op == ir::Op::yield);
  CHECK(general.launch.insts.back().operands.size() == 5);
  int requires_found = 0;
  for (const ir::Inst& inst : general.launch.insts) requires_found += inst.op == ir::Op::require ? 1 : 0;
  CHECK(requires_found == 1);

  const ir::Kernel fixed = program.kernel("k", bindings);
  CHECK(fixed.dims == std::vector<std::string>{"M"});
  CHECK(fixed.params[1].dims[0] == ir::ParamDim{ir::ParamDim::Kind::constant, 16});
}

TEST_CASE("instances report what only they show", "[instances]") {
  const Program program(R"(
kernel k<N: int>(in x: f32[64], out y: f32[N]) mesh(grid b: 1) { y[...] = x[0:N]; }
)");
  sema::Bindings bindings;
  bindings.generics.emplace("N", std::int64_t{32});
  CHECK(program.errors("k", bindings).empty());
  bindings.generics["N"] = std::int64_t{65};
  CHECK(program.errors("k", bindings) == std::vector<int>{404});
  CHECK(program.errors("k", {}) == std::vector<int>{805});
}

TEST_CASE("loads and stores of parts", "[instances]") {
  const Program program(R"(
kernel k(in x: f32[4, N], out y: f32[128]) mesh(grid b: 1) { y[...] = x[2, b * 128 +: 128]; }
)");
  const ir::Kernel kernel = program.kernel("k");
  const auto views = find_insts(kernel, ir::Op::subview);
  REQUIRE(views.size() == 1);
  CHECK(views[0]->operands.size() == 3);
  CHECK(views[0]->attrs.integers(ir::Attr::sizes) == std::vector<std::int64_t>{1, 128});
  CHECK(views[0]->attrs.integers(ir::Attr::squeeze) == std::vector<std::int64_t>{0});
  CHECK(kernel.type(views[0]->results[0]).shape == ir::Shape{128});
  CHECK(find_insts(kernel, ir::Op::load).size() == 1);
  CHECK(find_insts(kernel, ir::Op::store).size() == 1);
}

TEST_CASE("broadcasting is explicit and constants are rounded", "[instances]") {
  const Program program(R"(
kernel k(in x: f16[8, 64], out y: f16[8, 64]) mesh(grid b: 1) { y[...] = x[...] + x[0, :] * 0.1; }
)");
  const ir::Kernel kernel = program.kernel("k");
  CHECK(find_insts(kernel, ir::Op::broadcast).size() == 1);
  bool found = false;
  for (const ir::Inst* constant : find_insts(kernel, ir::Op::constant)) {
    if (constant->attrs.has(ir::Attr::value_float))
      found = constant->attrs.real(ir::Attr::value_float) == 0.0999755859375;
  }
  CHECK(found);
}

TEST_CASE("an unrolled loop has a compile-time counter", "[instances]") {
  const Program program(R"(
kernel k(in x: f32[64], out y: f32[64]) mesh(grid b: 1) {
    let v = x[...];
    unroll for i in 0 .. 4 { y[i * 16 +: 16] = v[(3 - i) * 16 +: 16]; }
}
)");
  const ir::Kernel kernel = program.kernel("k");
  CHECK(find_insts(kernel, ir::Op::for_).empty());
  const auto slices = find_insts(kernel, ir::Op::extract_slice);
  REQUIRE(slices.size() == 4);
  CHECK(slices[0]->attrs.integers(ir::Attr::starts) == std::vector<std::int64_t>{48});
}

TEST_CASE("scalar conditions are evaluated only as far as needed", "[instances]") {
  const Program program(R"(
kernel k(in x: f32[4], in n: i32, out y: f32[4]) mesh(grid b: 1) {
    if n > 0 && x[n as index] > 0.0 { y[0] = 1.0; }
    if n > 0 && n < 3 { y[1] = 1.0; }
}
)");
  const ir::Kernel kernel = program.kernel("k");
  CHECK(find_insts(kernel, ir::Op::if_).size() == 3);
  CHECK(find_insts(kernel, ir::Op::bit_and).size() == 1);
}

TEST_CASE("a pipeline has its transfers, blocks and one step", "[instances]") {
  const Program program(R"(
kernel k(in x: f32[K, 64], out y: f32[K, 64]) mesh(wg w: 2) {
    pipeline k in 0 .. K stages(3) delay_release(1) specialize(w, memory 1 registers(40), compute 0 registers(232))
        load a = x.at[k, :] oob(nan), store c = y.at[k, :]
    { c[...] = a[...]; }
}
)");
  const ir::Kernel kernel = program.kernel("k");
  const auto pipelines = find_insts(kernel, ir::Op::pipeline);
  REQUIRE(pipelines.size() == 1);
  const ir::Inst& p = *pipelines[0];
  CHECK(p.operands.size() == 2);
  CHECK(p.attrs.integer(ir::Attr::stages) == 3);
  CHECK(p.attrs.integer(ir::Attr::delay_release) == 1);
  CHECK(p.attrs.integer(ir::Attr::memory, -1) == 1);
  CHECK(p.attrs.integers(ir::Attr::compute) == std::vector<std::int64_t>{0});
  REQUIRE(p.regions.size() == 2);
  CHECK(p.regions[0].args.size() == 1);
  CHECK(p.regions[1].args.size() == 2);
  const auto transfers = find_insts(kernel, ir::Op::transfer);
  REQUIRE(transfers.size() == 2);
  CHECK(transfers[0]->attrs.text(ir::Attr::oob) == "nan");
  CHECK(transfers[1]->attrs.flag(ir::Attr::store));
  CHECK(find_insts(kernel, ir::Op::step).size() == 1);
}

TEST_CASE("a blocked kernel becomes a mesh and a pipeline", "[instances]") {
  const Program program(R"(
kernel k(in x: f32[M, N] block[16, 64] at [i, j], inout y: f32[M, N] block[16, 64] at [i, j])
grid(i: parallel M / 16, j: sequential N / 64) stages(2) scratch(s: smem f32[16, 64]) { s[...] = x[...]; y[...] += s[...]; }
)");
  const ir::Kernel kernel = program.kernel("k");
  REQUIRE(kernel.axes.size() == 1);
  CHECK(kernel.axes[0].kind == ir::MeshAxis::Kind::grid);
  const auto scopes = find_insts(kernel, ir::Op::scoped);
  REQUIRE(scopes.size() == 1);
  CHECK(!scopes[0]->attrs.flag(ir::Attr::collective));
  const auto pipelines = find_insts(kernel, ir::Op::pipeline);
  REQUIRE(pipelines.size() == 1);
  CHECK(pipelines[0]->attrs.flag(ir::Attr::blocked));
  const auto transfers = find_insts(kernel, ir::Op::transfer);
  REQUIRE(transfers.size() == 2);
  CHECK(!transfers[0]->attrs.flag(ir::Attr::store));
  CHECK(transfers[1]->attrs.flag(ir::Attr::load_back));
  CHECK(transfers[1]->attrs.text(ir::Attr::oob) == "zero");
}

TEST_CASE("approximate maths is allowed where the program says so", "[instances]") {
  const Program program(R"(
kernel k(in x: f32[64], out y: f32[64]) mesh(grid b: 1) {
    y[...] = exp(x[...]);
    y[...] = fast(exp(x[...]));
    fast { y[...] = exp(x[...]); }
}
)");
  const auto kernel = program.kernel("k");
  const auto exps = find_insts(kernel, ir::Op::exp);
  REQUIRE(exps.size() == 3);
  CHECK(!exps[0]->attrs.flag(ir::Attr::fast));
  CHECK(exps[1]->attrs.flag(ir::Attr::fast));
  CHECK(exps[2]->attrs.flag(ir::Attr::fast));
}

TEST_CASE("dtype parameters choose at compile time", "[instances]") {
  const Program program(R"(
kernel k<T: f16 | f32>(in x: T[64], out y: f32[64]) mesh(grid b: 1) { y[...] = x[...] as f32; }
)");
  sema::Bindings bindings;
  bindings.generics.emplace("T", ir::Dtype::f16);
  CHECK(find_insts(program.kernel("k", bindings), ir::Op::cast).size() == 1);
  bindings.generics["T"] = ir::Dtype::f32;
  CHECK(find_insts(program.kernel("k", bindings), ir::Op::cast).empty());
}
