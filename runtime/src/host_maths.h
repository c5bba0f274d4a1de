#pragma once
// Operations on host arrays, for test items: what the language's tile operations mean on arrays of any size and rank.
// Every function returns a message (in the user's terms, without position) where its operands do not fit.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pk/frontend/diagnostics.h"
#include "pk/ir/numerics.h"
#include "pk/ir/ops.h"
#include "pk/runtime/array.h"

namespace pk::runtime {

/// Marks elements whose integer division does not count, because a surrounding `select` takes the other side.
struct DivisionGuard {
  ir::Shape shape;
  std::vector<std::uint8_t> ignored;
};

[[nodiscard]] Array scalar_array(ir::Scalar value);
[[nodiscard]] Array untyped_int(std::int64_t value);
[[nodiscard]] Array untyped_float(double value);
/// The value of a rank-0 array.
[[nodiscard]] ir::Scalar scalar_of(const Array& array);
/// "f32[3, 4]", "i32", or "an untyped integer".
[[nodiscard]] std::string type_text(const Array& array);
[[nodiscard]] std::string shape_text(const ir::Shape& shape);

/// The bytes of an array, or that its shape is too large or negative.
[[nodiscard]] Result<std::int64_t> checked_bytes(ir::Dtype dtype, const ir::Shape& shape);
/// Makes room for such an array: zeros.
[[nodiscard]] Result<Array> checked_array(ir::Dtype dtype, const ir::Shape& shape);
/// An untyped literal as `dtype`: an integer that fits, a float only to float types. Typed arrays must have the dtype.
[[nodiscard]] Result<Array> adapt(const Array& array, ir::Dtype dtype);
/// Gives untyped operands the dtype of the typed ones; says so when two typed ones differ.
[[nodiscard]] std::optional<Error> unify(std::span<Array> arrays);
/// The shape that `shapes` broadcast to, as in NumPy.
[[nodiscard]] Result<ir::Shape> broadcast_shapes(std::span<const ir::Shape> shapes);

/// Any elementwise operation but the conversions; operands broadcast. Division errors carry the code of run_arithmetic.
[[nodiscard]] Result<Array> elementwise(ir::Op op, std::vector<Array> operands, std::span<const DivisionGuard> guards);
[[nodiscard]] Array cast(const Array& x, ir::Dtype to);
[[nodiscard]] Result<Array> bitcast(const Array& x, ir::Dtype to);
[[nodiscard]] Result<Array> broadcast_to(const Array& x, const ir::Shape& shape);
[[nodiscard]] Result<Array> reshape(Array x, const ir::Shape& shape);
[[nodiscard]] Result<Array> transpose(const Array& x, const std::vector<std::int64_t>& perm);
[[nodiscard]] Result<Array> concat(std::vector<Array> parts, std::int64_t axis);
/// Reductions and cumsum: floats add up in f64 and are rounded once.
[[nodiscard]] Result<Array> reduce(ir::Op op, const Array& x, std::int64_t axis);
[[nodiscard]] Result<Array> cumsum(const Array& x, std::int64_t axis);
[[nodiscard]] Result<Array> iota(ir::Dtype dtype, const ir::Shape& shape, std::optional<std::int64_t> axis);
/// Matrix product of 2-D arrays: floats add up in f64 and are rounded once, integers wrap.
[[nodiscard]] Result<Array> matmul(const Array& a, const Array& b);

/// A rectangular part of an array: where it begins (bytes), and its axes with their strides in bytes.
struct Part {
  std::int64_t offset = 0;
  ir::Shape shape;
  std::vector<std::int64_t> strides;
};
[[nodiscard]] Array take(const Array& from, const Part& part);
/// Stores `value` (of the part's shape, or a scalar; of the array's dtype).
void put(Array& to, const Part& part, const Array& value);

}  // namespace pk::runtime
