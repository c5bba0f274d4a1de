#include <catch2/catch.hpp>

#include "support.h"

using pk::test::mismatches;

TEST_CASE("where clauses that are false for the defaults", "[kernels]") {
  CHECK(mismatches(R"(
kernel k<BM: int = 48>(in x: f32[M, 64], out y: f32[M, 64])
where BM % 64 == 0,                     //! PK0801: BM = 48
      M % BM == 0
mesh(grid b: M / BM) { y[b, :] = x[b, :]; }
kernel bad(in x: f32[M], out y: f32[M]) where M + 1 mesh(grid b: 1) { y[0] = x[0]; }      //! PK0406
)") == "");
}

TEST_CASE("dimensions that nothing binds", "[kernels]") {
  CHECK(mismatches(R"(
kernel k(in x: f32[4], out y: f32[Q]) mesh(grid b: Q) { y[b] = 1.0; }              //! PK0804: <Q: int>
kernel l(in x: f32[4], out y: f32[2 * Q]) mesh(grid b: 1) { y[0] = 1.0; }          //! PK0201
kernel m(in n: index, out y: f32[n]) mesh(grid b: n) { y[b] = 1.0; }
)") == "");
}

TEST_CASE("parameters and generics", "[kernels]") {
  CHECK(mismatches(R"(
kernel a(out n: i32) mesh(grid b: 1) { }                                           //! PK0411: scalar
kernel c<T: f16 | f17>(in x: T[4], out y: T[4]) mesh(grid b: 1) { y[...] = x[...]; }      //! PK0203: f17
kernel d<N: int = f16>(out y: f32[4]) mesh(grid b: 1) { y[...] = 0.0; }            //! PK0806: integer
kernel e<T: f16 | f32 = i8>(out y: f32[4]) mesh(grid b: 1) { y[...] = 0.0; }
kernel f<T: f16 | f32>(in x: T[4], out y: f32[4]) mesh(grid b: 1) { y[...] = x[...]; }    //! PK0401: f16
kernel g(in n: i32, out y: f32[4]) mesh(grid b: n) { y[...] = 0.0; }               //! PK0401: index
mesh Two(a: index) = (grid g: a, wg w: 2);
kernel h(out y: f32[4]) mesh Two(1, 2) { y[w] = 0.0; }                             //! PK0410: 1 argument
)") == "");
}

TEST_CASE("launches in tests", "[kernels]") {
  CHECK(mismatches(R"(
kernel k<A: int, T: f16 | f32 = f32>(in x: f32[4], inout y: f32[A]) mesh(grid b: 1) { y[0] = x[0]; }
test t {
    let x = iota(f32[4]);
    let y = launch k(x);                //! PK0410: `x` and `y`
    let z = launch k<4, f32, 2>(x, x);  //! PK0410: 2 generic
    let u = launch k<B = 4>(x, x);      //! PK0208: `B`
    let v = launch k<4, f16>(x, x);
    launch x(v);                        //! PK0205
    scoped (s: smem f32[4]) { }         //! PK0416: kernels
    expect_error("PK0907") { launch k<4>(x, q); }       //! PK0201
}
)") == "");
}
