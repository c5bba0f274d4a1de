#pragma once
// What is known of a scalar in every thread of a cluster at once. A lane stands for one combination of wg and cluster
// coordinates; grid coordinates are the same for all. A value is known for some lanes, and for the others it is known
// along which axes they may differ: enough to tell which threads take a branch. Used by the analyses of this folder.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pk/ir/ir.h"

namespace pk::sema::rules {

/// Bit i stands for LaneSpace::axes()[i].
using AxisMask = std::uint32_t;
/// The bit of values that depend on a generic without a value: rules leave them to the instances of the kernel.
inline constexpr AxisMask unresolved_bit = AxisMask{1} << 31;

struct Known {
  std::vector<std::optional<std::int64_t>> lanes;  ///< empty: no lane is known
  AxisMask varies = 0;                             ///< axes along which the lanes that are not known may differ
  friend bool operator==(const Known&, const Known&) = default;

  [[nodiscard]] std::optional<std::int64_t> at(int lane) const {
    return lanes.empty() ? std::nullopt : lanes[static_cast<std::size_t>(lane)];
  }
};

/// The rounds of `for i in low .. high step s`; nothing when the step is not positive.
[[nodiscard]] std::optional<std::int64_t> loop_rounds(std::int64_t low, std::int64_t high, std::int64_t step);

class LaneSpace {
 public:
  struct Axis {
    int mesh_axis = 0;  ///< number in Kernel::axes
    std::string name;
    bool threads = false;  ///< the wg axis, else a cluster axis
    std::int64_t size = 1;
    bool symbolic = false;  ///< its size is not known yet: one lane stands for all
    int stride = 1;
  };

  explicit LaneSpace(const ir::Kernel& kernel);

  [[nodiscard]] const std::vector<Axis>& axes() const { return axes_; }
  [[nodiscard]] int count() const { return count_; }
  /// Number of the lane axis for a mesh axis, or -1 (grid axes).
  [[nodiscard]] int find(int mesh_axis) const;
  /// Number of the lane axis of threads, or -1.
  [[nodiscard]] int thread_axis() const;
  [[nodiscard]] std::int64_t coordinate(int lane, int axis) const;
  [[nodiscard]] int with_coordinate(int lane, int axis, std::int64_t coordinate) const;

  [[nodiscard]] Known constant(std::int64_t value) const;
  [[nodiscard]] static Known unknown(AxisMask varies) { return {{}, varies}; }
  [[nodiscard]] Known coord(int axis) const;
  /// 1 in the lanes whose thread is in the list.
  [[nodiscard]] Known threads_in(const std::vector<std::int64_t>& threads) const;

  /// The axes along which lanes differ or may differ.
  [[nodiscard]] AxisMask variance(const Known& v) const;
  /// Known to be 0 in every lane.
  [[nodiscard]] bool is_zero(const Known& v) const;

  /// The result of an elementwise operation on integers and bools.
  [[nodiscard]] Known apply(ir::Op op, ir::Dtype result, const std::vector<ir::Dtype>& types,
                            const std::vector<const Known*>& operands) const;
  [[nodiscard]] Known both(const Known& a, const Known& b) const;
  [[nodiscard]] Known either(const Known& a, const Known& b) const;
  [[nodiscard]] Known negate(const Known& a) const;
  /// A value that is one of the two.
  [[nodiscard]] Known join(const Known& a, const Known& b) const;
  /// `a` where the condition is true, `b` where it is false.
  [[nodiscard]] Known choose(const Known& condition, const Known& a, const Known& b) const;

 private:
  void add_differences(Known& result, const std::vector<const Known*>& operands) const;

  std::vector<Axis> axes_;
  int count_ = 1;
};

}  // namespace pk::sema::rules
