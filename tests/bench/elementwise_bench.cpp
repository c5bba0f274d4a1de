// Tile loops of the interpreter beside the loop one would write by hand.

#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "pk/interp/tile_kernels.h"

namespace {

using namespace pk;
using interp::tile::Operand;

constexpr std::int64_t n = 128 * 128;

void run_tiles(benchmark::State& state, ir::Op op, ir::Dtype dtype, int operands) {
  std::vector<std::byte> x(n * 8, std::byte{0x3c}), out(n * 8);
  const std::vector<Operand> inputs(static_cast<std::size_t>(operands), Operand{x.data()});
  for (auto _ : state) {
    interp::tile::elementwise(op, dtype, out.data(), inputs, n);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * n);
}

void tile_add_f32(benchmark::State& state) { run_tiles(state, ir::Op::add, ir::Dtype::f32, 2); }
void tile_add_bf16(benchmark::State& state) { run_tiles(state, ir::Op::add, ir::Dtype::bf16, 2); }
void tile_add_f16(benchmark::State& state) { run_tiles(state, ir::Op::add, ir::Dtype::f16, 2); }
void tile_add_i32(benchmark::State& state) { run_tiles(state, ir::Op::add, ir::Dtype::i32, 2); }
void tile_exp_f32(benchmark::State& state) { run_tiles(state, ir::Op::exp, ir::Dtype::f32, 1); }

void plain_add_f32(benchmark::State& state) {
  std::vector<float> a(n, 1.0F), b(n, 2.0F), c(n);
  for (auto _ : state) {
    for (std::size_t i = 0; i < c.size(); ++i) c[i] = a[i] + b[i];
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * n);
}

void plain_exp_f32(benchmark::State& state) {
  std::vector<float> a(n, 0.5F), c(n);
  for (auto _ : state) {
    for (std::size_t i = 0; i < c.size(); ++i) c[i] = std::exp(a[i]);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * n);
}

void convert_f32_to_bf16(benchmark::State& state) {
  std::vector<std::byte> x(n * 4), out(n * 2);
  for (auto _ : state) {
    interp::tile::convert(ir::Dtype::bf16, out.data(), ir::Dtype::f32, x.data(), n);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * n);
}

}  // namespace

BENCHMARK(plain_add_f32);
BENCHMARK(tile_add_f32);
BENCHMARK(tile_add_bf16);
BENCHMARK(tile_add_f16);
BENCHMARK(tile_add_i32);
BENCHMARK(plain_exp_f32);
BENCHMARK(tile_exp_f32);
BENCHMARK(convert_f32_to_bf16);
