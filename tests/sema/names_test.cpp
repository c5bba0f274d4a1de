#include <catch2/catch.hpp>

#include "support.h"

using pk::test::mismatches;

TEST_CASE("unknown names are reported with what is near", "[names]") {
  CHECK(mismatches(R"(
kernel k(in x: f32[128], out y: f32[128]) mesh(grid b: 1) {
    let scale = 2.0;
    y[...] = x[...] * scael;            //! PK0201: `scale`
    y[...] = maxx(x[...], 0.0);         //! PK0204: `max`
    y[...] = x[...] as f23;             //! PK0203: `f32`
    y[...] = exp;                       //! PK0201: call it
}
test t {
    let r = launch kk(iota(f32[128]));  //! PK0205: `k`
    expect_equal(r, s);                 //! PK0201
    expect_equal(r, rr(r));             //! PK0204
}
import std.mth;                         //! PK0206: `std.math`
)") == "");
}

TEST_CASE("a name is defined once in a block, and may be hidden in an inner one", "[names]") {
  CHECK(mismatches(R"(
kernel k(in x: f32[128], out y: f32[128]) mesh(grid b: 1) {
    let a = x[...];
    let a = a;                          //! PK0202: first defined
    { let a = 1.0; y[...] = a; }
    for a in 0 .. 2 { y[a] = 1.0; }
}
kernel k(out y: f32[1]) mesh(grid b: 1) { y[0] = 0.0; }         //! PK0202
kernel same(in x: f32[1], out x: f32[1]) mesh(grid b: 1) { }    //! PK0202
kernel axis(out y: f32[1]) mesh(grid y: 1) { y[0] = 0.0; }      //! PK0202
test t { }
test t { }                              //! PK0202
)") == "");
}

TEST_CASE("names end with their scope", "[names]") {
  CHECK(mismatches(R"(
kernel k(out y: f32[4]) mesh(grid b: 1) {
    scoped (s: smem f32[4]) { s[...] = 0.0; y[...] = s[...]; }
    y[...] = s[...];                    //! PK0201
    for i in 0 .. 4 { y[i] = 0.0; }
    y[i] = 0.0;                         //! PK0201
    let d = d;                          //! PK0201
}
)") == "");
}

TEST_CASE("one mistake is one error", "[names]") {
  CHECK(mismatches(R"(
kernel k(in x: f33[128], out y: f32[128]) mesh(grid b: 1) {     //! PK0203
    let a = x[...] + 1.0;
    let c = a[0:64];
    y[...] = c * nothing_of_this_name;  //! PK0201
    y[0:64] = undefined(c)[0:64];       //! PK0204
}
)") == "");
}

TEST_CASE("items of the library are found by all their names", "[names]") {
  CHECK(mismatches(R"(
import std.math;
kernel k(in x: f32[128], out y: f32[128]) mesh(grid b: 1) {
    y[...] = relu(x[...]) + math.relu(x[...]) + std.math.relu(x[...]) * PI * std.math.PI;
    y[...] = std.math.rellu(x[...]);    //! PK0204: `relu`
    y[...] = std.nothing.relu(x[...]);  //! PK0204: no imported module
}
)") == "");
}

TEST_CASE("kinds of names are not mixed up", "[names]") {
  CHECK(mismatches(R"(
fn f(x: f32) -> f32 { return x; }
mesh M(n: index) = (grid g: n);
kernel k(in x: f32[4], out y: f32[4]) mesh M(1) {
    y[0] = f;                           //! PK0209: call it
    y[0] = f32;                         //! PK0209
    y[0] = k;                           //! PK0209
    y[0] = x(1);                        //! PK0209
    y[0] = k(x);                        //! PK0209: launch
}
kernel l(out y: f32[4]) mesh f(1) { y[0] = 0.0; }     //! PK0209
kernel n(out y: f32[4]) mesh O(1) { y[0] = 0.0; }     //! PK0201
test t { let a = f(1.0); let c = k(a); }              //! PK0209: launch
)") == "");
}
