#pragma once
// How the elements of a tile are spread over the 128 lanes of a pk thread and their registers: the one representation
// for every kind of layout (strided, accumulators and their row and column reductions, MMA operands, replicated).
//
// A layout is a linear map over bits. Each bit of the lane number and of the register number contributes fixed
// coordinates, and an element's coordinates are the sum of the contributions of the bits that are set. No two bits
// contribute the same bit of a coordinate, so the sum is also the exclusive or. A bit that contributes nothing
// replicates: lanes that differ only there hold the same elements. Sizes that are not powers of two are padded;
// registers whose elements lie outside the shape in every lane do not exist.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "pk/ir/ir.h"

namespace pk::codegen {

/// Coordinates, one an axis.
using Coords = std::vector<std::int64_t>;

inline constexpr int lane_bits = 7;  // 128 lanes: 5 bits within a warp, 2 for the warp
inline constexpr int warp_lane_bits = 5;
inline constexpr int lane_count = 1 << lane_bits;

struct Layout {
  ir::Shape shape;
  std::vector<Coords> lanes;      ///< contribution of each lane bit
  std::vector<Coords> registers;  ///< contribution of each register bit
  friend bool operator==(const Layout&, const Layout&) = default;

  [[nodiscard]] int register_count() const { return 1 << registers.size(); }
  [[nodiscard]] Coords lane_part(int lane) const;
  [[nodiscard]] Coords register_part(int reg) const;
  [[nodiscard]] Coords at(int lane, int reg) const;
  [[nodiscard]] bool inside(const Coords& coords) const;
  /// Whether some lane's element of this register lies inside the shape.
  [[nodiscard]] bool exists(int reg) const;
  /// Whether every lane's element of this register lies inside the shape.
  [[nodiscard]] bool full(int reg) const;
};

/// Neighbouring lanes hold neighbouring vectors of `vector` elements of the last axis, warps follow each other along
/// the leading axes where these are large enough: coalesced, and rows stay within a warp.
[[nodiscard]] Layout strided(const ir::Shape& shape, int vector);
/// The accumulator of wgmma with M a multiple of 64, which is also the layout of 16-bit A operands (PTX ISA,
/// "Register fragments for wgmma.mma_async").
[[nodiscard]] Layout accumulator(const ir::Shape& shape);
/// An A operand of wgmma whose elements have `bytes` bytes.
[[nodiscard]] Layout operand_a(const ir::Shape& shape, int bytes);
/// Every lane holds every element.
[[nodiscard]] Layout replicated(const ir::Shape& shape);

/// Without axis `axis`, which a reduction has removed: what differed along it is replicated.
[[nodiscard]] Layout without_axis(const Layout& layout, std::size_t axis);
/// Result axis i is operand axis perm[i].
[[nodiscard]] Layout permuted(const Layout& layout, const std::vector<std::int64_t>& perm);
/// For a tile of shape `from` that is repeated to `to.shape` (axes lined up from the last): where its elements have to
/// be so that nothing moves.
[[nodiscard]] Layout before_broadcast(const Layout& to, const ir::Shape& from);
/// The same elements in row-major order under another shape, if every bit keeps a place of its own.
[[nodiscard]] std::optional<Layout> reshaped(const Layout& layout, const ir::Shape& shape);

}  // namespace pk::codegen
