// Matrix products. Operands are first widened and packed into panels (a: rows of MR, b: columns of NR, both in order of
// k), then a register-tiled loop adds the products. It is written once with vector types and compiled for three vector
// widths; which one runs is decided by the processor at hand. All three add in the same order.
//
// This file is compiled with contraction of a * b + c to a fused multiply-add. That changes no result of the narrow
// types, whose products are exact in f32 (short of underflow).

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "pk/frontend/diagnostics.h"
#include "pk/interp/tile_kernels.h"

namespace pk::interp::tile {
namespace {

using ir::Dtype;

/// A vector of W elements of T (GCC and Clang vector extension).
template <class T, int W>
struct Vector {
  using Type [[gnu::vector_size(sizeof(T) * W)]] = T;
};

/// Products are added up in runs of this many, and a run's sum is added to the accumulator, much as the hardware does
/// for the K of one instruction: errors grow far more slowly than in one long sum.
constexpr std::int64_t run_length = 16;

/// acc[i][j] += sum over k of a[k][i] * b[k][j] for MR rows and NV vectors of W columns. `a` and `b` are packed.
template <class T, int W, int MR, int NV>
[[gnu::always_inline]] inline void kernel(std::int64_t k, const T* a, const T* b, T* acc, std::int64_t acc_stride) {
  using V = typename Vector<T, W>::Type;
  while (k > 0) {
    const std::int64_t run = std::min(k, run_length);
    V sum[MR][NV] = {};
    for (std::int64_t p = 0; p < run; ++p, a += MR, b += NV * W) {
      V column[NV];
      for (int v = 0; v < NV; ++v) std::memcpy(&column[v], b + v * W, sizeof(V));
#pragma GCC unroll 16
      for (int i = 0; i < MR; ++i) {
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) sum[i][v] += a[i] * column[v];
      }
    }
    for (int i = 0; i < MR; ++i) {
      for (int v = 0; v < NV; ++v) {
        V total;
        std::memcpy(&total, acc + i * acc_stride + v * W, sizeof(V));
        total += sum[i][v];
        std::memcpy(acc + i * acc_stride + v * W, &total, sizeof(V));
      }
    }
    k -= run;
  }
}

/// A compiled form of the kernel and the sizes of its tile.
template <class T>
struct Kernel {
  void (*run)(std::int64_t k, const T* a, const T* b, T* acc, std::int64_t acc_stride);
  int rows, columns;
};

template <class T>
void kernel_baseline(std::int64_t k, const T* a, const T* b, T* acc, std::int64_t acc_stride) {
  kernel<T, 16 / sizeof(T), 4, 2>(k, a, b, acc, acc_stride);
}
#if defined(__x86_64__)
template <class T>
[[gnu::target("avx2,fma")]] void kernel_avx2(std::int64_t k, const T* a, const T* b, T* acc, std::int64_t acc_stride) {
  kernel<T, 32 / sizeof(T), 6, 2>(k, a, b, acc, acc_stride);
}
template <class T>
[[gnu::target("avx512f")]] void kernel_avx512(std::int64_t k, const T* a, const T* b, T* acc, std::int64_t acc_stride) {
  kernel<T, 64 / sizeof(T), 6, 4>(k, a, b, acc, acc_stride);
}
#endif

template <class T>
Kernel<T> choose_kernel() {
  constexpr int baseline = 16 / sizeof(T);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {&kernel_avx512<T>, 6, 4 * 4 * baseline};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {&kernel_avx2<T>, 6, 2 * 2 * baseline};
#endif
  return {&kernel_baseline<T>, 4, 2 * baseline};
}

/// f32 with 10 bits of mantissa, to nearest even; NaN and infinity stay.
float round_to_tf32(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = (bits + 0xfffU + ((bits >> 13) & 1)) & ~0x1fffU;
  return (bits & 0x7f800000U) == 0x7f800000U ? x : std::bit_cast<float>(rounded);
}

/// One row (or column) of `n` elements, `stride` bytes apart, widened to T.
template <class T, class From>
void widen(T* to, const std::byte* from, std::int64_t stride, std::int64_t n, bool tf32) {
  const auto value = [&](From x) {
    if constexpr (std::same_as<From, float> && std::same_as<T, float>) {
      return tf32 ? round_to_tf32(x) : x;
    } else {
      return ir::convert_value<T>(x);
    }
  };
  if (stride == static_cast<std::int64_t>(sizeof(From))) {
    const From* __restrict source = reinterpret_cast<const From*>(from);
    for (std::int64_t i = 0; i < n; ++i) to[i] = value(source[i]);
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    From x;
    std::memcpy(&x, from + i * stride, sizeof x);
    to[i] = value(x);
  }
}

/// Packs `lines` x `k` elements into panels of `width` lines: panel by panel, within one in order of k, `width`
/// elements each; lines past the end are zeros. `line_stride` and `k_stride` are in bytes.
template <class T, class From>
std::unique_ptr<T[]> pack(const std::byte* from, std::int64_t lines, std::int64_t k, std::int64_t line_stride,
                          std::int64_t k_stride, std::int64_t width, bool tf32) {
  const std::int64_t count = (lines + width - 1) / width;
  auto panels = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(count * width * k));
  if (lines % width != 0) std::fill_n(panels.get() + (count - 1) * width * k, width * k, T{});
  const bool lines_contiguous = line_stride == static_cast<std::int64_t>(sizeof(From));
  std::vector<T> line(static_cast<std::size_t>(k));
  for (std::int64_t first = 0; first < lines; first += width) {
    T* panel = panels.get() + first * k;
    const std::int64_t n = std::min(width, lines - first);
    if (lines_contiguous) {
      for (std::int64_t p = 0; p < k; ++p)
        widen<T, From>(panel + p * width, from + p * k_stride + first * line_stride, line_stride, n, tf32);
      continue;
    }
    for (std::int64_t i = 0; i < n; ++i) {
      widen<T, From>(line.data(), from + (first + i) * line_stride, k_stride, k, tf32);
      for (std::int64_t p = 0; p < k; ++p) panel[p * width + i] = line[static_cast<std::size_t>(p)];
    }
  }
  return panels;
}

