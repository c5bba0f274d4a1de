#include "lanes.h"

#include <algorithm>
#include <limits>

#include "pk/ir/numerics.h"

namespace pk::sema::rules {

// More lanes than a legal mesh has; an axis beyond is treated like one of unknown size.
constexpr std::int64_t most_lanes = 256;

std::optional<std::int64_t> loop_rounds(std::int64_t low, std::int64_t high, std::int64_t step) {
  if (step < 1) return std::nullopt;
  if (high <= low) return 0;
  // The distance of two 64-bit numbers may not fit in one.
  const std::uint64_t distance = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  const std::uint64_t rounds = (distance - 1) / static_cast<std::uint64_t>(step) + 1;
  return static_cast<std::int64_t>(std::min<std::uint64_t>(rounds, std::numeric_limits<std::int64_t>::max()));
}

LaneSpace::LaneSpace(const ir::Kernel& kernel) {
  for (std::size_t i = 0; i < kernel.axes.size(); ++i) {
    const ir::MeshAxis& axis = kernel.axes[i];
    if (axis.kind == ir::MeshAxis::Kind::grid) continue;
    Axis lane_axis{static_cast<int>(i), axis.name, axis.kind == ir::MeshAxis::Kind::wg, axis.size, false, count_};
    if (axis.size < 1 || count_ * axis.size > most_lanes) {
      lane_axis.size = 1;
      lane_axis.symbolic = true;
    }
    count_ *= static_cast<int>(lane_axis.size);
    axes_.push_back(std::move(lane_axis));
  }
}

int LaneSpace::find(int mesh_axis) const {
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].mesh_axis == mesh_axis) return static_cast<int>(i);
  }
  return -1;
}

int LaneSpace::thread_axis() const {
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].threads) return static_cast<int>(i);
  }
  return -1;
}

std::int64_t LaneSpace::coordinate(int lane, int axis) const {
  const Axis& a = axes_[static_cast<std::size_t>(axis)];
  return lane / a.stride % a.size;
}

int LaneSpace::with_coordinate(int lane, int axis, std::int64_t coordinate_) const {
  const Axis& a = axes_[static_cast<std::size_t>(axis)];
  return lane + static_cast<int>(coordinate_ - coordinate(lane, axis)) * a.stride;
}

Known LaneSpace::constant(std::int64_t value) const {
  return {std::vector<std::optional<std::int64_t>>(static_cast<std::size_t>(count_), value), 0};
}

Known LaneSpace::coord(int axis) const {
  if (axes_[static_cast<std::size_t>(axis)].symbolic) return unknown((AxisMask{1} << axis) | unresolved_bit);
  Known v = constant(0);
  for (int lane = 0; lane < count_; ++lane) v.lanes[static_cast<std::size_t>(lane)] = coordinate(lane, axis);
  return v;
}

Known LaneSpace::threads_in(const std::vector<std::int64_t>& threads) const {
  const int axis = thread_axis();
  if (axis < 0) return constant(1);
  if (axes_[static_cast<std::size_t>(axis)].symbolic) return coord(axis);
  Known v = coord(axis);
  for (auto& lane : v.lanes) lane = std::find(threads.begin(), threads.end(), *lane) != threads.end() ? 1 : 0;
  return v;
}

AxisMask LaneSpace::variance(const Known& v) const {
  if (v.lanes.empty()) return v.varies;
  AxisMask mask = 0;
  for (int lane = 0; lane < count_; ++lane) {
    if (!v.at(lane)) mask |= v.varies;
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      const int first = with_coordinate(lane, static_cast<int>(a), 0);
      if (v.at(lane) != v.at(first)) mask |= AxisMask{1} << a;
    }
  }
  return mask;
}

bool LaneSpace::is_zero(const Known& v) const {
  return !v.lanes.empty() && std::all_of(v.lanes.begin(), v.lanes.end(), [](const auto& lane) { return lane == 0; });
}

