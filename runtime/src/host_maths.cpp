#include "host_maths.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "pk/interp/tile_kernels.h"

namespace pk::runtime {
namespace {

namespace tile = interp::tile;
using ir::Dtype;
using ir::Op;

/// The largest array a test may make: enough for every test that ends, and far from exhausting an address space.
constexpr std::int64_t max_array_bytes = std::int64_t{1} << 34;

template <class D, class... Args>
Error fail(fmt::format_string<const Args&...> text, const Args&... args) {
  return {D::code, fmt::format(text, args...)};
}

}  // namespace

Array scalar_array(ir::Scalar value) {
  Array a = make_array(value.dtype, {});
  value.store(a.data.data());
  return a;
}

Array untyped_int(std::int64_t value) {
  Array a = scalar_array(ir::Scalar::of_int(Dtype::i64, value));
  a.untyped = true;
  return a;
}

Array untyped_float(double value) {
  Array a = scalar_array(ir::Scalar::of_double(Dtype::f64, value));
  a.untyped = true;
  return a;
}

ir::Scalar scalar_of(const Array& array) { return ir::Scalar::load(array.dtype, array.data.data()); }

std::string shape_text(const ir::Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

std::string type_text(const Array& array) {
  if (array.untyped) return ir::is_floating(array.dtype) ? "an untyped float" : "an untyped integer";
  if (array.shape.empty()) return std::string(ir::spelling(array.dtype));
  return fmt::format("{}{}", ir::spelling(array.dtype), shape_text(array.shape));
}

Result<std::int64_t> checked_bytes(Dtype dtype, const ir::Shape& shape) {
  std::int64_t bytes = ir::byte_size(dtype);
  for (const std::int64_t extent : shape) {
    if (extent < 0)
      return fail<diag::shape_mismatch>("an extent of {} in the shape {} is negative", extent, shape_text(shape));
  }
  // With an empty axis there is no element, however large the others are.
  if (std::ranges::find(shape, 0) != shape.end()) return std::int64_t{0};
  for (const std::int64_t extent : shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes) || bytes > max_array_bytes) {
      return fail<diag::shape_mismatch>("an array of shape {} is larger than {} GiB", shape_text(shape),
                                        max_array_bytes >> 30);
    }
  }
  return bytes;
}

Result<Array> checked_array(Dtype dtype, const ir::Shape& shape) {
  const Result<std::int64_t> bytes = checked_bytes(dtype, shape);
  if (!bytes) return bytes.error();
  Array array;
  array.dtype = dtype;
  array.shape = shape;
  array.data.resize(static_cast<std::size_t>(*bytes));
  return array;
}

Result<Array> adapt(const Array& array, Dtype dtype) {
  if (array.dtype == dtype && !array.untyped) return array;
  if (!array.untyped) {
    return fail<diag::type_mismatch>("`{}` is expected here, this is `{}`", ir::spelling(dtype), type_text(array));
  }
  const bool is_float = ir::is_floating(array.dtype);
  if (dtype == Dtype::boolean || (is_float && !ir::is_floating(dtype))) {
    return fail<diag::bad_literal>("{} has no value of type `{}`", type_text(array), ir::spelling(dtype));
  }
  Array result = scalar_array(ir::convert(scalar_of(array), dtype));
  if (!is_float && ir::is_integer(dtype)) {
    const ir::Scalar value = scalar_of(array);
    const bool same_bits = scalar_of(result).as_int() == value.as_int();
    const bool changes_sign = (value.dtype == Dtype::u64) != (dtype == Dtype::u64) && value.as_int() < 0;
    if (!same_bits || changes_sign) {
      return fail<diag::bad_literal>("{} does not fit in `{}`", ir::format(value), ir::spelling(dtype));
    }
  }
  return result;
}

std::optional<Error> unify(std::span<Array> arrays) {
  const Array* typed = nullptr;
  bool any_float = false, any_large = false;
  for (const Array& a : arrays) {
    if (a.untyped) {
      any_float = any_float || a.dtype == Dtype::f64;
      any_large = any_large || a.dtype == Dtype::u64;
      continue;
    }
    if (typed != nullptr && typed->dtype != a.dtype) {
      return fail<diag::type_mismatch>("operands of different types: `{}` and `{}`", type_text(*typed), type_text(a));
    }
    if (typed == nullptr) typed = &a;
  }
  for (Array& a : arrays) {
    if (!a.untyped) continue;
    if (typed != nullptr) {
      Result<Array> adapted = adapt(a, typed->dtype);
      if (!adapted) return adapted.error();
      a = std::move(*adapted);
    } else {
      const Dtype common = any_float ? Dtype::f64 : (any_large ? Dtype::u64 : Dtype::i64);
      a = scalar_array(ir::convert(scalar_of(a), common));
      a.untyped = true;
    }
  }
  return std::nullopt;
}

