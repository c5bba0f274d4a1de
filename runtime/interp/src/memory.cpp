#include "memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace pk::interp {

namespace {

std::size_t at(int axis) { return static_cast<std::size_t>(axis); }

/// Merges neighbouring axes that continue each other, and drops axes of extent one.
Walk merged(const Walk& walk) {
  Walk out;
  out.origin = walk.origin;
  for (int a = 0; a < walk.rank; ++a) {
    const std::int64_t extent = walk.extent[at(a)];
    const std::int64_t stride = walk.stride[at(a)];
    if (extent == 1) continue;
    if (out.rank > 0 && out.stride[at(out.rank - 1)] == stride * extent) {
      out.extent[at(out.rank - 1)] *= extent;
      out.stride[at(out.rank - 1)] = stride;
    } else {
      out.extent[at(out.rank)] = extent;
      out.stride[at(out.rank)] = stride;
      ++out.rank;
    }
  }
  return out;
}

template <class Element>
void gather_as(const Walk& walk, const std::byte* data, std::byte* to) {
  for_each_run(walk, [&](std::int64_t first, std::int64_t length, std::int64_t step) {
    const std::byte* from = data + first * static_cast<std::int64_t>(sizeof(Element));
    const std::size_t bytes = static_cast<std::size_t>(length) * sizeof(Element);
    if (step == 1) {
      std::memcpy(to, from, bytes);
    } else {
      for (std::int64_t i = 0; i < length; ++i) {
        std::memcpy(to + i * static_cast<std::int64_t>(sizeof(Element)),
                    from + i * step * static_cast<std::int64_t>(sizeof(Element)), sizeof(Element));
      }
    }
    to += bytes;
  });
}

template <class Element>
void scatter_as(const Walk& walk, const std::byte* from, std::byte* data) {
  for_each_run(walk, [&](std::int64_t first, std::int64_t length, std::int64_t step) {
    std::byte* to = data + first * static_cast<std::int64_t>(sizeof(Element));
    const std::size_t bytes = static_cast<std::size_t>(length) * sizeof(Element);
    if (step == 1) {
      std::memcpy(to, from, bytes);
    } else {
      for (std::int64_t i = 0; i < length; ++i) {
        std::memcpy(to + i * step * static_cast<std::int64_t>(sizeof(Element)),
                    from + i * static_cast<std::int64_t>(sizeof(Element)), sizeof(Element));
      }
    }
    from += bytes;
  });
}

template <class Element>
void fill_as(const Walk& walk, const std::byte* element, std::byte* data) {
  Element value;
  std::memcpy(&value, element, sizeof value);
  for_each_run(walk, [&](std::int64_t first, std::int64_t length, std::int64_t step) {
    Element* to = reinterpret_cast<Element*>(data) + first;
    for (std::int64_t i = 0; i < length; ++i) to[i * step] = value;
  });
}

/// Calls `f` with a value of the unsigned type of `bytes` bytes: copying needs only the size of elements.
template <class F>
void with_element(int bytes, const F& f) {
  switch (bytes) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    case 8:
      return f(std::uint64_t{});
  }
  PK_CHECK(false, "element types have 1, 2, 4 or 8 bytes");
}

}  // namespace

void Buffer::set_shape(const ir::Shape& shape) {
  extents = shape;
  strides.assign(shape.size(), 1);
  for (std::size_t a = shape.size(); a-- > 1;) strides[a - 1] = strides[a] * shape[a];
}

std::int64_t Ref::elements() const {
  std::int64_t n = 1;
  for (int a = 0; a < rank; ++a) n *= extent[at(a)];
  return n;
}

std::int64_t Ref::origin() const {
  std::int64_t element = base;
  for (int a = 0; a < root_rank; ++a) element += start[at(a)] * root_stride[at(a)];
  return element;
}

bool Ref::inside() const {
  std::array<std::int64_t, max_rank> size;
  for (int a = 0; a < root_rank; ++a) size[at(a)] = 1;
  for (int a = 0; a < rank; ++a) size[at(axis[at(a)])] = extent[at(a)];
  for (int a = 0; a < root_rank; ++a) {
    if (start[at(a)] < 0 || start[at(a)] > root_extent[at(a)] - size[at(a)]) return false;
  }
  return true;
}

bool Ref::is_contiguous() const {
  const Walk walk = walk_in_order(*this);
  return walk.rank == 0 || (walk.rank == 1 && walk.stride[0] == 1);
}

Ref whole(Buffer& buffer) {
  Ref ref;
  ref.buffer = &buffer;
  ref.root_rank = ref.rank = static_cast<std::int8_t>(buffer.extents.size());
  for (int a = 0; a < ref.rank; ++a) {
    ref.root_extent[at(a)] = ref.extent[at(a)] = buffer.extents[at(a)];
    ref.root_stride[at(a)] = buffer.strides[at(a)];
    ref.start[at(a)] = 0;
    ref.axis[at(a)] = static_cast<std::int8_t>(a);
  }
  return ref;
}

Ref reshaped(const Ref& ref, const ir::Shape& shape) {
  Ref out;
  out.buffer = ref.buffer;
  out.base = ref.origin();
  out.root_rank = out.rank = static_cast<std::int8_t>(shape.size());
  std::int64_t stride = 1;
  for (int a = out.rank - 1; a >= 0; --a) {
    out.root_extent[at(a)] = out.extent[at(a)] = shape[at(a)];
    out.root_stride[at(a)] = stride;
    out.start[at(a)] = 0;
    out.axis[at(a)] = static_cast<std::int8_t>(a);
    stride *= shape[at(a)];
  }
  return out;
}