// Unknown lanes with equal operands have equal results; where operands differ the results may.
void LaneSpace::add_differences(Known& result, const std::vector<const Known*>& operands) const {
  bool any_unknown = false;
  for (int lane = 0; lane < count_; ++lane) {
    if (result.at(lane)) continue;
    any_unknown = true;
    for (const Known* operand : operands) {
      if (!operand->at(lane)) result.varies |= operand->varies;
      for (std::size_t a = 0; a < axes_.size(); ++a) {
        const int first = with_coordinate(lane, static_cast<int>(a), 0);
        for (int other = first; other < lane; other += axes_[a].stride) {
          if (!result.at(other) && operand->at(other) != operand->at(lane)) result.varies |= AxisMask{1} << a;
        }
      }
    }
  }
  const bool any_known =
      std::any_of(result.lanes.begin(), result.lanes.end(), [](const auto& lane) { return lane.has_value(); });
  if (!any_known) result.lanes.clear();
  if (!any_unknown) result.varies = 0;
}

Known LaneSpace::apply(ir::Op op, ir::Dtype result, const std::vector<ir::Dtype>& types,
                       const std::vector<const Known*>& operands) const {
  if (op == ir::Op::bit_and && result == ir::Dtype::boolean) return both(*operands[0], *operands[1]);
  if (op == ir::Op::bit_or && result == ir::Dtype::boolean) return either(*operands[0], *operands[1]);
  if (op == ir::Op::select) return choose(*operands[0], *operands[1], *operands[2]);
  Known out;
  out.lanes.resize(static_cast<std::size_t>(count_));
  for (int lane = 0; lane < count_; ++lane) {
    std::vector<ir::Scalar> scalars;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const auto v = operands[i]->at(lane);
      if (v) scalars.push_back(ir::Scalar::of_int(types[i], *v));
    }
    if (scalars.size() != operands.size()) continue;
    ir::NumError error = ir::NumError::none;
    const auto value =
        op == ir::Op::cast ? std::optional(ir::convert(scalars[0], result)) : ir::evaluate(op, scalars, error);
    if (value) out.lanes[static_cast<std::size_t>(lane)] = value->as_int();
  }
  add_differences(out, operands);
  return out;
}

Known LaneSpace::both(const Known& a, const Known& b) const {
  Known out;
  out.lanes.resize(static_cast<std::size_t>(count_));
  for (int lane = 0; lane < count_; ++lane) {
    const auto x = a.at(lane), y = b.at(lane);
    auto& result = out.lanes[static_cast<std::size_t>(lane)];
    if (x == 0 || y == 0) {
      result = 0;
    } else if (x && y) {
      result = 1;
    }
  }
  add_differences(out, {&a, &b});
  return out;
}

Known LaneSpace::negate(const Known& a) const {
  Known out = a;
  for (auto& lane : out.lanes) {
    if (lane) lane = *lane == 0 ? 1 : 0;
  }
  return out;
}

Known LaneSpace::either(const Known& a, const Known& b) const { return negate(both(negate(a), negate(b))); }

Known LaneSpace::join(const Known& a, const Known& b) const {
  if (a == b) return a;
  Known out{{}, variance(a) | variance(b)};
  out.lanes.resize(static_cast<std::size_t>(count_));
  bool any = false;
  for (int lane = 0; lane < count_; ++lane) {
    if (!a.at(lane) || a.at(lane) != b.at(lane)) continue;
    out.lanes[static_cast<std::size_t>(lane)] = a.at(lane);
    any = true;
  }
  if (!any) out.lanes.clear();
  return out;
}

Known LaneSpace::choose(const Known& condition, const Known& a, const Known& b) const {
  Known out{{}, condition.varies};
  out.lanes.resize(static_cast<std::size_t>(count_));
  bool from_a = false, from_b = false;
  for (int lane = 0; lane < count_; ++lane) {
    const auto c = condition.at(lane);
    from_a = from_a || !c || *c != 0;
    from_b = from_b || !c || *c == 0;
    auto& result = out.lanes[static_cast<std::size_t>(lane)];
    if (c) {
      result = *c != 0 ? a.at(lane) : b.at(lane);
    } else if (a.at(lane) && a.at(lane) == b.at(lane)) {
      result = a.at(lane);
    }
  }
  if (from_a) out.varies |= variance(a);
  if (from_b) out.varies |= variance(b);
  if (from_a && from_b) out.varies |= variance(condition);
  if (std::none_of(out.lanes.begin(), out.lanes.end(), [](const auto& lane) { return lane.has_value(); }))
    out.lanes.clear();
  return out;
}

}  // namespace pk::sema::rules
