// The matrix product behind `wgmma` beside OpenBLAS (or whatever BLAS is installed): `ratio` is pk's speed over its, on
// one thread, measured in the same run.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "pk/interp/tile_kernels.h"

#ifdef PK_HAVE_BLAS
extern "C" void sgemm_(const char* trans_a, const char* trans_b, const int* m, const int* n, const int* k,
                       const float* alpha, const float* a, const int* lda, const float* b, const int* ldb,
                       const float* beta, float* c, const int* ldc);
extern "C" void openblas_set_num_threads(int) __attribute__((weak));
#endif

namespace {

using namespace pk;

struct Sizes {
  std::int64_t m, n, k;
};

void multiply(benchmark::State& state, ir::Dtype dtype, bool transposed, bool compare) {
  const Sizes s{state.range(0), state.range(1), state.range(2)};
  const std::int64_t bytes = ir::byte_size(dtype);
  std::vector<std::byte> a(static_cast<std::size_t>(s.m * s.k * bytes)), b(static_cast<std::size_t>(s.k * s.n * bytes));
  std::vector<float> c(static_cast<std::size_t>(s.m * s.n));
  const interp::tile::Matrix left{dtype, a.data(), s.k * bytes, bytes};
  const interp::tile::Matrix right = transposed ? interp::tile::Matrix{dtype, b.data(), bytes, s.k * bytes}
                                                : interp::tile::Matrix{dtype, b.data(), s.n * bytes, bytes};
  double best = 1e9;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    interp::tile::multiply_add(ir::Dtype::f32, reinterpret_cast<std::byte*>(c.data()), s.n * 4, s.m, s.n, s.k, left,
                               right, false);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  const double flops = 2.0 * static_cast<double>(s.m * s.n * s.k);
  state.counters["GFLOPS"] = flops / best / 1e9;
#ifdef PK_HAVE_BLAS
  if (!compare) return;
  if (openblas_set_num_threads != nullptr) openblas_set_num_threads(1);
  std::vector<float> x(static_cast<std::size_t>(s.m * s.k)), y(static_cast<std::size_t>(s.k * s.n));
  const int m = static_cast<int>(s.m), n = static_cast<int>(s.n), k = static_cast<int>(s.k);
  const float one = 1;
  double blas = 1e9;
  for (int i = 0; i < 200; ++i) {
    const auto start = std::chrono::steady_clock::now();
    // Row-major c = a * b is column-major c' = b' * a'.
    sgemm_("N", "N", &n, &m, &k, &one, y.data(), &n, x.data(), &k, &one, c.data(), &n);
    blas = std::min(blas, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  state.counters["blas GFLOPS"] = flops / blas / 1e9;
  state.counters["ratio"] = blas / best;
#else
  static_cast<void>(compare);
#endif
}

void product_bf16(benchmark::State& state) { multiply(state, ir::Dtype::bf16, false, true); }
void product_bf16_transposed(benchmark::State& state) { multiply(state, ir::Dtype::bf16, true, true); }
void product_f16(benchmark::State& state) { multiply(state, ir::Dtype::f16, false, true); }
void product_f8e4m3(benchmark::State& state) { multiply(state, ir::Dtype::f8e4m3, true, true); }

}  // namespace

BENCHMARK(product_bf16)->Args({64, 256, 64})->Args({128, 256, 64})->Args({512, 512, 512});
BENCHMARK(product_bf16_transposed)->Args({128, 256, 64});
BENCHMARK(product_f16)->Args({128, 256, 64});
BENCHMARK(product_f8e4m3)->Args({128, 256, 128});