Result<ir::Shape> broadcast_shapes(std::span<const ir::Shape> shapes) {
  ir::Shape common;
  for (const ir::Shape& shape : shapes) {
    if (shape.size() > common.size()) common.insert(common.begin(), shape.size() - common.size(), 1);
    for (std::size_t i = 0; i < shape.size(); ++i) {
      std::int64_t& extent = common[common.size() - shape.size() + i];
      if (extent == 1) {
        extent = shape[i];
      } else if (shape[i] != 1 && shape[i] != extent) {
        return fail<diag::shape_mismatch>("shapes {} and {} do not fit together: only axes of size 1 are repeated",
                                          shape_text(shapes.front()), shape_text(shape));
      }
    }
  }
  return common;
}

namespace {

/// The place of row-major element `i` of `shape`, with one entry an axis.
std::vector<std::int64_t> place(std::int64_t i, const ir::Shape& shape) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = i % shape[axis];
    i /= shape[axis];
  }
  return index;
}

/// Whether a guard says that element `i` of a result of this shape does not count.
bool is_ignored(std::int64_t i, const ir::Shape& shape, std::span<const DivisionGuard> guards) {
  return std::ranges::any_of(
      guards, [&](const DivisionGuard& g) { return g.shape == shape && g.ignored[static_cast<std::size_t>(i)] != 0; });
}

Dtype result_dtype(Op op, Dtype operand) {
  const ir::OpClass cls = ir::info(op).cls;
  return cls == ir::OpClass::predicate || cls == ir::OpClass::comparison ? Dtype::boolean : operand;
}

std::string_view domain_text(ir::Domain domain) {
  switch (domain) {
    case ir::Domain::any:
      return "anything";
    case ir::Domain::number:
      return "numbers";
    case ir::Domain::integer:
      return "integers";
    case ir::Domain::floating:
      return "floats";
    case ir::Domain::boolean:
      return "bools";
    case ir::Domain::bits:
      return "integers or bools";
  }
  return {};
}

std::string_view op_text(Op op) {
  const ir::OpInfo& row = ir::info(op);
  return row.spelling.empty() ? row.signature : row.spelling;
}

}  // namespace

Result<Array> elementwise(Op op, std::vector<Array> operands, std::span<const DivisionGuard> guards) {
  const std::size_t first_value = op == Op::select ? 1 : 0;
  if (op == Op::select && operands[0].dtype != Dtype::boolean) {
    return fail<diag::type_mismatch>("the condition of `select` has type `{}`, it must be `bool`",
                                     type_text(operands[0]));
  }
  const std::span<Array> values = std::span(operands).subspan(first_value);
  if (const std::optional<Error> error = unify(values)) return *error;
  const ir::Domain domain = ir::info(op).domain;
  const bool untyped = values[0].untyped;
  if (untyped && domain == ir::Domain::floating && !ir::is_floating(values[0].dtype)) {
    for (Array& a : values) a = untyped_float(scalar_of(a).as_double());
  }
  const Dtype dtype = values[0].dtype;
  if (!ir::in_domain(domain, ir::info(dtype).cls)) {
    return fail<diag::type_mismatch>("`{}` takes {}, this is `{}`", op_text(op), domain_text(domain),
                                     type_text(values[0]));
  }
  std::vector<ir::Shape> shapes;
  for (const Array& a : operands) shapes.push_back(a.shape);
  Result<ir::Shape> shape = broadcast_shapes(shapes);
  if (!shape) return shape.error();
  std::vector<tile::Operand> inputs;
  for (Array& a : operands) {
    if (a.shape != *shape && a.size() != 1) {
      Result<Array> wide = broadcast_to(a, *shape);
      if (!wide) return wide.error();
      a = std::move(*wide);
    }
    inputs.push_back({a.data.data(), a.shape != *shape});
  }
  Result<Array> result = checked_array(result_dtype(op, dtype), *shape);
  if (!result) return result;
  std::vector<std::uint8_t> failed(ir::can_fail(op, ir::info(dtype).cls) ? static_cast<std::size_t>(result->size())
                                                                         : 0);
  const tile::Failure failure = tile::elementwise(op, dtype, result->data.data(), inputs, result->size(),
                                                  failed.empty() ? nullptr : failed.data());
  for (std::int64_t i = failure.element; failure && i < result->size(); ++i) {
    if (failed[static_cast<std::size_t>(i)] == 0 || is_ignored(i, *shape, guards)) continue;
    const std::string where = shape->empty() ? "" : fmt::format(" at {}", shape_text(place(i, *shape)));
    return fail<diag::run_arithmetic>("{} in `{}`{}", ir::describe(failure.error), op_text(op), where);
  }
  result->untyped = untyped && result->dtype != Dtype::boolean;
  return result;
}

