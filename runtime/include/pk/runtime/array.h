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

/// The array of `random(T[…], seed, lo, hi)`: the same numbers on every platform (docs/language.md, "Random numbers").
[[nodiscard]] Array random_array(ir::Dtype dtype, const ir::Shape& shape, std::uint64_t seed, double low, double high);

/// NumPy .npy files, version 1.0-3.0, C order. bf16 and fp8 are stored as their bits (u2, u1).
[[nodiscard]] Result<Array> read_npy(const std::string& path);
[[nodiscard]] Result<bool> write_npy(const std::string& path, const Array& array);

}  // namespace pk::runtime
