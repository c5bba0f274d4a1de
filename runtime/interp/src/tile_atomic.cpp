// Read-modify-write of elements in memory: atomics and reducing copies. Each element is changed by compare-and-swap,
// since blocks may run in several worker threads.

#include <atomic>
#include <cstring>

#include "pk/frontend/diagnostics.h"
#include "pk/interp/tile_kernels.h"

namespace pk::interp::tile {
namespace {

using ir::Op;

template <class T>
T updated(Update kind, T old, T value, T compare) {
  switch (kind) {
    case Update::add:
      if constexpr (ir::applies<Op::add, T>) return ir::apply<Op::add>(old, value);
      break;
    case Update::min:
      if constexpr (ir::applies<Op::min, T>) return ir::apply<Op::min>(old, value);
      break;
    case Update::max:
      if constexpr (ir::applies<Op::max, T>) return ir::apply<Op::max>(old, value);
      break;
    case Update::and_:
      if constexpr (ir::applies<Op::bit_and, T>) return ir::apply<Op::bit_and>(old, value);
      break;
    case Update::or_:
      if constexpr (ir::applies<Op::bit_or, T>) return ir::apply<Op::bit_or>(old, value);
      break;
    case Update::xor_:
      if constexpr (ir::applies<Op::bit_xor, T>) return ir::apply<Op::bit_xor>(old, value);
      break;
    case Update::exchange:
      return value;
    case Update::cas:
      return static_cast<bool>(ir::apply<Op::eq>(old, compare)) ? value : old;
  }
  PK_CHECK(false, "atomic operation on a type outside its domain");
}

template <int bytes>
struct Word;
template <>
struct Word<1> {
  using Type = std::uint8_t;
};
template <>
struct Word<2> {
  using Type = std::uint16_t;
};
template <>
struct Word<4> {
  using Type = std::uint32_t;
};
template <>
struct Word<8> {
  using Type = std::uint64_t;
};

/// Changes one element; returns what stood there.
template <class T>
T update_element(Update kind, std::byte* at, T value, T compare) {
  using W = typename Word<sizeof(T)>::Type;
  std::atomic_ref<W> place(*reinterpret_cast<W*>(at));
  W before = place.load();
  while (
      !place.compare_exchange_weak(before, std::bit_cast<W>(updated(kind, std::bit_cast<T>(before), value, compare)))) {
  }
  return std::bit_cast<T>(before);
}

/// Walks the elements of `shape`; the dense operands advance by one element each.
template <class T>
struct Walk {
  Update kind;
  const ir::Shape& shape;
  std::span<const std::int64_t> to_strides, from_strides;
  std::byte* old;
  Operand compare;

  void run(std::size_t axis, std::byte* to, const std::byte* from) {
    if (axis < shape.size()) {
      for (std::int64_t i = 0; i < shape[axis]; ++i)
        run(axis + 1, to + i * to_strides[axis], from + i * from_strides[axis]);
      return;
    }
    T value, expected{};
    std::memcpy(&value, from, sizeof value);
    if (compare.data != nullptr) {
      std::memcpy(&expected, compare.data, sizeof expected);
      if (!compare.scalar) compare.data += sizeof expected;
    }
    const T before = update_element(kind, to, value, expected);
    if (old != nullptr) {
      std::memcpy(old, &before, sizeof before);
      old += sizeof before;
    }
  }
};

}  // namespace

std::optional<Update> parse_update(std::string_view text) {
  if (text == "add") return Update::add;
  if (text == "min") return Update::min;
  if (text == "max") return Update::max;
  if (text == "and") return Update::and_;
  if (text == "or") return Update::or_;
  if (text == "xor") return Update::xor_;
  if (text == "exchange") return Update::exchange;
  if (text == "cas") return Update::cas;
  return std::nullopt;
}

void update(Update kind, ir::Dtype dtype, const ir::Shape& shape, std::byte* to,
            std::span<const std::int64_t> to_strides, const std::byte* from, std::span<const std::int64_t> from_strides,
            std::byte* old, Operand compare) {
  ir::visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    Walk<T>{kind, shape, to_strides, from_strides, old, compare}.run(0, to, from);
  });
}

}  // namespace pk::interp::tile