Array cast(const Array& x, Dtype to) {
  Array result = make_array(to, x.shape);
  tile::convert(to, result.data.data(), x.dtype, x.data.data(), x.size());
  return result;
}

Result<Array> bitcast(const Array& x, Dtype to) {
  if (x.untyped) return fail<diag::type_mismatch>("`bitcast` of {}: give it a type with `as` first", type_text(x));
  if (ir::byte_size(x.dtype) != ir::byte_size(to)) {
    return fail<diag::type_mismatch>("`bitcast` from `{}` to `{}`: they have different widths", ir::spelling(x.dtype),
                                     ir::spelling(to));
  }
  Array result = x;
  result.dtype = to;
  return result;
}

Result<Array> broadcast_to(const Array& x, const ir::Shape& shape) {
  const ir::Shape shapes[] = {x.shape, shape};
  Result<ir::Shape> common = broadcast_shapes(shapes);
  if (!common || *common != shape) {
    return fail<diag::shape_mismatch>("shape {} cannot be repeated to {}", shape_text(x.shape), shape_text(shape));
  }
  Result<Array> result = checked_array(x.dtype, shape);
  if (result) tile::broadcast(ir::byte_size(x.dtype), result->data.data(), shape, x.data.data(), x.shape);
  return result;
}

Result<Array> reshape(Array x, const ir::Shape& shape) {
  Result<Array> target = checked_array(x.dtype, shape);
  if (!target) return target;
  if (target->size() != x.size()) {
    return fail<diag::shape_mismatch>("shape {} has {} elements, {} has {}", shape_text(x.shape), x.size(),
                                      shape_text(shape), target->size());
  }
  x.shape = shape;
  return x;
}

Result<Array> transpose(const Array& x, const std::vector<std::int64_t>& perm) {
  std::vector<std::int64_t> sorted = perm;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<std::int64_t>(i) || sorted.size() != x.shape.size()) {
      return fail<diag::bad_axis>("{} does not name each of the {} axes once", shape_text(perm), x.shape.size());
    }
  }
  ir::Shape shape;
  for (const std::int64_t axis : perm) shape.push_back(x.shape[static_cast<std::size_t>(axis)]);
  Array result = make_array(x.dtype, shape);
  tile::transpose(ir::byte_size(x.dtype), result.data.data(), x.data.data(), x.shape, perm);
  return result;
}

namespace {

/// A non-negative axis, or a message.
Result<std::size_t> checked_axis(std::int64_t axis, std::size_t rank) {
  const std::int64_t n = static_cast<std::int64_t>(rank);
  const std::int64_t counted = axis < 0 ? axis + n : axis;
  if (counted < 0 || counted >= n) return fail<diag::bad_axis>("axis {} of a value with {} axes", axis, rank);
  return static_cast<std::size_t>(counted);
}

}  // namespace

Result<Array> concat(std::vector<Array> parts, std::int64_t axis) {
  if (const std::optional<Error> error = unify(parts)) return *error;
  Result<std::size_t> at = checked_axis(axis, parts[0].shape.size());
  if (!at) return at.error();
  ir::Shape shape = parts[0].shape;
  shape[*at] = 0;
  for (const Array& part : parts) {
    bool fits = part.shape.size() == shape.size();
    for (std::size_t i = 0; fits && i < shape.size(); ++i) fits = i == *at || part.shape[i] == shape[i];
    if (!fits) {
      return fail<diag::shape_mismatch>("`concat` along axis {} of shapes {} and {}: the other axes must be equal", *at,
                                        shape_text(parts[0].shape), shape_text(part.shape));
    }
    shape[*at] += part.shape[*at];
  }
  Result<Array> result = checked_array(parts[0].dtype, shape);
  if (!result) return result;
  std::int64_t offset = 0;
  for (const Array& part : parts) {
    tile::concat_part(ir::byte_size(part.dtype), result->data.data(), shape, static_cast<int>(*at), offset,
                      part.data.data(), part.shape);
    offset += part.shape[*at];
  }
  return result;
}