template <class T>
std::unique_ptr<T[]> pack_any(const Matrix& m, std::int64_t lines, std::int64_t k, std::int64_t line_stride,
                              std::int64_t k_stride, std::int64_t width, bool tf32) {
  return ir::visit_dtype(m.dtype, [&](auto tag) {
    using From = typename decltype(tag)::Type;
    return pack<T, From>(m.data, lines, k, line_stride, k_stride, width, tf32);
  });
}

/// acc is in T, with rows `acc_stride` elements apart.
template <class T>
void multiply_panels(T* acc, std::int64_t acc_stride, std::int64_t m, std::int64_t n, std::int64_t k, const Matrix& a,
                     const Matrix& b, bool tf32) {
  const Kernel<T> chosen = choose_kernel<T>();
  const std::int64_t rows = chosen.rows, columns = chosen.columns;
  const auto a_panels = pack_any<T>(a, m, k, a.row_stride, a.column_stride, rows, tf32);
  const auto b_panels = pack_any<T>(b, n, k, b.column_stride, b.row_stride, columns, tf32);
  std::vector<T> edge(static_cast<std::size_t>(rows * columns));
  for (std::int64_t j = 0; j < n; j += columns) {
    const T* b_panel = b_panels.get() + j * k;
    const std::int64_t width = std::min(columns, n - j);
    for (std::int64_t i = 0; i < m; i += rows) {
      const T* a_panel = a_panels.get() + i * k;
      const std::int64_t height = std::min(rows, m - i);
      T* corner = acc + i * acc_stride + j;
      if (height == rows && width == columns) {
        chosen.run(k, a_panel, b_panel, corner, acc_stride);
        continue;
      }
      // A tile at the edge is computed beside, so that the kernel always sees a whole one.
      for (std::int64_t r = 0; r < height; ++r) std::copy_n(corner + r * acc_stride, width, edge.data() + r * columns);
      chosen.run(k, a_panel, b_panel, edge.data(), columns);
      for (std::int64_t r = 0; r < height; ++r) std::copy_n(edge.data() + r * columns, width, corner + r * acc_stride);
    }
  }
}

bool is_narrow(Dtype t) { return t == Dtype::f16 || t == Dtype::bf16 || t == Dtype::f8e4m3 || t == Dtype::f8e5m2; }
bool is_byte(Dtype t) { return t == Dtype::i8 || t == Dtype::u8; }

}  // namespace

bool can_multiply(Dtype a, Dtype b, Dtype acc) {
  if (acc == Dtype::f32) return (is_narrow(a) && is_narrow(b)) || (a == Dtype::f32 && b == Dtype::f32);
  if (acc == Dtype::f16) return is_narrow(a) && is_narrow(b);
  if (acc == Dtype::i32) return is_byte(a) && is_byte(b);
  return (acc == Dtype::f64 || acc == Dtype::i64) && a == acc && b == acc;
}

void multiply_add(Dtype acc_dtype, std::byte* acc, std::int64_t acc_row_stride, std::int64_t m, std::int64_t n,
                  std::int64_t k, const Matrix& a, const Matrix& b, bool tf32) {
  PK_CHECK(can_multiply(a.dtype, b.dtype, acc_dtype), "matrix product of types outside the table");
  const auto stride_in = [&](std::int64_t bytes) { return acc_row_stride / bytes; };
  if (acc_dtype == Dtype::f32) return multiply_panels(reinterpret_cast<float*>(acc), stride_in(4), m, n, k, a, b, tf32);
  if (acc_dtype == Dtype::f64)
    return multiply_panels(reinterpret_cast<double*>(acc), stride_in(8), m, n, k, a, b, false);
  // Unsigned arithmetic wraps as the accumulator does; the operands are sign-extended into it.
  if (acc_dtype == Dtype::i64)
    return multiply_panels(reinterpret_cast<std::uint64_t*>(acc), stride_in(8), m, n, k, a, b, false);
  if (acc_dtype == Dtype::i32)
    return multiply_panels(reinterpret_cast<std::uint32_t*>(acc), stride_in(4), m, n, k, a, b, false);
  std::vector<float> wide(static_cast<std::size_t>(m * n));
  for (std::int64_t i = 0; i < m; ++i) {
    convert(Dtype::f32, reinterpret_cast<std::byte*>(wide.data() + i * n), Dtype::f16, acc + i * acc_row_stride, n);
  }
  multiply_panels(wide.data(), n, m, n, k, a, b, tf32);
  for (std::int64_t i = 0; i < m; ++i) {
    convert(Dtype::f16, acc + i * acc_row_stride, Dtype::f32, reinterpret_cast<const std::byte*>(wide.data() + i * n),
            n);
  }
}

}  // namespace pk::interp::tile
