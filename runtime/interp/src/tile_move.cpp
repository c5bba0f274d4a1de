// Moving elements: one strided copy, and the shape operations in terms of it.

#include <algorithm>
#include <cstring>

#include "pk/frontend/diagnostics.h"
#include "pk/interp/tile_kernels.h"

namespace pk::interp::tile {
namespace {

struct Axis {
  std::int64_t extent = 1;
  std::int64_t to = 0, from = 0;  ///< strides in bytes
};

/// The axes to walk, outermost first, without those of extent 1 and with neighbours joined where both sides are
/// contiguous over them.
std::vector<Axis> joined_axes(const ir::Shape& shape, std::span<const std::int64_t> to,
                              std::span<const std::int64_t> from) {
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    const Axis next{shape[i], to[i], from[i]};
    if (!axes.empty() && axes.back().to == next.to * next.extent && axes.back().from == next.from * next.extent) {
      axes.back() = {axes.back().extent * next.extent, next.to, next.from};
    } else {
      axes.push_back(next);
    }
  }
  return axes;
}

template <class T>
void copy_row(std::byte* to, std::int64_t to_stride, const std::byte* from, std::int64_t from_stride, std::int64_t n) {
  constexpr std::int64_t dense = sizeof(T);
  if (n == 0) return;  // arrays without elements have no storage
  if (to_stride == dense && from_stride == dense) {
    std::memcpy(to, from, static_cast<std::size_t>(n * dense));
    return;
  }
  T value;
  if (from_stride == 0) {
    std::memcpy(&value, from, sizeof value);
    for (std::int64_t i = 0; i < n; ++i) std::memcpy(to + i * to_stride, &value, sizeof value);
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    std::memcpy(&value, from + i * from_stride, sizeof value);
    std::memcpy(to + i * to_stride, &value, sizeof value);
  }
}

/// The two innermost axes, in squares that fit in the cache: a transposed copy touches every line once.
template <class T>
void copy_plane(std::byte* to, const std::byte* from, const Axis& outer, const Axis& inner) {
  constexpr std::int64_t dense = sizeof(T);
  constexpr std::int64_t square = 32;
  if (inner.to == dense && (inner.from == dense || inner.from == 0)) {
    for (std::int64_t i = 0; i < outer.extent; ++i)
      copy_row<T>(to + i * outer.to, inner.to, from + i * outer.from, inner.from, inner.extent);
    return;
  }
  for (std::int64_t i0 = 0; i0 < outer.extent; i0 += square) {
    const std::int64_t i1 = std::min(i0 + square, outer.extent);
    for (std::int64_t j0 = 0; j0 < inner.extent; j0 += square) {
      const std::int64_t n = std::min(square, inner.extent - j0);
      for (std::int64_t i = i0; i < i1; ++i) {
        copy_row<T>(to + i * outer.to + j0 * inner.to, inner.to, from + i * outer.from + j0 * inner.from, inner.from,
                    n);
      }
    }
  }
}

template <class T>
void copy_axes(std::byte* to, const std::byte* from, std::span<const Axis> axes) {
  if (axes.empty()) {
    std::memcpy(to, from, sizeof(T));
  } else if (axes.size() == 1) {
    copy_row<T>(to, axes[0].to, from, axes[0].from, axes[0].extent);
  } else if (axes.size() == 2) {
    copy_plane<T>(to, from, axes[0], axes[1]);
  } else {
    for (std::int64_t i = 0; i < axes[0].extent; ++i)
      copy_axes<T>(to + i * axes[0].to, from + i * axes[0].from, axes.subspan(1));
  }
}

void copy_where(int bytes, const std::byte*& mask, std::byte* to, const std::byte* from, std::span<const Axis> axes) {
  if (axes.empty()) {
    if (*mask != std::byte{0}) std::memcpy(to, from, static_cast<std::size_t>(bytes));
    ++mask;
    return;
  }
  for (std::int64_t i = 0; i < axes[0].extent; ++i)
    copy_where(bytes, mask, to + i * axes[0].to, from + i * axes[0].from, axes.subspan(1));
}

}  // namespace

void copy(int element_bytes, const ir::Shape& shape, std::byte* to, std::span<const std::int64_t> to_strides,
          const std::byte* from, std::span<const std::int64_t> from_strides) {
  if (ir::element_count(shape) == 0) return;
  const std::vector<Axis> axes = joined_axes(shape, to_strides, from_strides);
  switch (element_bytes) {
    case 1:
      return copy_axes<std::uint8_t>(to, from, axes);
    case 2:
      return copy_axes<std::uint16_t>(to, from, axes);
    case 4:
      return copy_axes<std::uint32_t>(to, from, axes);
    case 8:
      return copy_axes<std::uint64_t>(to, from, axes);
    default:
      PK_CHECK(false, "an element has 1, 2, 4 or 8 bytes");
  }
}

void copy_masked(int element_bytes, const ir::Shape& shape, const std::byte* mask, std::byte* to,
                 std::span<const std::int64_t> to_strides, const std::byte* from,
                 std::span<const std::int64_t> from_strides) {
  if (ir::element_count(shape) == 0) return;
  copy_where(element_bytes, mask, to, from, joined_axes(shape, to_strides, from_strides));
}

std::vector<std::int64_t> dense_strides(int element_bytes, const ir::Shape& shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = element_bytes;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

void broadcast(int element_bytes, std::byte* out, const ir::Shape& out_shape, const std::byte* in,
               const ir::Shape& in_shape) {
  const std::vector<std::int64_t> in_strides = dense_strides(element_bytes, in_shape);
  std::vector<std::int64_t> from(out_shape.size(), 0);
  const std::size_t missing = out_shape.size() - in_shape.size();
  for (std::size_t i = 0; i < in_shape.size(); ++i) from[missing + i] = in_shape[i] == 1 ? 0 : in_strides[i];
  copy(element_bytes, out_shape, out, dense_strides(element_bytes, out_shape), in, from);
}

void transpose(int element_bytes, std::byte* out, const std::byte* in, const ir::Shape& in_shape,
               std::span<const std::int64_t> perm) {
  const std::vector<std::int64_t> in_strides = dense_strides(element_bytes, in_shape);
  ir::Shape out_shape;
  std::vector<std::int64_t> from;
  for (const std::int64_t axis : perm) {
    out_shape.push_back(in_shape[static_cast<std::size_t>(axis)]);
    from.push_back(in_strides[static_cast<std::size_t>(axis)]);
  }
  copy(element_bytes, out_shape, out, dense_strides(element_bytes, out_shape), in, from);
}

void slice(int element_bytes, std::byte* out, const ir::Shape& out_shape, const std::byte* in,
           const ir::Shape& in_shape, std::span<const std::int64_t> starts) {
  const std::vector<std::int64_t> from = dense_strides(element_bytes, in_shape);
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < starts.size(); ++i) offset += starts[i] * from[i];
  if (ir::element_count(out_shape) > 0)
    copy(element_bytes, out_shape, out, dense_strides(element_bytes, out_shape), in + offset, from);
}

void concat_part(int element_bytes, std::byte* out, const ir::Shape& out_shape, int axis, std::int64_t offset,
                 const std::byte* in, const ir::Shape& in_shape) {
  const std::vector<std::int64_t> to = dense_strides(element_bytes, out_shape);
  if (ir::element_count(in_shape) == 0) return;
  copy(element_bytes, in_shape, out + offset * to[static_cast<std::size_t>(axis)], to, in,
       dense_strides(element_bytes, in_shape));
}

}  // namespace pk::interp::tile
