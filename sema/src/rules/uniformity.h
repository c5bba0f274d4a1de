#pragma once
// Which threads get to each instruction, and what is known of each scalar in every thread: the analysis behind the
// divergence rule (PK0307), and the protocol rules' knowledge of which branch a thread takes.
//
// The walk is an abstract interpretation over all lanes at once. Values that are the same for all threads but unknown
// do not restrict who arrives; conditions that depend on a coordinate, or on data addressed by one, do. Loops are
// walked until nothing changes.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "lanes.h"
#include "pk/ir/ir.h"

namespace pk::sema::rules {

/// Why only some lanes get to a place: one link of the chain of branches around it.
struct Guard {
  enum class Kind : std::uint8_t {
    then_branch,  ///< the condition of `inst`
    else_branch,
    arm,             ///< an arm of a `specialize`
    rounds,          ///< a loop that threads run differently often
    left,            ///< some threads jumped away at `inst` before
    compute_threads  ///< the body of a specialised pipeline
  };
  Kind kind = Kind::then_branch;
  const ir::Inst* inst = nullptr;
  const Guard* outer = nullptr;
  Known taken;  ///< the lanes that pass this guard; of `rounds`: the number of rounds
  AxisMask variance = 0;
};

/// The lanes that get to a place, and why not all.
struct Arrivals {
  Known reach;
  const Guard* guard = nullptr;
};

class Uniformity {
 public:
  explicit Uniformity(const ir::Kernel& kernel);

  /// Called for every scope, pipeline, copy and barrier with who gets there. If it returns true, the analysis goes on
  /// as if all threads got there, since a mistake is reported once.
  using Visit = std::function<bool(const ir::Inst&, const Arrivals&)>;
  void run(const Visit& visit);

  [[nodiscard]] const LaneSpace& lanes() const { return lanes_; }
  [[nodiscard]] const Known& value(ir::Value v) const { return values_[v.id]; }
  /// The instruction that gives `v`, or null (arguments of regions).
  [[nodiscard]] const ir::Inst* definition(ir::Value v) const { return definitions_[v.id]; }
  /// The number of rounds of a `for_` in each lane; a lane is unknown if it is.
  [[nodiscard]] Known trip_count(const ir::Inst& loop) const;

 private:
  struct LoopFacts {
    std::vector<Known> cells;  // at the head, over all rounds seen so far
    bool entered = false;
    AxisMask variance = 0;  // of leaving it by a jump or by the condition of a `while`
    const ir::Inst* jump = nullptr;
  };
  struct Target {
    const ir::Inst* inst;
    std::optional<Known> left;  // lanes that jumped here
    const ir::Inst* jump = nullptr;
    std::optional<std::vector<Known>> cells;  // at the jumps
    std::size_t jumps = 0;
  };

  void define(const ir::Region& r);
  Arrivals region(const ir::Region& r, Arrivals in);
  Arrivals inst(const ir::Inst& i, const Arrivals& in);
  Arrivals if_inst(const ir::Inst& i, const Arrivals& in);
  Arrivals specialize(const ir::Inst& i, const Arrivals& in);
  Arrivals loop(const ir::Inst& i, const Arrivals& in);
  Arrivals block(const ir::Inst& i, const Arrivals& in);
  Arrivals scope(const ir::Inst& i, const Arrivals& in);
  Arrivals pipeline(const ir::Inst& i, const Arrivals& in);
  Arrivals step(const ir::Inst& i, const Arrivals& in);
  Arrivals jump(const ir::Inst& i, const Arrivals& in);
  void compute(const ir::Inst& i);
  [[nodiscard]] Known loaded(const ir::Inst& i) const;
  [[nodiscard]] Known constant(const ir::Inst& i) const;
  [[nodiscard]] Known calculated(const ir::Inst& i) const;

  [[nodiscard]] Arrivals narrow(const Arrivals& in, const Known& condition, Guard::Kind kind, const ir::Inst& i);
  [[nodiscard]] Arrivals after(const Arrivals& in, const Known& reach);
  [[nodiscard]] Arrivals all_lanes() const { return {lanes_.constant(1), nullptr}; }
  [[nodiscard]] std::vector<Known> join_cells(const std::vector<Known>& a, const std::vector<Known>& b) const;
  void spread(const std::vector<std::uint32_t>& cells, AxisMask varies);
  const std::vector<std::uint32_t>& assigned_cells(const ir::Inst& i);
  [[nodiscard]] AxisMask operand_variance(const ir::Inst& i) const;

  const ir::Kernel& kernel_;
  LaneSpace lanes_;
  std::vector<const ir::Inst*> definitions_;                       // by value
  std::vector<Known> values_;                                      // by value
  std::vector<Known> cells_;                                       // by number of the cell
  std::unordered_map<std::uint32_t, std::uint32_t> cell_numbers_;  // by value
  std::unordered_map<const ir::Inst*, LoopFacts> loops_;
  std::unordered_map<const ir::Inst*, std::vector<std::uint32_t>> assigned_;
  std::vector<Target> targets_;
  std::vector<std::unique_ptr<Guard>> guards_;
  AxisMask pipeline_variance_ = 0;
  const ir::Inst* last_jump_ = nullptr;
  std::size_t jumps_ = 0;
  bool changed_ = false;
  const Visit* visit_ = nullptr;  // set in the last pass only
};

}  // namespace pk::sema::rules
