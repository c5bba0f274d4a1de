#include <catch2/catch.hpp>

#include "support.h"

using pk::test::mismatches;

TEST_CASE("types never change silently", "[types]") {
  CHECK(mismatches(R"(
kernel k(in f: f32[64], in h: f16[64], in i: i32[64], in u: u32[64], out y: f32[64]) mesh(grid b: 1) {
    y[...] = f[...] + h[...];           //! PK0401: f16
    y[...] = f[...] * i[...];           //! PK0401: i32
    y[...] = h[...];                    //! PK0401: as f32
    let s = i[...] - u[...];            //! PK0401: u32
    y[...] = f[...] + b;                //! PK0401: index
    y[i[0]] = 0.0;                      //! PK0401: as index
    y[...] = f[...] & f[...];           //! PK0401: integers
    y[...] = sqrt(i[...]) as f32;       //! PK0401: floating
}
)") == "");
}

TEST_CASE("literals take the type of their context", "[types]") {
  CHECK(mismatches(R"(
const HALF = 0.5;
const BIG = 300;
kernel k(in h: bf16[64], in u: u8[64], out y: bf16[64], out z: u8[64], out n: i32[4]) mesh(grid b: 1) {
    y[...] = h[...] * HALF + 1;
    z[...] = u[...] % 2 + 1;
    z[...] = u[...] + BIG;              //! PK0408: 300
    z[...] = u[...] * 2.5;              //! PK0408: 2.5
    z[0] = -1;                          //! PK0408: -1
    n[0] = abs(-5);
    n[1] = clamp(17, 0, 4);
    n[2] = 18446744073709551615 as i32;
    n[3] = 18446744073709551615;        //! PK0408: 18446744073709551615
    var v: f32 = 3;
    v = sqrt(2);
    y[0] = v as bf16;
}
)") == "");
}

TEST_CASE("shapes fit or both are named", "[types]") {
  CHECK(mismatches(R"(
kernel k(in a: f32[8, 64], in r: f32[64], in c: f32[8], out y: f32[8, 64]) mesh(grid b: 1) {
    y[...] = a[...] + r[...];
    y[...] = a[...] + c[...][:, new];
    y[...] = a[...] + c[...];           //! PK0402: [:, new]
    y[...] = r[...];                    //! PK0402: [8, 64]
    y[...] = sum(a[...], axis = 2);     //! PK0405: axis 2
    y[0, :] = sum(a[...], axis = -2);
    y[0, :] = sum(a[...], axis = 1);    //! PK0402: [8]
    y[...] = sum(a[...]);               //! PK0405
    y[...] = reshape(a[...], [4, 4]);   //! PK0402: 512
    y[...] = transpose(c[...]);         //! PK0405: has 1
    y[...] = concat(a[0:4, :], a[0:4, 0:8], axis = 0);  //! PK0402: joined
    y[...] = broadcast(c[...], [8, 64]);                //! PK0402: repeated
}
)") == "");
}

TEST_CASE("run-time dimensions do not size anything static", "[types]") {
  CHECK(mismatches(R"(
kernel k(in x: f32[N], out y: f32[N]) mesh(grid b: 1) {
    y[...] = x[...];                    //! PK0407: <N: int>
    let z = zeros(f32[N + 1]);          //! PK0407: `N`
    let v = x[0 +: N / 2];              //! PK0407: `N`
    scoped (s: smem f32[2 * N]) { y[0] = 0.0; }   //! PK0407: `N`
    const M = N;                        //! PK0409: `N`
    unroll for i in 0 .. N { y[i] = 0.0; }        //! PK0407: `N`
}
kernel w(in x: f32[N], out y: f32[N]) mesh(wg w: N) { y[0] = x[0]; }   //! PK0407: wg
)") == "");
}

TEST_CASE("bounds that are certainly wrong", "[types]") {
  CHECK(mismatches(R"(
kernel k(in x: f32[8, 128], out y: f32[64]) mesh(grid b: 1) {
    y[...] = x[8, 0:64];                //! PK0404: index 8
    y[...] = x[0, 100 +: 64];           //! PK0404: 164
    y[...] = x[0, 70:140][0:64];        //! PK0404: 140
    y[...] = x[-1, 0:64];               //! PK0404: negative
    y[...] = x[0, b +: 200];            //! PK0404: 200
    y[...] = x[0, 9:3];                 //! PK0403: before it begins
    y[...] = x[0, 0, 0];                //! PK0403: 2 axes
    let v = x[0, :];
    y[...] = v[96:160];                 //! PK0404: 160
    y[...] = v[b +: 64];                //! PK0409
    if x[0, 0] > 0.0 { y[...] = x[0, 0:64]; }
    if 8 < 4 { y[...] = x[9, 0:64]; }
}
)") == "");
}

TEST_CASE("division of integers by a literal zero", "[types]") {
  CHECK(mismatches(R"(
kernel k(in x: i32[8], in f: f32[8], out y: i32[8], out g: f32[8]) mesh(grid b: 1) {
    y[...] = x[...] / 0;                //! PK0419
    y[0] = x[0] % 0;                    //! PK0419
    g[...] = f[...] / 0.0;
    let z = 4 / 0;                      //! PK0419
}
)") == "");
}
