#include <catch2/catch.hpp>

#include "support.h"

using pk::test::find_insts;
using pk::test::mismatches;
using pk::test::Program;
using namespace pk;

TEST_CASE("arguments of functions", "[functions]") {
  CHECK(mismatches(R"(
fn mix<N: int>(p: f32[N], t: f32) -> f32[N] { return p * t; }
fn any<T: f16 | f32>(x: T[...], z: T[...]) -> T[...] { return x + z; }
fn rows(in a: smem f32[64], out y: f32[64]) { y[...] = a[...]; }
kernel k(in x: f32[64], in i: i32[64], out y: f32[64]) mesh(grid b: 1) {
    y[...] = mix(x[...], 0.5);
    y[...] = mix(x[...], x[...]);       //! PK0402: `t`
    y[...] = mix(x[...]);               //! PK0410: `t`
    y[...] = mix(x, 0.5);               //! PK0401: load it
    y[...] = mix(i[...], 0.5);          //! PK0401: i32
    y[...] = mix<32>(x[...], 0.5);      //! PK0402: [32]
    y[...] = mix(t = 0.5, p = x[...]);
    y[...] = mix(x[...], q = 0.5);      //! PK0208: `q`
    y[...] = any(x[...], 1.0);
    y[...] = any(x[...], x[0:32]);      //! PK0402: one shape
    y[0] = any(1.0, x[0]);
    y[...] = any(i[...], i[...]) as f32;        //! PK0806: i32
    rows(x, y);                         //! PK0401: smem
    scoped (s: smem f32[64]) {
        s[...] = x[...];
        rows(s, y);
        rows(s, x);                     //! PK0414
        rows(s[...], y);                //! PK0413: .at
        let none = rows(s, y);          //! PK0401: no result
    }
}
)") == "");
}

TEST_CASE("recursion and results", "[functions]") {
  CHECK(mismatches(R"(
fn a(x: f32) -> f32 { return c(x); }
fn c(x: f32) -> f32 { return a(x); }    //! PK0207: `a`
fn d(x: f32) -> f32 { let y = x; }      //! PK0420: `d`
fn e(x: f32) -> (f32, f32) { return x; }        //! PK0401: tuple
fn f(x: f32) { return x; }              //! PK0401: no result
fn g(x: f32) -> f32 { if x > 0.0 { return 1.0; } else { return -1.0; } }
fn h(x: f32[8]) -> f32[8] { return x[0:4]; }    //! PK0402: f32[8]
kernel k(out y: f32[4]) mesh(grid b: 1) {
    y[0] = a(1.0);
    y[1] = g(2.0);
    return 3;                           //! PK0401: out
}
)") == "");
}

TEST_CASE("a function is checked where no kernel calls it", "[functions]") {
  CHECK(mismatches(R"(
fn f<N: int, T: f16 | f32>(x: T[N], out y: T[N]) {
    y[...] = x[missing] * (w as f32) as T;      //! PK0201: missing
    scoped collective(w) (s: smem T[N]) { s[...] = x; y[...] = s[...] * 2; }
}
kernel k(out y: f32[2]) mesh(wg w: 2) { y[w] = 0.0; }
)") == "");
}

TEST_CASE("a mistake in a function names the calls that lead there", "[functions]") {
  CHECK(mismatches(R"(
fn inner<N: int>(x: f32[N]) -> f32[N] { return x + zeros(f32[4]); }    //! PK0402: in this call of `outer`
fn outer<N: int>(x: f32[N]) -> f32[N] { return inner(x); }
kernel k(in x: f32[8], out y: f32[8]) mesh(grid b: 1) { y[...] = outer(x[...]); }
)") == "");
}

TEST_CASE("instructions of inlined functions remember their calls", "[functions]") {
  const Program program(R"(
fn twice(x: f32) -> f32 { return exp(x) * 2.0; }
fn four(x: f32) -> f32 { return twice(x) * 2.0; }
kernel k(in x: f32[1], out y: f32[1]) mesh(grid b: 1) { y[0] = four(x[0]); }
)");
  const ir::Kernel kernel = program.kernel("k");
  const auto exps = find_insts(kernel, ir::Op::exp);
  REQUIRE(exps.size() == 1);
  const ir::CallSite& call = kernel.calls.at(exps[0]->loc.call.raw);
  CHECK(call.function == "twice");
  REQUIRE(call.parent.valid());
  CHECK(kernel.calls.at(call.parent.raw).function == "four");
}

TEST_CASE("an early return leaves a block through a cell", "[functions]") {
  const Program program(R"(
fn f(x: f32) -> f32 {
    if x > 0.0 { return 1.0; }
    return x;
}
kernel k(in x: f32[1], out y: f32[1]) mesh(grid b: 1) { y[0] = f(x[0]); }
)");
  const ir::Kernel kernel = program.kernel("k");
  CHECK(find_insts(kernel, ir::Op::block).size() == 1);
  CHECK(find_insts(kernel, ir::Op::exit_block).size() == 2);
  CHECK(find_insts(kernel, ir::Op::var_set).size() == 2);
}