Result<Array> reduce(Op op, const Array& x, std::int64_t axis) {
  Result<std::size_t> at = checked_axis(axis, x.shape.size());
  if (!at) return at.error();
  const ir::Domain domain = ir::info(op).domain;
  if (!ir::in_domain(domain, ir::info(x.dtype).cls)) {
    return fail<diag::type_mismatch>("`{}` takes {}, this is `{}`", op_text(op), domain_text(domain), type_text(x));
  }
  const bool sums = op == Op::reduce_sum || op == Op::reduce_prod;
  const Array wide = sums && ir::is_floating(x.dtype) ? cast(x, Dtype::f64) : x;
  ir::Shape shape = x.shape;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(*at));
  Array result = make_array(tile::reduced_dtype(op, wide.dtype), shape);
  tile::reduce(op, wide.dtype, result.data.data(), wide.data.data(), x.shape, static_cast<int>(*at));
  return wide.dtype == x.dtype ? result : cast(result, x.dtype);
}

Result<Array> cumsum(const Array& x, std::int64_t axis) {
  Result<std::size_t> at = checked_axis(axis, x.shape.size());
  if (!at) return at.error();
  if (x.dtype == Dtype::boolean) return fail<diag::type_mismatch>("`cumsum` takes numbers, this is `{}`", type_text(x));
  const Array wide = ir::is_floating(x.dtype) ? cast(x, Dtype::f64) : x;
  Array result = make_array(wide.dtype, x.shape);
  tile::cumsum(wide.dtype, result.data.data(), wide.data.data(), x.shape, static_cast<int>(*at));
  return cast(result, x.dtype);
}

Result<Array> iota(Dtype dtype, const ir::Shape& shape, std::optional<std::int64_t> axis) {
  if (dtype == Dtype::boolean) return fail<diag::type_mismatch>("`iota` makes numbers, not bools");
  int at = -1;
  if (axis) {
    Result<std::size_t> checked = checked_axis(*axis, shape.size());
    if (!checked) return checked.error();
    at = static_cast<int>(*checked);
  }
  Result<Array> result = checked_array(dtype, shape);
  if (result) tile::iota(dtype, result->data.data(), shape, at);
  return result;
}

Result<Array> matmul(const Array& a, const Array& b) {
  if (a.untyped || b.untyped || a.dtype != b.dtype || a.dtype == Dtype::boolean) {
    return fail<diag::type_mismatch>("`matmul` takes two arrays of one number type, these are `{}` and `{}`",
                                     type_text(a), type_text(b));
  }
  if (a.shape.size() != 2 || b.shape.size() != 2 || a.shape[1] != b.shape[0]) {
    return fail<diag::shape_mismatch>("`matmul` of shapes {} and {}: [m, k] and [k, n] are needed", shape_text(a.shape),
                                      shape_text(b.shape));
  }
  const Dtype wide = ir::is_floating(a.dtype) ? Dtype::f64 : Dtype::i64;
  const Array left = cast(a, wide), right = cast(b, wide);
  const std::int64_t m = a.shape[0], k = a.shape[1], n = b.shape[1];
  Result<Array> sum = checked_array(wide, {m, n});
  if (!sum) return sum;
  tile::multiply_add(wide, sum->data.data(), n * 8, m, n, k, {wide, left.data.data(), k * 8, 8},
                     {wide, right.data.data(), n * 8, 8}, false);
  return cast(*sum, a.dtype);
}

Array take(const Array& from, const Part& part) {
  const int bytes = ir::byte_size(from.dtype);
  Array result = make_array(from.dtype, part.shape);
  if (result.size() > 0) {
    tile::copy(bytes, part.shape, result.data.data(), tile::dense_strides(bytes, part.shape),
               from.data.data() + part.offset, part.strides);
  }
  return result;
}

void put(Array& to, const Part& part, const Array& value) {
  if (ir::element_count(part.shape) == 0) return;
  const int bytes = ir::byte_size(to.dtype);
  const std::vector<std::int64_t> from =
      value.shape.empty() ? std::vector<std::int64_t>(part.shape.size(), 0) : tile::dense_strides(bytes, part.shape);
  tile::copy(bytes, part.shape, to.data.data() + part.offset, part.strides, value.data.data(), from);
}

}  // namespace pk::runtime
