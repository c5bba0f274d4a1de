// The order of memory accesses within a pk thread. A program sees its loads and stores in order, but they are made by
// 128 lanes, and an element may be loaded by another lane than the one that stored it. So the lanes meet where an
// access touches memory that others may still be working on.

#include <algorithm>

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
  for_each_inst(region, [&](const ir::Inst& inst) { add_accesses(inst, all); });
  return all;
}

void Lowering::add_accesses(const ir::Inst& inst, Pending& all) const {
  const ir::OpClass cls = ir::info(inst.op).cls;
  if (cls == ir::OpClass::reduction || cls == ir::OpClass::scan || cls == ir::OpClass::shape ||
      ir::is_elementwise(inst.op) || cls == ir::OpClass::memory || inst.op == Op::barrier_test ||
      inst.op == Op::semaphore_read) {
    const bool tiles = std::any_of(inst.operands.begin(), inst.operands.end(),
                                   [&](ir::Value v) { return type(v).is_tile() || type(v).is_ref(); });
    // Elements may go through scratch memory on the way from or to a tile.
    if (tiles) all.read.insert(scratch_root), all.written.insert(scratch_root);
  }
  const auto id = [&](std::size_t operand) {
    const auto known = root_ids_.find(roots_of_(inst.operands[operand]));
    // What is allocated inside is entered with the lanes together.
    return known == root_ids_.end() ? -1 : known->second;
  };
  const auto add = [&](std::set<int>& to, std::size_t operand) {
    if (type(inst.operands[operand]).is_ref() && id(operand) >= 0) to.insert(id(operand));
  };
  switch (inst.op) {
    case Op::load:
    case Op::load_masked:
    case Op::prefetch:
      return add(all.read, 0);
    case Op::store:
    case Op::store_masked:
    case Op::async_store:
      return add(all.written, inst.op == Op::async_store ? 1 : 0);
    case Op::atomic:
      add(all.read, 0);
      return add(all.written, 0);
    case Op::wgmma:
      add(all.by_mma, 1);
      return add(all.by_mma, 2);
    case Op::copy_gmem_to_smem:
    case Op::copy_smem_to_gmem:
      // The lanes may have to make the copy; and waiting for a copy out counts as an access to both sides.
      if (inst.op == Op::copy_smem_to_gmem || by_lanes_.contains(&inst)) {
        add(all.read, 0);
        add(all.written, 1);
        if (inst.op == Op::copy_smem_to_gmem) add(all.written, 0);
      }
      return;
    case Op::commit_smem:
      all.fence = true;
      return;
    default:  // nothing else touches memory
      return;
  }
}

}  // namespace pk::codegen
