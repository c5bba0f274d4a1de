#include <catch2/catch.hpp>

#include "support.h"

using pk::test::mismatches;

TEST_CASE("conditions and bounds", "[control]") {
  CHECK(mismatches(R"(
kernel k(in x: f32[8], in n: i32, out y: f32[8]) mesh(grid b: 1) {
    if n { y[0] = 0.0; }                //! PK0406: n != 0
    if x[...] > 0.0 { y[0] = 0.0; }     //! PK0406: any(
    while x[0] { y[0] = 0.0; }          //! PK0406: bool
    for i in 0 .. 2.5 { y[i] = 0.0; }   //! PK0401: 2.5
    for i in 0 .. n { y[i as index] = 0.0; }
    for i in b .. n { y[0] = 0.0; }     //! PK0401: i32
    for i in 0 .. 8 step 0 { y[i] = 0.0; }      //! PK0411: step
    break;                              //! PK0416: loop
    y[...] = 0.0;
}
)") == "");
}

TEST_CASE("each thread has one arm", "[control]") {
  CHECK(mismatches(R"(
kernel k(out y: f32[3, 8]) mesh(grid b: 1, wg w: 3) {
    specialize w { 0 => { y[0, :] = 0.0; } 1 => { } }                 //! PK0417: thread 2
    specialize w { 0, 1 => { } 1, 2 => { } }                          //! PK0417: thread 1
    specialize w { 0, 1, 2 => { } 3 => { } }                          //! PK0417: thread 3
    specialize b { 0 => { } }                                         //! PK0417: wg axis
    specialize v { 0 => { } }                                         //! PK0201
    specialize w { 1 => { } else => { y[w, :] = 1.0; } }
    sync(b);                                                          //! PK0411: wg
    sync(w, {0, 3});                                                  //! PK0404: 3
}
)") == "");
}

TEST_CASE("branches that are not taken are checked for names only", "[control]") {
  CHECK(mismatches(R"(
kernel k<N: int = 8>(in x: f32[N], out y: f32[N]) mesh(grid b: 1) {
    if N == 4 { y[...] = x[100:108]; } else { y[...] = x[...]; }
    if N == 8 && x[0] > 0.0 { y[...] = 0.0; } else { y[0] = nothing; }      //! PK0201
    if false { y[...] = zeros(i32[3]); elsewhere(y); }                      //! PK0204
}
)") == "");
}

TEST_CASE("pipelines", "[control]") {
  CHECK(mismatches(R"(
kernel p(in x: f32[K, 128], out y: f32[K, 128], out z: f32[128]) mesh(grid b: 1) {
    pipeline k in 0 .. K stages(0) load a = x.at[k, :] { z[...] = a[...]; }                       //! PK0702: stages
    pipeline k in 0 .. K stages(2) delay_release(2) load a = x.at[k, :] { z[...] = a[...]; }      //! PK0702: stages(2)
    pipeline k in 0 .. K stages(2) load a = x[k, :] { z[...] = a[...]; }                          //! PK0705: x.at
    pipeline k in 0 .. K stages(2) load a = x.at[k, :] { a[...] = 0.0; }                          //! PK0703: `a`
    pipeline k in 0 .. K stages(2) load a = x.at[k, :] compute { z[...] = 0.0; }                  //! PK0701: step
    pipeline k in 0 .. K stages(2) load a = x.at[:, k] { z[...] = 0.0; }                          //! PK0407: `K`
    pipeline k in 0 .. K stages(2) store a = x.at[k, :] { a[...] = 0.0; }                         //! PK0414: x
    pipeline k in 0 .. K stages(2) load a = x.at[k, :] arrivals(128) { z[...] = a[...]; }           //! PK0211
    pipeline k in 0 .. K stages(2) load a = x.at[k, :], store c = y.at[k, :] { c[...] = a[...]; break; }   //! PK0416: steps
    step { }                                                                                      //! PK0416: pipeline
    y[...] = k;                                                                                   //! PK0201
}
)") == "");
}

TEST_CASE("blocked kernels", "[control]") {
  CHECK(mismatches(R"(
kernel reads(in x: f32[N] block[128] at [i], out y: f32[N] block[128] at [i]) grid(i: parallel cdiv(N, 128)) {
    x[...] = 0.0;                       //! PK0414
    y[...] = x[0:64];                   //! PK0402: [128]
}
kernel ranks(in x: f32[M, N] block[128] at [i], out y: f32[N] block[128] at [i])        //! PK0704: 2 axes
grid(i: parallel cdiv(N, 128)) { y[...] = 0.0; }
kernel sizes(in x: f32[N] block[N] at [i], out y: f32[N] block[128] at [i])             //! PK0407: `N`
grid(i: parallel cdiv(N, 128)) { y[...] = 0.0; }
kernel coordinates(in x: f32[N] block[128] at [j], out y: f32[N] block[128] at [i])     //! PK0201
grid(i: parallel cdiv(N, 128)) { y[...] = 0.0; }
kernel fine(in x: f32[N] block[128] at [k], in t: f32[4], out y: f32[128] block[128] at [i])
grid(i: parallel 1, k: sequential cdiv(N, 128)) stages(3) scratch(s: smem f32[128]) {
    s[...] = x[...] * t[1];
    y[...] = s[...] + (k as f32) + (size(k) as f32);
}
)") == "");
}
