#pragma once
// Which part of which allocation a ref names, as far as it is known for one thread. Two places overlap for certain, or
// it is not known: rules that report errors build on the former only.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "pk/ir/ir.h"
#include "uniformity.h"

namespace pk::sema::rules {

struct Interval {
  std::optional<std::int64_t> start;  ///< when it is a constant for this thread
  std::uint32_t number = 0;           ///< equal numbers: equal starts, constant or not
  std::int64_t size = 0;              ///< negative: not known
  bool whole = false;                 ///< the whole axis
};

struct Place {
  ir::Value root;             ///< an allocation, a parameter, or a block of a pipeline
  bool foreign = false;       ///< in another block of the cluster
  bool known = true;          ///< `box` describes it; else it is some part of the root
  std::vector<Interval> box;  ///< by axis of the root

  [[nodiscard]] bool is_whole() const;
};

/// Whether some element certainly belongs to both.
[[nodiscard]] bool certainly_overlap(const Place& a, const Place& b);

class Places {
 public:
  Places(const ir::Kernel& kernel, const Uniformity& uniformity) : kernel_(kernel), uniformity_(uniformity) {}

  /// The place of `ref` in the thread with this number.
  [[nodiscard]] Place resolve(ir::Value ref, std::int64_t thread);
  [[nodiscard]] ir::Value root(ir::Value ref) const;
  /// The value in this thread, if it is the same in all blocks and known.
  [[nodiscard]] std::optional<std::int64_t> constant(ir::Value v, std::int64_t thread) const;

 private:
  struct View {
    Place place;
    std::vector<int> axes;  // axis of the root for each axis of the view
  };
  [[nodiscard]] View view(ir::Value ref, std::int64_t thread);
  [[nodiscard]] View subview(const ir::Inst& inst, std::int64_t thread);
  /// Equal numbers mean equal values (within one round of every loop around).
  [[nodiscard]] std::uint32_t number(ir::Value v);
  [[nodiscard]] std::uint32_t fresh_number(ir::Value v);
  [[nodiscard]] std::uint32_t number(std::vector<std::int64_t> key);

  const ir::Kernel& kernel_;
  const Uniformity& uniformity_;
  std::map<std::vector<std::int64_t>, std::uint32_t> numbers_;
  std::map<ir::Value, std::uint32_t> value_numbers_;
};

}  // namespace pk::sema::rules
