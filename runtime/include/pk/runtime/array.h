#pragma once
// Host arrays: what test items compute with, and what `pkc run` reads and writes (.npy).

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "pk/frontend/diagnostics.h"
#include "pk/ir/dtype.h"
#include "pk/ir/ir.h"

namespace pk::runtime {

/// A dense row-major array; rank 0 is a scalar.
struct Array {
  ir::Dtype dtype = ir::Dtype::f32;
  ir::Shape shape;
  std::vector<std::byte> data;
  bool untyped = false;  ///< an untyped literal: takes the dtype of what it meets

  [[nodiscard]] std::int64_t size() const { return ir::element_count(shape); }
};

[[nodiscard]] Array make_array(ir::Dtype dtype, ir::Shape shape);  ///< zeros

/// The array of `random(T[…], seed, lo, hi)`: the same numbers on every platform. Row-major element i comes from the
/// i-th output of SplitMix64, whose state starts at SplitMix64's mix of seed + 0x9e3779b97f4a7c15. Floats: the upper 53
/// bits as a number in [0, 1), scaled to [low, high) in f64 and rounded once to the type (which may give `high`).
/// Integers: the upper half of the 128-bit product of the output and the count high - low + 1, added to low.
[[nodiscard]] Array random_array(ir::Dtype dtype, const ir::Shape& shape, std::uint64_t seed, double low, double high);

/// NumPy .npy files, version 1.0-3.0, C order. bf16 and fp8 are stored as their bits (u2, u1).
[[nodiscard]] Result<Array> read_npy(const std::string& path);
[[nodiscard]] Result<bool> write_npy(const std::string& path, const Array& array);

}  // namespace pk::runtime
