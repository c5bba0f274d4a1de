#include "ref_roots.h"

namespace pk::codegen {

RefRoots::RefRoots(const ir::Kernel& kernel) : roots_(kernel.values.size()), reshaped_(kernel.values.size(), false) {
  for (std::uint32_t i = 0; i < roots_.size(); ++i) {
    roots_[i] = {i};
    contiguous_.push_back(static_cast<int>(kernel.values[i].type.shape.size()) - 1);
  }
  collect(kernel.body);
}

void RefRoots::collect(const ir::Region& region) {
  for_each_inst(region, [&](const ir::Inst& inst) {
    if (ir::info(inst.op).cls != ir::OpClass::view) return;
    roots_[inst.results[0].id] = roots_[inst.operands[0].id];
    const int before = contiguous_[inst.operands[0].id];
    int& mine = contiguous_[inst.results[0].id];
    if (inst.op == ir::Op::subview) {
      mine = before;
      for (const std::int64_t axis : inst.attrs.integers(ir::Attr::squeeze)) {
        if (axis == before) mine = -1;
        if (axis < before && mine >= 0) --mine;
      }
    } else if (inst.op == ir::Op::ref_transpose) {
      mine = before < 0 ? before : 1 - before;
    } else if (inst.op == ir::Op::peer) {
      mine = before;
    }
    if (inst.op == ir::Op::ref_reshape) reshaped_[roots_[inst.operands[0].id].id] = true;
  });
}

}  // namespace pk::codegen
