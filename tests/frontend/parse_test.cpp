#include <catch2/catch.hpp>

#include "parsed.h"

using pk::test::expression;
using pk::test::Parsed;

TEST_CASE("operators bind as the reference says") {
  CHECK(expression("a + b * c") == "(a + (b * c))");
  CHECK(expression("a - b - c") == "((a - b) - c)");
  CHECK(expression("a << b + c") == "(a << (b + c))");
  CHECK(expression("a >> 1 >> 2") == "((a >> 1) >> 2)");
  CHECK(expression("a & b == c") == "((a & b) == c)");
  CHECK(expression("a | b ^ c & d") == "(a | (b ^ (c & d)))");
  CHECK(expression("a || b && !c") == "(a || (b && (!c)))");
  CHECK(expression("-a * b") == "((-a) * b)");
  CHECK(expression("a * b as f32") == "(a * (b as f32))");
  CHECK(expression("-a as i8 as i16") == "(((-a) as i8) as i16)");
  CHECK(expression("(a + b) * c") == "((a + b) * c)");
}

TEST_CASE("a < is a comparison unless a > before a parenthesis closes it") {
  CHECK(expression("a < b") == "(a < b)");
  CHECK(expression("a < b && c > d") == "((a < b) && (c > d))");
  CHECK(expression("f<4>(x)") == "f<4>(x)");
  CHECK(expression("f<N + 1, T = f16>(x) < 3") == "(f<(N + 1), T = f16>(x) < 3)");
  CHECK(expression("launch k<16>(x)") == "(launch k<16>(x))");
}

TEST_CASE("indices have all their forms") {
  CHECK(expression("x[i, lo:hi, s +: 4, :, ..., new, :n, m:]") == "x[i, lo:hi, s +: 4, :, ..., new, :n, m:]");
  CHECK(expression("x.at[i].T.peer[c = 1 - c, d = 0][...]") == "x.at[i].T.peer[c = (1 - c), d = 0][...]");
  CHECK(expression("acc.load(wait = k)") == "acc.load(wait = k)");
  CHECK(expression("f(x, oob(zero))") == "f(x, oob = zero)");
  CHECK(expression("sync(w, {0, 1})") == "sync(w, {0, 1})");
  CHECK(expression("[(1, 2), (3,)]") == "[(1, 2), (3,)]");
}

TEST_CASE("literals") {
  CHECK(expression("0x_ff + 0b101 + 1_000") == "((255 + 5) + 1000)");
  CHECK(expression("18446744073709551615") == "18446744073709551615");
  CHECK(expression("18446744073709551616") == "PK0109 1:11 this number does not fit 64 bits");
  CHECK(expression("0x") == "PK0101 1:12 expected `;`, found `x`");
  CHECK(expression("1.5e3 + 2e-3") == "(1500.0 + 0.002)");
  CHECK(expression("1e999") == "PK0109 1:11 this number is too large or too small for a double");
  CHECK(expression(R"("a\n\"b\\")") == R"("a\n\"b\\")");
  CHECK(expression(R"("\q")") == "PK0109 1:12 unknown escape in a string");
}

TEST_CASE("words of the syntax are names where a name is expected") {
  CHECK(expression("load + store + step + block + at + wg + mesh + test") ==
        "(((((((load + store) + step) + block) + at) + wg) + mesh) + test)");
  CHECK(
      Parsed("kernel f(in block: f32[N]) mesh(grid at: 1) { let step = 1; step = 2; fast = step; }").errors().empty());
}

TEST_CASE("a mesh axis parses without name and without size") {
  const Parsed p("kernel f() mesh(grid b, wg: 2, cluster) { }");
  CHECK(p.errors().empty());
  CHECK(p.printed() == "kernel f\n  mesh\n    axis grid b\n    axis wg: 2\n    axis cluster\n  body\n");
  const auto& kernel = std::get<pk::ast::Kernel>(p.tree.items.at(0).node);
  CHECK_FALSE(kernel.mesh->axes[1].name.present());
}

TEST_CASE("statements of every kind") {
  const Parsed p(R"(kernel f<T: f16 | bf16 = bf16, N: int>(in x: T[M, N], n: i32) where M % 2 == 0 mesh Hopper(M, N) {
    let (a, b) = launch g(x);
    var v: f32 = 1.0;
    v <<= 2;
    unroll for i in 0 .. 4 step 2 { continue; }
    while v < 3 { break; }
    if a { return; } else if b { return a; } else { fast { v = 1; } }
    scoped collective(w) (
        s: smem T[4, N] tiled(8, 64) swizzle(128),
        union { p: smem f32[4], q: smem i32[4] },
        q: semaphore[4] global,
        acc: acc f32[4] = zeros(f32[4]),
    ) {
        specialize w { 0, 1 registers(232) => { step { } } else => { } }
        pipeline (i, k) in (0 .. a, 0 .. b) stages(4) specialize(w, memory 2 registers(40), compute 0, 1)
            load t = x.at[i, :] collective(c) oob(zero), store u = x.at[k, :]
        compute { }
    }
    expect_error("PK0907") { { } }
}
)");
  CHECK(p.errors().empty());
  CHECK(p.printed() == R"(kernel f
  generic T: f16 | bf16 = bf16
  generic N: int
  param in x: T[M, N]
  param n: i32
  where ((M % 2) == 0)
  mesh Hopper(M, N)
  body
    let a, b = (launch g(x))
    var v: f32 = 1.0
    assign v <<= 2
    unroll for i in 0 .. 4 step 2
      continue
    while (v < 3)
      break
    if a
      return
    else
      if b
        return a
      else
        fast
          assign v = 1
    scoped collective(w)
      alloc s: smem T[4, N] tiled(8, 64) swizzle(128)
      union
        alloc p: smem f32[4]
        alloc q: smem i32[4]
      alloc q: semaphore[4] global
      alloc acc: acc f32[4] = zeros(f32[4])
      specialize w
        arm 0, 1 registers(232)
          step
        arm else
      pipeline i in 0 .. a, k in 0 .. b stages(4)
        specialize w memory 2 registers(40) compute 0, 1
        load t = x.at[i, :] collective(c) oob(zero)
        store u = x.at[k, :]
        compute
    expect_error "PK0907"
      block
)");
}

