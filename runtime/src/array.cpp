#include "pk/runtime/array.h"

#include "pk/frontend/diagnostics.h"
#include "pk/ir/numerics.h"

namespace pk::runtime {
namespace {

/// SplitMix64's output function (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
constexpr std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;

/// 64 random bits of place `i` under `seed`: SplitMix64's sequence, started from the mixed seed, so that seeds next to
/// each other have nothing in common.
constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t i) {
  return mix(mix(seed + golden) + (i + 1) * golden);
}

/// Uniform in [0, 1): the upper 53 bits.
double unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

/// The upper half of a 128-bit product: maps 64 random bits to 0 .. count - 1.
std::uint64_t multiply_high(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t a_low = a & 0xffffffffU, a_high = a >> 32;
  const std::uint64_t b_low = b & 0xffffffffU, b_high = b >> 32;
  const std::uint64_t middle = a_high * b_low + (a_low * b_low >> 32);
  const std::uint64_t carry = (middle & 0xffffffffU) + a_low * b_high;
  return a_high * b_high + (middle >> 32) + (carry >> 32);
}

}  // namespace

Array make_array(ir::Dtype dtype, ir::Shape shape) {
  Array a;
  a.dtype = dtype;
  a.shape = std::move(shape);
  a.data.resize(static_cast<std::size_t>(a.size() * ir::byte_size(dtype)));
  return a;
}

Array random_array(ir::Dtype dtype, const ir::Shape& shape, std::uint64_t seed, double low, double high) {
  Array a = make_array(dtype, shape);
  const std::int64_t n = a.size();
  ir::visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    T* to = reinterpret_cast<T*>(a.data.data());
    if constexpr (ir::Float<T>) {
      for (std::int64_t i = 0; i < n; ++i) {
        const double u = unit(random_bits(seed, static_cast<std::uint64_t>(i)));
        to[i] = ir::convert_value<T>(low + (high - low) * u);
      }
    } else {
      const std::int64_t first = ir::convert_value<std::int64_t>(low);
      // A count of 0 stands for all 2^64 values.
      const std::uint64_t count =
          static_cast<std::uint64_t>(ir::convert_value<std::int64_t>(high)) - static_cast<std::uint64_t>(first) + 1;
      for (std::int64_t i = 0; i < n; ++i) {
        const std::uint64_t bits = random_bits(seed, static_cast<std::uint64_t>(i));
        const std::uint64_t offset = count == 0 ? bits : multiply_high(bits, count);
        to[i] = ir::convert_value<T>(static_cast<std::int64_t>(static_cast<std::uint64_t>(first) + offset));
      }
    }
  });
  return a;
}

}  // namespace pk::runtime
