#include <catch2/catch.hpp>

#include "support.h"

using pk::test::mismatches;

TEST_CASE("inputs are read, outputs are written first", "[memory]") {
  CHECK(mismatches(R"(
kernel k(in x: f32[64], out y: f32[64], inout z: f32[64]) mesh(grid b: 1) {
    x[0] = 1.0;                         //! PK0414: inout x
    z[...] += x[...];
    let t = y[...];                     //! PK0415
    y[...] = x[...];
    z[...] = y[...];
    atomic_add(x.at[0], 1.0);           //! PK0414
    store(x, 0.0, x[...] > 0.0);        //! PK0414
}
kernel loops(in x: f32[4, 64], out y: f32[4, 64], out n: f32[64]) mesh(grid b: 1) {
    for i in 0 .. 4 {
        if i > 0 { y[i, :] = y[i - 1, :] + x[i, :]; }
        y[i, :] = x[i, :];
        let t = n[...];                 //! PK0415: `n`
    }
}
kernel waits(out y: f32[64], out z: f32[64]) mesh(wg w: 2) {
    scoped collective(w) (ready: barrier) {
        specialize w {
            0 => { barrier_wait(ready); z[...] = y[...]; }
            1 => { y[...] = 1.0; barrier_arrive(ready); }
        }
    }
}
)") == "");
}

TEST_CASE("only memory and variables are assigned", "[memory]") {
  CHECK(mismatches(R"(
kernel k(in x: f32[64], out y: f32[64]) mesh(grid b: 1) {
    let v = x[...];
    v[...] = 1.0;                       //! PK0412: `v`
    v = x[...];                         //! PK0412: var v
    y = v;                              //! PK0412: y[...]
    y.at[0:8] = v[0:8];                 //! PK0412: `y[…]
    var u = v;
    u = u * 2.0;
    u = x[0:8];                         //! PK0402
    u = 1.0;
    y[...] = x;                         //! PK0401: load it
    y[...] = u;
    b = 2;                              //! PK0412: `b`
}
)") == "");
}

TEST_CASE("refs and values are kept apart", "[memory]") {
  CHECK(mismatches(R"(
kernel k(in x: f32[8, 64], out y: f32[64, 8]) mesh(grid b: 1) {
    let v = x[...];
    y[...] = v.T;                       //! PK0411: transpose
    y[...] = transpose(x);              //! PK0401: `r.T`
    y[...] = x.T[...];
    y[...] = v.at[0:8, :];              //! PK0413
    y[...] = x.reshape[8, 32][...];     //! PK0402: 512
    y[...] = x.reshape[64, 8][...];
    y[...] = x.T.reshape[64, 8][...];   //! PK0411: order
    y[0:8, :] = x.at[:, 0:8].reshape[8, 8][...];        //! PK0411: one after the other
    y[0:8, :] = x.at[1].reshape[8, 8][...];
    y[0:8, :] = x[0, :].reshape[8, 8][...];     //! PK0413: no memory
    y[...] = x.U[...];                  //! PK0210: `.T`
    let t = load(x[...], true, 0.0);    //! PK0413: .at
    y[...] = x[..., new];               //! PK0402
    let e = x[0, :].T;                  //! PK0411
}
)") == "");
}

TEST_CASE("masks and others broadcast to the memory", "[memory]") {
  CHECK(mismatches(R"(
kernel k(in x: f32[8, 64], out y: f32[8, 64]) mesh(grid b: 1) {
    let m = iota(i32[64]) < 3;
    store(y, load(x, m, 0.0), m[new, :]);
    store(y, load(x, iota(i32[8]) < 3, 0.0), m);        //! PK0402: mask
    store(y, load(x, m, 0), m);
    store(y, load(x, x[...], 0.0), m);                  //! PK0401: bool
}
)") == "");
}

TEST_CASE("atomics know their types", "[memory]") {
  CHECK(mismatches(R"(
kernel k(inout f: f32[4], inout i: i32[4], inout c: i8[4]) mesh(grid b: 1) {
    let old = atomic_add(f.at[0], 1.0) + 2.0;
    f[1] = old;
    atomic_xor(f.at[0], 1.0);           //! PK0512: integers
    atomic_max(i, iota(i32[4]), order = acq_rel, scope = device);
    atomic_max(i, 1, order = seq);      //! PK0211: acq_rel
    atomic_add(c.at[0], 1);             //! PK0512: i8
    atomic_add(i[0], 1);                //! PK0413: .at
    i[0] = atomic_cas(i.at[0], 0, 1);
}
)") == "");
}
