// The order of memory accesses within a pk thread. A program sees its loads and stores in order, but they are made by
// 128 lanes, and an element may be loaded by another lane than the one that stored it. So the lanes meet where an
// access touches memory that others may still be working on.

#include "lowering.h"

namespace pk::codegen {

using ir::Op;

void Pending::merge(const Pending& other) {
  read.insert(other.read.begin(), other.read.end());
  written.insert(other.written.begin(), other.written.end());
  by_mma.insert(other.by_mma.begin(), other.by_mma.end());
  fence = fence || other.fence;
}

void Lowering::before_read(int root) {
  if (pending_.written.contains(root)) meet_lanes();
  pending_.read.insert(root);
}

void Lowering::before_write(int root) {
  if (pending_.written.contains(root) || pending_.read.contains(root) || pending_.by_mma.contains(root)) meet_lanes();
  pending_.written.insert(root);
}

void Lowering::before_async(int root, bool writes) {
  const bool readers = pending_.read.contains(root) || pending_.by_mma.contains(root);
  if (pending_.written.contains(root) || pending_.fence || (writes && readers)) meet_lanes();
}

// Reads by MMAs do not count: those are done by all lanes together.
void Lowering::before_signal() {
  if (pending_.any()) meet_lanes();
}

Pending Lowering::accesses_of(const ir::Region& region) const {
  Pending all;
  for_each_inst(region, [&](const ir::Inst& inst) {
    const ir::OpClass cls = ir::info(inst.op).cls;
    const bool uses_scratch = cls == ir::OpClass::reduction || cls == ir::OpClass::scan || cls == ir::OpClass::shape ||
                              ir::is_elementwise(inst.op) || inst.op == Op::store || inst.op == Op::wgmma;
    if (uses_scratch) {
      all.read.insert(scratch_root);
      all.written.insert(scratch_root);
    }
    if (cls == ir::OpClass::view) return;
    for (const ir::Value v : inst.operands) {
      if (!type(v).is_ref()) continue;
      const auto id = root_ids_.find(roots_of_(v));
      // What is allocated inside is entered with the lanes together.
      if (id == root_ids_.end()) continue;
      all.read.insert(id->second);
      all.written.insert(id->second);
      all.by_mma.insert(id->second);
    }
    if (inst.op == Op::commit_smem) all.fence = true;
  });
  return all;
}

}  // namespace pk::codegen
