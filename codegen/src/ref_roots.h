#pragma once
// Which memory each ref comes from: the parameter or allocation behind a chain of views.

#include <vector>

#include "pk/ir/ir.h"

namespace pk::codegen {

class RefRoots {
 public:
  explicit RefRoots(const ir::Kernel& kernel);
  /// The parameter or `alloc` result that `ref` is a view of (itself, if it is one).
  [[nodiscard]] ir::Value operator()(ir::Value ref) const { return roots_[ref.id]; }
  /// Whether the memory is seen in another shape somewhere.
  [[nodiscard]] bool is_reshaped(ir::Value root) const { return reshaped_[root.id]; }
  /// Which axis of the view runs along the last axis of the memory; -1 when none does.
  [[nodiscard]] int contiguous_axis(ir::Value ref) const { return contiguous_[ref.id]; }

 private:
  void collect(const ir::Region& region);

  std::vector<ir::Value> roots_;
  std::vector<bool> reshaped_;
  std::vector<int> contiguous_;
};

/// Calls `f(inst)` for every instruction of a region, nested ones included, in order.
template <class F>
void for_each_inst(const ir::Region& region, F&& f) {
  for (const ir::Inst& inst : region.insts) {
    f(inst);
    for (const ir::Region& inner : inst.regions) for_each_inst(inner, f);
  }
}

}  // namespace pk::codegen