Walk walk_in_order(const Ref& ref) {
  Walk walk;
  walk.rank = ref.rank;
  walk.origin = ref.origin();
  for (int a = 0; a < ref.rank; ++a) {
    walk.extent[at(a)] = ref.extent[at(a)];
    walk.stride[at(a)] = ref.stride(a);
  }
  return merged(walk);
}

Walk walk_by_address(const Ref& ref) {
  Walk walk;
  walk.rank = ref.rank;
  walk.origin = ref.origin();
  std::array<int, max_rank> order{};
  for (int a = 0; a < ref.rank; ++a) order[at(a)] = a;
  std::stable_sort(order.begin(), order.begin() + ref.rank,
                   [&](int a, int b) { return ref.stride(a) > ref.stride(b); });
  for (int a = 0; a < ref.rank; ++a) {
    walk.extent[at(a)] = ref.extent[at(order[at(a)])];
    walk.stride[at(a)] = ref.stride(order[at(a)]);
  }
  return merged(walk);
}

void gather(const Ref& from, std::byte* to) {
  const Walk walk = walk_in_order(from);
  with_element(ir::byte_size(from.buffer->dtype),
               [&](auto element) { gather_as<decltype(element)>(walk, from.buffer->data, to); });
}

void scatter(const std::byte* from, const Ref& to) {
  const Walk walk = walk_in_order(to);
  with_element(ir::byte_size(to.buffer->dtype),
               [&](auto element) { scatter_as<decltype(element)>(walk, from, to.buffer->data); });
}

void fill(const std::byte* element, const Ref& to) {
  const Walk walk = walk_by_address(to);
  with_element(ir::byte_size(to.buffer->dtype),
               [&](auto type) { fill_as<decltype(type)>(walk, element, to.buffer->data); });
}

std::array<std::int64_t, max_rank> coordinates(const Ref& ref, std::int64_t n) {
  std::array<std::int64_t, max_rank> out = ref.start;
  for (int a = ref.rank - 1; a >= 0; --a) {
    const std::int64_t extent = ref.extent[at(a)];
    out[at(ref.axis[at(a)])] += n % extent;
    n /= extent;
  }
  return out;
}

std::optional<std::int64_t> locate(const Ref& ref, std::int64_t n) {
  const auto coordinate = coordinates(ref, n);
  std::int64_t element = ref.base;
  for (int a = 0; a < ref.root_rank; ++a) {
    if (coordinate[at(a)] < 0 || coordinate[at(a)] >= ref.root_extent[at(a)]) return std::nullopt;
    element += coordinate[at(a)] * ref.root_stride[at(a)];
  }
  return element;
}

Inside inside_part(const Ref& ref) {
  Inside out;
  std::array<bool, max_rank> free{};
  out.any = true;
  for (int a = 0; a < ref.rank; ++a) {
    const std::size_t root = at(ref.axis[at(a)]);
    free[root] = true;
    out.low[at(a)] = std::clamp<std::int64_t>(-ref.start[root], 0, ref.extent[at(a)]);
    out.high[at(a)] =
        std::clamp<std::int64_t>(ref.root_extent[root] - ref.start[root], out.low[at(a)], ref.extent[at(a)]);
    if (out.high[at(a)] == out.low[at(a)]) out.any = false;
  }
  for (int a = 0; a < ref.root_rank; ++a) {
    if (!free[at(a)] && (ref.start[at(a)] < 0 || ref.start[at(a)] >= ref.root_extent[at(a)])) out.any = false;
  }
  return out;
}

Ref part(const Ref& ref, const std::array<std::int64_t, max_rank>& low,
         const std::array<std::int64_t, max_rank>& high) {
  Ref out = ref;
  for (int a = 0; a < ref.rank; ++a) {
    out.start[at(ref.axis[at(a)])] += low[at(a)];
    out.extent[at(a)] = high[at(a)] - low[at(a)];
  }
  return out;
}

std::string describe(const Ref& ref) {
  std::array<std::int64_t, max_rank> size;
  size.fill(0);
  for (int a = 0; a < ref.rank; ++a) size[at(ref.axis[at(a)])] = ref.extent[at(a)] == 0 ? -1 : ref.extent[at(a)];
  std::string text(ref.buffer->name);
  for (int a = 0; a < ref.root_rank; ++a) {
    text += a == 0 ? "[" : ", ";
    const std::int64_t start = ref.start[at(a)];
    if (size[at(a)] == 0) {
      text += fmt::format("{}", start);
    } else {
      text += fmt::format("{}:{}", start, start + std::max<std::int64_t>(size[at(a)], 0));
    }
  }
  return ref.root_rank > 0 ? text + "]" : text;
}

std::string describe_range(const Buffer& buffer, std::int64_t begin, std::int64_t end) {
  if (buffer.extents.empty()) return std::string(buffer.name);
  // The range may begin and end anywhere; it is told up to the end of the innermost row in which it begins.
  std::string text(buffer.name);
  text += '[';
  const std::size_t rank = buffer.extents.size();
  std::int64_t rest = begin;
  for (std::size_t a = 0; a < rank; ++a) {
    const std::int64_t coordinate = rest / buffer.strides[a];
    rest %= buffer.strides[a];
    if (a > 0) text += ", ";
    if (a + 1 < rank) {
      text += fmt::format("{}", coordinate);
    } else {
      const std::int64_t stop = std::min(buffer.extents[a], coordinate + (end - begin));
      text += stop == coordinate + 1 ? fmt::format("{}", coordinate) : fmt::format("{}:{}", coordinate, stop);
    }
  }
  return text + "]";
}

}  // namespace pk::interp
