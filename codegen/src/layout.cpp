#include "layout.h"

#include <algorithm>
#include <bit>

#include "pk/frontend/diagnostics.h"

namespace pk::codegen {
namespace {

int bits_for(std::int64_t extent) {
  return extent <= 1 ? 0 : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(extent - 1)));
}

/// Hands out the bits of each axis from the lowest up.
class Bits {
 public:
  explicit Bits(const ir::Shape& shape) : rank_(shape.size()), taken_(shape.size(), 0) {
    for (const std::int64_t extent : shape) total_.push_back(bits_for(extent));
  }
  [[nodiscard]] int left(std::size_t axis) const { return total_[axis] - taken_[axis]; }
  Coords take(std::size_t axis) {
    Coords basis(rank_, 0);
    basis[axis] = std::int64_t{1} << taken_[axis]++;
    return basis;
  }
  /// Takes a bit if the axis has one left.
  void take_into(std::vector<Coords>& to, std::size_t axis) {
    if (left(axis) > 0) to.push_back(take(axis));
  }
  /// The rest of the bits, from the last axis to the first.
  void drain_into(std::vector<Coords>& to) {
    for (std::size_t axis = rank_; axis-- > 0;) {
      while (left(axis) > 0) to.push_back(take(axis));
    }
  }
  /// A bit that replicates.
  [[nodiscard]] Coords nothing() const { return Coords(rank_, 0); }

 private:
  std::size_t rank_;
  std::vector<int> total_, taken_;
};

void add(Coords& to, const Coords& more) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += more[i];
}

bool is_zero(const Coords& c) {
  return std::all_of(c.begin(), c.end(), [](std::int64_t x) { return x == 0; });
}

Coords sum_of_bits(const std::vector<Coords>& bases, int number, std::size_t rank) {
  Coords result(rank, 0);
  for (std::size_t bit = 0; bit < bases.size(); ++bit) {
    if ((number >> bit & 1) != 0) add(result, bases[bit]);
  }
  return result;
}

/// Register bits that contribute nothing would only name the same value twice.
void drop_idle_registers(Layout& layout) { std::erase_if(layout.registers, is_zero); }

}  // namespace

Coords Layout::lane_part(int lane) const { return sum_of_bits(lanes, lane, shape.size()); }
Coords Layout::register_part(int reg) const { return sum_of_bits(registers, reg, shape.size()); }

Coords Layout::at(int lane, int reg) const {
  Coords result = lane_part(lane);
  add(result, register_part(reg));
  return result;
}

bool Layout::inside(const Coords& coords) const {
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (coords[i] >= shape[i]) return false;
  }
  return true;
}

// Lane 0 has the smallest coordinates of a register, lane 127 the largest.
bool Layout::exists(int reg) const { return inside(at(0, reg)); }
bool Layout::full(int reg) const { return inside(at(lane_count - 1, reg)); }

Layout strided(const ir::Shape& shape, int vector) {
  Layout layout{shape, {}, {}};
  Bits bits(shape);
  const std::size_t rank = shape.size();
  if (rank > 0) {
    for (int v = 1; v < vector; v *= 2) bits.take_into(layout.registers, rank - 1);
  }
  for (std::size_t axis = rank; axis-- > 0;) {
    while (bits.left(axis) > 0 && layout.lanes.size() < warp_lane_bits) layout.lanes.push_back(bits.take(axis));
  }
  while (layout.lanes.size() < warp_lane_bits) layout.lanes.push_back(bits.nothing());
  // The warps' bits come from the leading axes, so that a row stays within a warp; their places are those that follow.
  for (std::size_t axis = 0; axis < rank; ++axis) {
    while (bits.left(axis) > 0 && layout.lanes.size() < lane_bits) layout.lanes.push_back(bits.take(axis));
  }
  while (layout.lanes.size() < lane_bits) layout.lanes.push_back(bits.nothing());
  bits.drain_into(layout.registers);
  return layout;
}

Layout accumulator(const ir::Shape& shape) { return operand_a(shape, 2); }