TEST_CASE("items of every kind, with their comments") {
  const Parsed p(R"(// not a doc comment
import std.math;
/// Half.
/// Of it.
const HALF: int = N / 2;
mesh Wide(p: index) = (grid m: p, cluster c: 16 nonportable, wg w: 2);
fn f<N: int>(x: f32[N], out y: smem f32[N] swizzle(64), t: T[...]) -> (f32[N], i32) { return (x, 1); }
kernel g(in x: f32[N] block[128] at [i] oob(nan)) grid(i: parallel N / 128, k: sequential 4) stages(2) scratch(s: smem f32[4]) { }
test t { }
)");
  CHECK(p.errors().empty());
  REQUIRE(p.tree.items.size() == 6);
  CHECK(p.tree.items[0].doc.empty());
  CHECK(p.tree.items[1].doc == "Half.\nOf it.\n");
  CHECK(p.printed() == R"(import std.math
const HALF: int = (N / 2)
mesh Wide
  param p: index
  axis grid m: p
  axis cluster c: 16 nonportable
  axis wg w: 2
fn f -> (f32[N], i32)
  generic N: int
  param x: f32[N]
  param out y: smem f32[N] swizzle(64)
  param t: T[...]
  body
    return (x, 1)
kernel g
  param in x: f32[N] block[128] at [i] oob(nan)
  grid stages(2)
    axis i: parallel (N / 128)
    axis k: sequential 4
    alloc s: smem f32[4]
  body
test t
)");
}

TEST_CASE("spans are byte offsets, also behind characters of several bytes") {
  const Parsed p("// größe ⟨x⟩\ntest t { let naïve = \"é\"; }");
  CHECK(p.errors() == std::vector<std::string>{"PK0103 2:16 `ï` means nothing in pk"});
  const Parsed q("/* ∀ */ test t { let x = \"é\" + (a * b) * c; }");
  REQUIRE(q.errors().empty());
  const auto& test = std::get<pk::ast::Test>(q.tree.items.at(0).node);
  CHECK(q.text(q.tree.items[0].span) == "test t { let x = \"é\" + (a * b) * c; }");
  const auto& let = std::get<pk::ast::Let>(q.tree[test.body.stmts.at(0)].node);
  const auto& sum = std::get<pk::ast::Binary>(q.tree[let.init].node);
  CHECK(q.text(q.tree[let.init].span) == "\"é\" + (a * b) * c");
  CHECK(q.text(sum.op_span) == "+");
  CHECK(q.text(q.tree[sum.right].span) == "(a * b) * c");
  CHECK(q.text(q.tree[std::get<pk::ast::Binary>(q.tree[sum.right].node).left].span) == "a * b");
}
