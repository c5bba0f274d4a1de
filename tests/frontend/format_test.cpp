#include <catch2/catch.hpp>

#include "pk/frontend/parse.h"

namespace {

std::string format(const std::string& text) {
  pk::Sources sources;
  const pk::Result<std::string> out = format_source(sources, sources.add("a.pk", text));
  return out ? *out : "error: " + out.error().message;
}
/// Formats, and checks that formatting again changes nothing.
std::string format_twice(const std::string& text) {
  const std::string once = format(text);
  CHECK(format(once) == once);
  return once;
}

}  // namespace

TEST_CASE("spaces and indentation follow from the syntax") {
  CHECK(format_twice(
            "kernel f < T:f16|bf16=bf16 > ( in x:T[ M,N ] ,n:i32 )where M%2==0 mesh( wg w : 2 ){\n"
            "let ( a,b )=launch g < 4 >( x )  ;\nif a<b&&! c{y [ i , lo : hi,s+:4,: ,... ]=- x.at [ 0 ]as f32>>2;}\n"
            "  for i in 0..4 step 2{\nsync( w,{ 0,1 } );\n}\n }\n") ==
        "kernel f<T: f16 | bf16 = bf16>(in x: T[M, N], n: i32) where M % 2 == 0 mesh(wg w: 2) {\n"
        "    let (a, b) = launch g<4>(x);\n"
        "    if a < b && !c { y[i, lo:hi, s +: 4, :, ...] = -x.at[0] as f32 >> 2; }\n"
        "    for i in 0 .. 4 step 2 {\n"
        "        sync(w, {0, 1});\n"
        "    }\n"
        "}\n");
}

TEST_CASE("well-formatted text stays as it is") {
  const std::string text = R"(// A file.
import std.math;

/// Adds.
kernel add<BLK: int = 256>(
    in  x: f32[N] block[BLK] at [i] oob(nan),   // first
    out y: f32[N] block[BLK] at [i])
where N % BLK == 0
grid(i: parallel N / BLK) stages(2)
{
    y[...] = x[...] + 1.0;
}

mesh Wide(p: index) = (grid m: p, wg w: 2);

kernel relay(in x: f32[8]) mesh Wide(4) {
    scoped collective(w) (
        queue: smem f32[3, 128],     // slots
        union { a: smem f32[4], b: smem i32[4] },
        s:     semaphore[4] global,
    ) {
        // Roles.
        specialize w {
            0, 1 registers(40) => {
                copy(a.at[rows +: HALF, :],
                     b.at[0]);
            }
            else => { }
        }
        pipeline k in 0 .. K / 4
            stages(4) specialize(w, memory 2, compute 0, 1)
            load a_s = x.at[k] collective(c),
            store b_s = x.at[k]
        compute {
            step {                   // once per k

                f(); /* what */
            }
        }
        if a {
            g();
        } else if b { h(); } else {
            i();
        }
        // Last.
    }
}
// End.
)";
  std::string want = text;
  want.erase(want.find("per k\n\n") + 6, 1);  // the one thing to change: a blank line at the start of a block
  CHECK(format_twice(text) == want);
}

TEST_CASE("columns are aligned where their author aligned them") {
  CHECK(format_twice("kernel f(\n in x: f32[N],\n out  y: f32[N],\n n: i32) mesh(grid b: 1) { }") ==
        "kernel f(\n    in  x: f32[N],\n    out y: f32[N],\n    n: i32)\nmesh(grid b: 1)\n{ }\n");
  CHECK(format_twice("kernel f(in   x: f32[N]) mesh(grid b: 1) { }") == "kernel f(in x: f32[N]) mesh(grid b: 1) { }\n");
}

TEST_CASE("lines over the limit are broken outside as many brackets as possible") {
  const std::string name(40, 'n');
  CHECK(format_twice("test t { let x = f(" + name + ", g(" + name + ", " + name + "), " + name + "); }") ==
        "test t {\n    let x = f(" + name + ",\n" + std::string(14, ' ') + "g(" + name + ", " + name + "),\n" +
            std::string(14, ' ') + name + ");\n}\n");
  CHECK(format_twice("test t { let x = " + name + " + " + name + " + " + name + "; }") ==
        "test t {\n    let x = " + name + " + " + name + "\n        + " + name + ";\n}\n");
}

TEST_CASE("a head over the limit is broken before its clauses") {
  const std::string name(80, 'n');
  CHECK(format_twice("kernel " + name + "(in x: f32[128]) where N > 0 mesh(grid b: 1) { }") ==
        "kernel " + name + "(in x: f32[128]) where N > 0\nmesh(grid b: 1)\n{ }\n");
}

TEST_CASE("what a line cannot hold is put on more of them") {
  CHECK(format_twice("test t { a(); b(); }") == "test t { a(); b(); }\n");
  CHECK(format_twice("test t {\na(); b(); }") == "test t {\n    a();\n    b();\n}\n");
  CHECK(format_twice("test t { a(); // x\n b(); }") == "test t {\n    a();  // x\n    b();\n}\n");
  CHECK(format_twice("test t { } test u { }\r\n\r\n\r\n\r\ntest v { }\r\n") ==
        "test t { }\ntest u { }\n\ntest v { }\n");
  CHECK(format_twice("") == "");
  CHECK(format_twice("// only a comment   ") == "// only a comment\n");
  const std::string wide = "/* " + std::string(200, 'x') + " */";
  CHECK(format_twice(wide) == wide + "\n");
}

TEST_CASE("text with errors is not formatted") {
  CHECK(format("test t { x = ; }") == "error: the file has syntax errors");
}