Layout operand_a(const ir::Shape& shape, int bytes) {
  PK_CHECK(shape.size() == 2 && shape[0] % 64 == 0, "an MMA fragment has 64 rows");
  constexpr std::size_t row = 0, column = 1;
  Layout layout{shape, {}, {}};
  Bits bits(shape);
  // 32-bit registers hold neighbouring elements; an accumulator of 32-bit elements is laid out as pairs, too.
  for (int in_register = bytes; in_register < 4; in_register *= 2) bits.take_into(layout.registers, column);
  for (int i = 0; i < 2; ++i) layout.lanes.push_back(bits.left(column) > 0 ? bits.take(column) : bits.nothing());
  for (int i = 0; i < 3; ++i) layout.lanes.push_back(bits.take(row));
  layout.registers.push_back(bits.take(row));
  for (int i = 0; i < 2; ++i) layout.lanes.push_back(bits.take(row));
  while (bits.left(column) > 0) layout.registers.push_back(bits.take(column));
  bits.drain_into(layout.registers);
  return layout;
}

Layout replicated(const ir::Shape& shape) {
  Layout layout{shape, {}, {}};
  Bits bits(shape);
  layout.lanes.assign(lane_bits, bits.nothing());
  bits.drain_into(layout.registers);
  return layout;
}

Layout without_axis(const Layout& layout, std::size_t axis) {
  const auto drop = [&](auto list) {
    for (auto& coords : list) coords.erase(coords.begin() + static_cast<std::ptrdiff_t>(axis));
    return list;
  };
  Layout result{layout.shape, drop(layout.lanes), drop(layout.registers)};
  result.shape.erase(result.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  drop_idle_registers(result);
  return result;
}

Layout permuted(const Layout& layout, const std::vector<std::int64_t>& perm) {
  const auto permute = [&](const Coords& from) {
    Coords to;
    for (const std::int64_t axis : perm) to.push_back(from[static_cast<std::size_t>(axis)]);
    return to;
  };
  Layout result{permute(layout.shape), {}, {}};
  for (const Coords& basis : layout.lanes) result.lanes.push_back(permute(basis));
  for (const Coords& basis : layout.registers) result.registers.push_back(permute(basis));
  return result;
}

Layout before_broadcast(const Layout& to, const ir::Shape& from) {
  const std::size_t added = to.shape.size() - from.size();
  const auto project = [&](const Coords& basis) {
    Coords result(basis.begin() + static_cast<std::ptrdiff_t>(added), basis.end());
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (from[i] != to.shape[i + added]) result[i] = 0;
    }
    return result;
  };
  Layout result{from, {}, {}};
  for (const Coords& basis : to.lanes) result.lanes.push_back(project(basis));
  for (const Coords& basis : to.registers) result.registers.push_back(project(basis));
  drop_idle_registers(result);
  return result;
}

std::optional<Layout> reshaped(const Layout& layout, const ir::Shape& shape) {
  const auto row_major = [](const Coords& coords, const ir::Shape& in) {
    std::int64_t n = 0;
    for (std::size_t i = 0; i < in.size(); ++i) n = n * in[i] + coords[i];
    return n;
  };
  const auto split = [&](std::int64_t n) {
    Coords coords(shape.size(), 0);
    for (std::size_t i = shape.size(); i-- > 0;) {
      coords[i] = n % shape[i];
      n /= shape[i];
    }
    return coords;
  };
  ir::Shape old_long, new_long;  // axes of one element do not matter
  std::copy_if(layout.shape.begin(), layout.shape.end(), std::back_inserter(old_long), [](auto d) { return d != 1; });
  std::copy_if(shape.begin(), shape.end(), std::back_inserter(new_long), [](auto d) { return d != 1; });
  const auto is_power = [](std::int64_t d) { return std::has_single_bit(static_cast<std::uint64_t>(d)); };
  const bool powers = std::all_of(old_long.begin(), old_long.end(), is_power) &&
                      std::all_of(new_long.begin(), new_long.end(), is_power);
  if (!powers && old_long != new_long) return std::nullopt;
  const auto map = [&](const Coords& basis) {
    if (powers) return split(row_major(basis, layout.shape));
    Coords result(shape.size(), 0);
    std::size_t next = 0;
    for (std::size_t i = 0; i < layout.shape.size(); ++i) {
      if (layout.shape[i] == 1) continue;
      while (shape[next] == 1) ++next;
      result[next++] = basis[i];
    }
    return result;
  };
  Layout result{shape, {}, {}};
  for (const Coords& basis : layout.lanes) result.lanes.push_back(map(basis));
  for (const Coords& basis : layout.registers) result.registers.push_back(map(basis));
  return result;
}

}  // namespace pk::codegen
