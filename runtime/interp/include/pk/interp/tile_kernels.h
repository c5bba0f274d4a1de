#pragma once
// The arithmetic of the interpreter (and of host arrays): loops over tiles in memory, chosen at run time by operation
// and element type. What one element's result is comes from pk/ir/numerics.h; here are only loops. Nothing is checked:
// shapes, types and bounds are the caller's business (sema and the engine have done it).
//
// A tile is dense and row-major. Results never overlap operands, except where said. Tiles may be empty.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "pk/ir/dtype.h"
#include "pk/ir/ir.h"
#include "pk/ir/numerics.h"
#include "pk/ir/ops.h"

namespace pk::interp::tile {

/// An operand: `n` elements, or one element that is repeated.
struct Operand {
  const std::byte* data = nullptr;
  bool scalar = false;
};

/// The first element whose integer division has no result (its place in the result is 0 for a zero divisor, else the
/// wrapped quotient), or `NumError::none`.
struct Failure {
  ir::NumError error = ir::NumError::none;
  std::int64_t element = 0;
  [[nodiscard]] explicit operator bool() const { return error != ir::NumError::none; }
};

// ---- elementwise: tile_elementwise.cpp, tile_convert.cpp

/// out[i] = op(operands[i]…) for every operation but the conversions. `dtype` is that of the operands (of select: of
/// the two values); comparisons and predicates give bools. When `failed` is given, it has `n` bytes and those of
/// elements without a result are set to 1 (the others are left as they are).
Failure elementwise(ir::Op op, ir::Dtype dtype, std::byte* out, std::span<const Operand> operands, std::int64_t n,
                    std::uint8_t* failed = nullptr);
/// out[i] = in[i] as `to`. A bitcast is a copy of the bytes.
void convert(ir::Dtype to, std::byte* out, ir::Dtype from, const std::byte* in, std::int64_t n);
/// out[i] = the value at `value`.
void fill(int element_bytes, std::byte* out, const std::byte* value, std::int64_t n);
/// The coordinate along `axis` (-1: the row-major number), wrapped or rounded to the type.
void iota(ir::Dtype dtype, std::byte* out, const ir::Shape& shape, int axis);

// ---- moving elements: tile_move.cpp

/// Copies the elements of `shape` between places with strides in bytes, one for each axis (a stride may be 0 in the
/// source or negative). Serves loads, stores, copies, broadcasts, transposes, slices and concatenation.
void copy(int element_bytes, const ir::Shape& shape, std::byte* to, std::span<const std::int64_t> to_strides,
          const std::byte* from, std::span<const std::int64_t> from_strides);
/// The same for the elements whose mask byte (dense, row-major) is not 0.
void copy_masked(int element_bytes, const ir::Shape& shape, const std::byte* mask, std::byte* to,
                 std::span<const std::int64_t> to_strides, const std::byte* from,
                 std::span<const std::int64_t> from_strides);
/// Strides in bytes of a dense row-major tile.
[[nodiscard]] std::vector<std::int64_t> dense_strides(int element_bytes, const ir::Shape& shape);

/// The axes of `in_shape` are lined up with those of `out_shape` from the last; size-1 axes are repeated.
void broadcast(int element_bytes, std::byte* out, const ir::Shape& out_shape, const std::byte* in,
               const ir::Shape& in_shape);
/// Result axis i is axis perm[i] of the operand.
void transpose(int element_bytes, std::byte* out, const std::byte* in, const ir::Shape& in_shape,
               std::span<const std::int64_t> perm);
/// out = in[starts[i] : starts[i] + out_shape[i], …].
void slice(int element_bytes, std::byte* out, const ir::Shape& out_shape, const std::byte* in,
           const ir::Shape& in_shape, std::span<const std::int64_t> starts);
/// Puts one operand of a concatenation into the result, at `offset` along `axis`.
void concat_part(int element_bytes, std::byte* out, const ir::Shape& out_shape, int axis, std::int64_t offset,
                 const std::byte* in, const ir::Shape& in_shape);

// ---- reductions and scans: tile_reduce.cpp

/// Reduces `axis` away. Order: elements of the axis are split into 8 interleaved runs (element i belongs to run i % 8),
/// each added up in order, then runs 0..7 are combined as ((0+4)+(2+6))+((1+5)+(3+7)); the same for every shape and
/// grid. Sums and products of f16, bf16 and fp8 are kept in f32 and rounded once. The result of reduce_sum of bools is
/// i32.
void reduce(ir::Op op, ir::Dtype dtype, std::byte* out, const std::byte* in, const ir::Shape& shape, int axis);
/// The dtype of what `reduce` gives.
[[nodiscard]] ir::Dtype reduced_dtype(ir::Op op, ir::Dtype dtype);
/// Running sums in order along `axis`, in the element type (narrow floats: kept in f32, each result rounded once).
void cumsum(ir::Dtype dtype, std::byte* out, const std::byte* in, const ir::Shape& shape, int axis);

// ---- read-modify-write: tile_atomic.cpp

enum class Update : std::uint8_t { add, min, max, and_, or_, xor_, exchange, cas };
/// "add", "min", "max", "and", "or", "xor", "exchange", "cas"; nothing for other texts.
[[nodiscard]] std::optional<Update> parse_update(std::string_view text);

/// to[i] = update(to[i], from[i]) over `shape`, each element atomically (worker threads may run blocks in parallel).
/// `old` (dense, may be null) receives the values before. `compare` (dense or repeated) is for cas: the value that must
/// be there. Floats use min and max of the table (a NaN wins).
void update(Update kind, ir::Dtype dtype, const ir::Shape& shape, std::byte* to,
            std::span<const std::int64_t> to_strides, const std::byte* from, std::span<const std::int64_t> from_strides,
            std::byte* old = nullptr, Operand compare = {});

// ---- matrix products: tile_mma.cpp

/// A matrix in memory with strides in bytes, so that `.T` costs nothing.
struct Matrix {
  ir::Dtype dtype = ir::Dtype::f32;
  const std::byte* data = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
};
/// Whether `multiply_add` knows these types: f16, bf16, f8e4m3, f8e5m2 (mixed), f32 (as tf32 or exactly) into f32 or
/// f16; i8 and u8 (mixed) into i32; and, for the host, f64 into f64 and i64 into i64.
[[nodiscard]] bool can_multiply(ir::Dtype a, ir::Dtype b, ir::Dtype acc);
/// acc[m, n] += a[m, k] * b[k, n]; acc is dense but for `acc_row_stride` (bytes). The products of an element are added
/// up in order in runs of 16 along k, and each run is then added to acc, in f32 (f16 accumulators: rounded to f16 at
/// the end of the call); i32 wraps. With `tf32` f32 operands are rounded to 10 bits of mantissa, to nearest even.
void multiply_add(ir::Dtype acc_dtype, std::byte* acc, std::int64_t acc_row_stride, std::int64_t m, std::int64_t n,
                  std::int64_t k, const Matrix& a, const Matrix& b, bool tf32);

}  // namespace pk::interp::tile
