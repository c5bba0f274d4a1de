#include <catch2/catch.hpp>

#include "support.h"

using pk::test::mismatches;

TEST_CASE("copies fit at both ends", "[async]") {
  CHECK(mismatches(R"(
kernel k(in x: f32[128], in h: f16[128], in d: f32[N], out y: f32[128]) mesh(grid b: 1) {
    scoped (s: smem f32[128], t: smem f32[64], bar: barrier) {
        copy_gmem_to_smem(x, t, bar);                   //! PK0501: [64]
        copy_gmem_to_smem(h, s, bar);                   //! PK0501: f16
        copy_gmem_to_smem(s, y, bar);                   //! PK0502: copy_smem_to_gmem
        copy_gmem_to_smem(x, s);                        //! PK0410: barrier
        copy_gmem_to_smem(d, s, bar);                   //! PK0407: `N`
        copy_gmem_to_smem(x, s, bar, colective = b);    //! PK0208: `collective`
        copy_gmem_to_smem(x, s, bar, collective = b);   //! PK0505: cluster
        copy_gmem_to_smem(x, s, bar, partition = 0);    //! PK0505: collective
        copy_gmem_to_smem(x, s, bar, oob(one));         //! PK0211: zero
        copy_smem_to_gmem(s, y, reduce = xor);          //! PK0506: xor
        copy_smem_to_gmem(s, y, reduce = mul);          //! PK0506: `add`
        copy_smem_to_gmem(s, x);                        //! PK0414
        copy_smem_to_gmem(x[...], y);                   //! PK0413
        wait_smem_to_gmem(-1);                          //! PK0411: negative
        prefetch(s);                                    //! PK0502: global
        y[...] = 0.0;
    }
}
)") == "");
}

TEST_CASE("with a partition each block takes its part", "[async]") {
  CHECK(mismatches(R"(
kernel k(in x: f32[6, 64], out y: f32[64]) mesh(cluster c: 2) {
    scoped (s: smem f32[6, 64], part: smem f32[3, 64], bar: barrier) {
        copy_gmem_to_smem(x, s, bar, collective = c, partition = 0);        //! PK0501: [3, 64]
        copy_gmem_to_smem(x.at[0:5, :], s, bar, collective = c, partition = 0);   //! PK0501: 2 blocks
        copy_gmem_to_smem(x, part, bar, collective = c, partition = 2);     //! PK0405
        y[...] = 0.0;
    }
}
)") == "");
}

TEST_CASE("barrier operations take one barrier", "[async]") {
  CHECK(mismatches(R"(
kernel k(out y: f32[4]) mesh(grid b: 1) {
    scoped (one: barrier, many: barrier[2, 3] arrivals(2), s: semaphore[2], m: smem f32[4]) {
        barrier_arrive(many);           //! PK0503: index
        barrier_arrive(many.at[1]);     //! PK0503: index
        barrier_arrive(many[1, 2]);     //! PK0411
        barrier_wait(m);                //! PK0504: barrier
        barrier_wait(3);                //! PK0504
        barrier_arrive(many.at[2, 0]);  //! PK0404: 2
        semaphore_signal(s, 1);         //! PK0503: index
        semaphore_wait(one, 1);         //! PK0504: semaphore
        semaphore_signal(s.at[0], 1.5); //! PK0401
        one[...] = 1.0;                 //! PK0411
        y[...] = 0.0;
    }
}
)") == "");
}

TEST_CASE("operands of wgmma", "[async]") {
  CHECK(mismatches(R"(
kernel k(in g: f16[64, 64], out y: f32[64, 64]) mesh(grid b: 1) {
    scoped (a: smem f16[64, 64], n: smem f16[64, 24], f: smem f32[64, 64], q: smem i8[64, 64], w: smem f16[64, 32],
            acc: acc f32[64, 64], narrow: acc f32[64, 20], sums: acc i32[64, 64], low: acc f32[32, 64], wide: acc f32[64, 264]) {
        wgmma(acc, a, w);               //! PK0508: [64, 32]
        wgmma(acc, w, a);               //! PK0508: K
        wgmma(narrow, a, n.at[:, 0:20]);        //! PK0508: multiple of 8
        wgmma(low, a.at[0:32, :], a);   //! PK0508: multiple of 64
        wgmma(acc, f, f);               //! PK0509: tf32
        wgmma(acc, f, f, precision = tf32);     //! PK0507: `b`
        wgmma(acc, f.T, f.T, precision = tf32); //! PK0507: `a`
        wgmma(acc, q, q.T);             //! PK0509: i32
        wgmma(sums, q, q);              //! PK0507: i8
        wgmma(sums, a, a);              //! PK0509: f32
        wgmma(acc, g, a);               //! PK0507: smem
        wgmma(acc, a, g[...]);          //! PK0507: smem
        wgmma(y, a, a);                 //! PK0507: accumulator
        wgmma(acc, a.at[:, 0:8], a.at[0:8, :]); //! PK0508: multiple of 16
        wgmma(acc, g[...], a.T);
        wgmma_wait(8);                  //! PK0411: 7
        y[...] = acc[...];
    }
}
)") == "");
}

TEST_CASE("attributes of allocations", "[async]") {
  CHECK(mismatches(R"(
kernel k(out y: f32[4]) mesh(grid b: 1) {
    scoped (a: smem f32[64, 64] tiled(8, 32) swizzle(128)) { y[0] = 0.0; }
    scoped (a: smem f32[64, 64] tiled(8, 16) swizzle(128)) { y[0] = 0.0; }    //! PK0510: swizzle
    scoped (a: smem f32[64, 64] tiled(8, 48)) { y[0] = 0.0; }                 //! PK0510: 48
    scoped (a: smem f32[64, 64] swizzle(96)) { y[0] = 0.0; }                  //! PK0510: 128
    scoped (a: smem f32[4] arrivals(2)) { y[0] = 0.0; }                       //! PK0211: barriers
    scoped (a: smem f32[4] global) { y[0] = 0.0; }                            //! PK0211: semaphore
    scoped (a: barrier arrivals(0)) { y[0] = 0.0; }                           //! PK0411
    scoped (a: f32[4]) { y[0] = 0.0; }                                        //! PK0411: memory
    scoped (a: smem f32[4] = zeros(f32[4])) { y[0] = 0.0; }                   //! PK0411: initial
    scoped (a: acc f32[4]) { y[0] = 0.0; }                                    //! PK0508: 2 axes
    scoped (a: acc bf16[64, 64]) { y[0] = 0.0; }                              //! PK0509: bf16
    scoped (union { a: smem f32[4], c: barrier }) { y[0] = 0.0; }             //! PK0411: union
    scoped (a: cluster_barrier) { y[0] = 0.0; }                               //! PK0505
    scoped (a: tmem f32[128, 64]) { y[0] = 0.0; }                             //! PK0802: sm_100
    scoped (a: smem i4[128]) { y[0] = 0.0; }                                  //! PK0803: i4
}
)") == "");
}

TEST_CASE("peers and reserved operations", "[async]") {
  CHECK(mismatches(R"(
kernel k(out y: f32[2, 4]) mesh(grid g: 1, cluster c: 2) {
    scoped (a: smem f32[4], met: cluster_barrier collective(c)) {
        a[...] = 0.0;
        y[c, :] = a.peer[c = 1 - c][...];
        y[c, :] = a.peer[g = 0][...];   //! PK0511: cluster
        y[c, :] = a.peer[d = 0][...];   //! PK0201
        y[c, :] = a.peer[c = 2][...];   //! PK0404: 2
        y[c, :] = y.peer[c = 0][c, :];  //! PK0511
        tcgen05_mma(a);                 //! PK0802: sm_100
        barrier_arrive(met); barrier_wait(met);
    }
}
)") == "");
}
