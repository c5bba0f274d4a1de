// Elementwise operations. Each (operation, type) has one plain loop over dense arrays, which the compiler vectorises;
// a repeated scalar is spread over a small buffer first, so that no other form of the loop is needed.

#include <algorithm>
#include <array>
#include <cstring>

#include "pk/frontend/diagnostics.h"
#include "pk/interp/tile_kernels.h"

namespace pk::interp::tile {
namespace {

using ir::Bool;
using ir::NumError;
using ir::Op;
using ir::OpClass;

constexpr std::int64_t chunk =
    512;  ///< elements handled at a time; three operands of 8 bytes fit in the first cache level
using Inputs = std::array<const std::byte*, 3>;
using Loop = void (*)(std::byte* out, const Inputs& in, std::int64_t n);
using CheckLoop = Failure (*)(const Inputs& in, std::int64_t n, std::uint8_t* failed);

template <class T>
const T* elements(const std::byte* p) {
  return reinterpret_cast<const T*>(p);
}

template <Op op, class T>
void loop(std::byte* out, const Inputs& in, std::int64_t n) {
  constexpr OpClass cls = ir::info(op).cls;
  using Out = std::conditional_t<cls == OpClass::predicate || cls == OpClass::comparison, Bool, T>;
  Out* __restrict to = reinterpret_cast<Out*>(out);
  if constexpr (op == Op::select) {
    const Bool* __restrict c = elements<Bool>(in[0]);
    const T* __restrict a = elements<T>(in[1]);
    const T* __restrict b = elements<T>(in[2]);
    for (std::int64_t i = 0; i < n; ++i) to[i] = ir::select_value(c[i], a[i], b[i]);
  } else {
    const T* __restrict a = elements<T>(in[0]);
    const T* __restrict b = elements<T>(in[1]);
    const T* __restrict c = elements<T>(in[2]);
    if constexpr (cls == OpClass::unary || cls == OpClass::predicate) {
      for (std::int64_t i = 0; i < n; ++i) to[i] = ir::apply<op>(a[i]);
    } else if constexpr (cls == OpClass::ternary) {
      for (std::int64_t i = 0; i < n; ++i) to[i] = ir::apply<op>(a[i], b[i], c[i]);
    } else {
      for (std::int64_t i = 0; i < n; ++i) to[i] = ir::apply<op>(a[i], b[i]);
    }
  }
}

template <Op op, class T>
Failure check_loop(const Inputs& in, std::int64_t n, std::uint8_t* failed) {
  const T* a = elements<T>(in[0]);
  const T* b = elements<T>(in[1]);
  Failure first;
  for (std::int64_t i = 0; i < n; ++i) {
    const NumError error = ir::check<op>(a[i], b[i]);
    if (error == NumError::none) continue;
    if (!first) first = {error, i};
    if (failed == nullptr) break;
    failed[i] = 1;
  }
  return first;
}

struct Loops {
  Loop compute = nullptr;
  CheckLoop check = nullptr;  ///< null when the operation cannot fail
};

Loops find_loops(Op op, ir::Dtype dtype) {
  Loops found;
  ir::visit_elementwise(op, [&](auto op_tag) {
    ir::visit_dtype(dtype, [&](auto tag) {
      using T = typename decltype(tag)::Type;
      constexpr Op o = decltype(op_tag)::op;
      if constexpr (ir::applies<o, T>) {
        found.compute = &loop<o, T>;
        if constexpr (ir::can_fail(o, ir::class_of<T>)) found.check = &check_loop<o, T>;
      }
    });
  });
  return found;
}

/// Chunks of one operand, one after the other.
class Feed {
 public:
  Feed(const Operand& operand, int element_bytes, std::int64_t n)
      : data_(operand.data), bytes_(operand.scalar ? 0 : element_bytes) {
    if (!operand.scalar) return;
    fill(element_bytes, repeated_.data(), operand.data, std::min(n, chunk));
    data_ = repeated_.data();
  }
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;
  [[nodiscard]] const std::byte* at(std::int64_t element) const { return data_ + element * bytes_; }

 private:
  alignas(64) std::array<std::byte, static_cast<std::size_t>(chunk) * 8> repeated_;
  const std::byte* data_;
  std::int64_t bytes_;
};

}  // namespace

Failure elementwise(Op op, ir::Dtype dtype, std::byte* out, std::span<const Operand> operands, std::int64_t n,
                    std::uint8_t* failed) {
  const Loops loops = find_loops(op, dtype);
  PK_CHECK(loops.compute != nullptr && !operands.empty(), "elementwise operation on a type outside its domain");
  const OpClass cls = ir::info(op).cls;
  const bool gives_bool = cls == OpClass::predicate || cls == OpClass::comparison;
  const int bytes = ir::byte_size(dtype);
  const int out_bytes = gives_bool ? 1 : bytes;
  const auto operand = [&](std::size_t i) { return i < operands.size() ? operands[i] : operands[0]; };
  const Feed a(operand(0), op == Op::select ? 1 : bytes, n);
  const Feed b(operand(1), bytes, n);
  const Feed c(operand(2), bytes, n);
  Failure first;
  for (std::int64_t done = 0; done < n; done += chunk) {
    const std::int64_t count = std::min(chunk, n - done);
    const Inputs in{a.at(done), b.at(done), c.at(done)};
    loops.compute(out + done * out_bytes, in, count);
    if (loops.check == nullptr) continue;
    const Failure failure = loops.check(in, count, failed == nullptr ? nullptr : failed + done);
    if (failure && !first) first = {failure.error, done + failure.element};
  }
  return first;
}

void fill(int element_bytes, std::byte* out, const std::byte* value, std::int64_t n) {
  const auto fill_as = [&](auto element) {
    using T = decltype(element);
    T v;
    std::memcpy(&v, value, sizeof v);
    std::fill_n(reinterpret_cast<T*>(out), n, v);
  };
  switch (element_bytes) {
    case 1:
      return fill_as(std::uint8_t{});
    case 2:
      return fill_as(std::uint16_t{});
    case 4:
      return fill_as(std::uint32_t{});
    case 8:
      return fill_as(std::uint64_t{});
    default:
      PK_CHECK(false, "an element has 1, 2, 4 or 8 bytes");
  }
}

void iota(ir::Dtype dtype, std::byte* out, const ir::Shape& shape, int axis) {
  const std::int64_t n = ir::element_count(shape);
  // The coordinate along an axis counts up once every `inner` elements and starts again after `extent` of them.
  std::int64_t inner = 1;
  std::int64_t extent = n;
  if (axis >= 0) {
    extent = shape[static_cast<std::size_t>(axis)];
    for (std::size_t i = static_cast<std::size_t>(axis) + 1; i < shape.size(); ++i) inner *= shape[i];
  }
  ir::visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    T* to = reinterpret_cast<T*>(out);
    std::int64_t coordinate = 0;
    for (std::int64_t i = 0; i < n; i += inner) {
      std::fill_n(to + i, inner, ir::convert_value<T>(coordinate));
      coordinate = coordinate + 1 == extent ? 0 : coordinate + 1;
    }
  });
}

}  // namespace pk::interp::tile
