// Barriers, cluster barriers, semaphores, and meetings of threads.

#include <fmt/format.h>

#include <algorithm>

#include "lowering.h"

namespace pk::codegen {

using ir::Attr;
using ir::Op;
using ir::Space;

/// Number of a barrier or semaphore within its allocation.
llvm::Value* Lowering::element_number(const Ref& ref) {
  llvm::Value* number = i64(0);
  for (std::size_t i = 0; i < ref.starts.size(); ++i)
    number = b().CreateAdd(b().CreateMul(number, ref.root->extents[i]), ref.starts[i]);
  return number;
}

/// The i32 address of a barrier of this block.
llvm::Value* Lowering::barrier_address(const Ref& ref) {
  llvm::Value* offset = b().CreateMul(narrow(element_number(ref)), i32(ir::barrier_bytes));
  return shared_address(b().CreateAdd(ref.root->offset, offset));
}

void Lowering::spin_until(const std::function<llvm::Value*()>& condition) {
  llvm::BasicBlock* spin = new_block("spin");
  llvm::BasicBlock* done = new_block("done");
  go_to(spin);
  b().CreateCondBr(condition(), done, spin);
  b().SetInsertPoint(done);
}

void Lowering::arrive(llvm::Value* address, llvm::Value* rank, llvm::Value* condition) {
  if (rank == nullptr) {
    assembly("@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b", {address, condition});
    return;
  }
  assembly(
      "{\n.reg .b32 remote;\n@$2 mapa.shared::cluster.u32 remote, $0, $1;\n"
      "@$2 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n}",
      "r,r,b", {address, rank, condition});
}

/// Ranks of the blocks that differ from this one along `axes` only, this one included.
std::vector<llvm::Value*> Lowering::ranks_along(const std::vector<std::int64_t>& axes) {
  llvm::Value* first = rank_in_cluster();
  std::vector<std::int64_t> distances{0};
  for (const std::int64_t a : axes) {
    const auto axis = static_cast<std::size_t>(a);
    first = b().CreateSub(first, b().CreateMul(narrow(coordinate(axis)), i32(cluster_stride(axis))));
    std::vector<std::int64_t> more;
    for (const std::int64_t d : distances) {
      for (std::int64_t i = 0; i < kernel_.axes[axis].size; ++i) more.push_back(d + i * cluster_stride(axis));
    }
    distances = std::move(more);
  }
  std::vector<llvm::Value*> ranks;
  for (const std::int64_t d : distances) ranks.push_back(b().CreateAdd(first, i32(d)));
  return ranks;
}

void Lowering::lower_barrier(const ir::Inst& inst) {
  const Ref& barrier = ref(inst.operands[0]);
  const Root& root = *barrier.root;
  llvm::Value* address = barrier_address(barrier);
  if (inst.op == Op::barrier_arrive) {
    before_signal();
    if (root.space != Space::cluster_barrier) return arrive(address, barrier.peer, first_lane_);
    remote_arrivals_ = true;
    // One lane for each block of the group.
    const std::vector<llvm::Value*> ranks = ranks_along(root.axes);
    for (std::size_t i = 0; i < ranks.size(); ++i)
      arrive(address, ranks[i], b().CreateICmpEQ(lane_, i32(static_cast<std::int64_t>(i))));
    return;
  }
  if (barrier.peer != nullptr) unsupported(inst, "waiting for another block's barrier");
  llvm::Value* bit = element_number(barrier);
  llvm::Value* phases = b().CreateLoad(b().getInt64Ty(), root.phases);
  llvm::Value* parity = narrow(b().CreateAnd(b().CreateLShr(phases, bit), 1));
  const std::string scope = kernel_.cluster_size() > 1 ? ".acquire.cluster" : "";
  const auto test = [&](const char* how) {
    return assembly(fmt::format("mbarrier.{}.parity{}.shared::cta.b64 $0, [$1], $2;", how, scope), "=b,r,r",
                    {address, parity}, b().getInt1Ty());
  };
  if (inst.op == Op::barrier_test) return set(inst.results[0], agree(test("test_wait")));
  spin_until([&] { return test("try_wait"); });
  b().CreateStore(b().CreateXor(phases, b().CreateShl(i64(1), bit)), root.phases);
}

/// What all lanes of the thread take for true: whether lane 0 saw it.
llvm::Value* Lowering::agree(llvm::Value* condition) {
  Tile seen{ir::Dtype::boolean, replicated({}), {condition}};
  return through_memory({{&seen, {}, 0}}, seen.layout, {}, 0).registers[0];
}

void Lowering::lower_semaphore(const ir::Inst& inst) {
  const Ref& semaphore = ref(inst.operands[0]);
  const Root& root = *semaphore.root;
  const bool global = root.buffer == nullptr;
  if (semaphore.peer != nullptr) unsupported(inst, "another block's semaphore");
  llvm::Value* offset = b().CreateMul(element_number(semaphore), i64(8));
  llvm::Value* address = global ? b().CreateGEP(b().getInt8Ty(), root.pointer, offset)
                                : shared_address(b().CreateAdd(root.offset, narrow(offset)));
  const std::string space = global ? "global" : "shared::cta";
  const std::string scope = global ? "gpu" : "cta";
  const std::string where = global ? "l" : "r";
  llvm::Type* count_type = b().getInt64Ty();
  const auto read = [&] {
    return assembly(fmt::format("ld.acquire.{}.{}.b64 $0, [$1];", scope, space), "=l," + where, {address}, count_type);
  };
  const auto add = [&](llvm::Value* n, const char* order) {
    assembly(fmt::format("red.{}.{}.{}.add.u64 [$0], $1;", order, scope, space), where + ",l", {address, n});
  };
  switch (inst.op) {
    case Op::semaphore_signal:
      before_signal();
      when(first_lane_, [&] { add(scalar(inst.operands[1]), "release"); });
      return;
    case Op::semaphore_read: {
      Tile count{ir::Dtype::index, replicated({}), {read()}};
      return set(inst.results[0], through_memory({{&count, {}, 0}}, count.layout, {}, 0).registers[0]);
    }
    default: {  // semaphore_wait, the last of the family
      const bool decrement = !inst.attrs.has(Attr::decrement) || inst.attrs.flag(Attr::decrement);
      llvm::Value* wanted = scalar(inst.operands[1]);
      before_signal();
      // One lane takes the count, by compare-and-swap since others may take from it, too; the rest wait for that lane.
      when(first_lane_, [&] {
        spin_until([&]() -> llvm::Value* {
          llvm::Value* seen = read();
          llvm::Value* enough = b().CreateICmpSGE(seen, wanted);
          if (!decrement) return enough;
          llvm::Value* left = b().CreateSelect(enough, b().CreateSub(seen, wanted), seen);
          llvm::Value* was = assembly(fmt::format("atom.acq_rel.{}.{}.cas.b64 $0, [$1], $2, $3;", scope, space),
                                      "=l," + where + ",l,l", {address, seen, left}, count_type);
          return b().CreateAnd(enough, b().CreateICmpEQ(was, seen));
        });
      });
      meet_lanes();
      return;
    }
  }
}

void Lowering::lower_sync(const ir::Inst& inst) {
  const std::vector<std::int64_t>& threads = inst.attrs.integers(Attr::threads);
  if (threads.empty() || static_cast<std::int64_t>(threads.size()) == kernel_.thread_count()) return meet_block();
  const auto [known, added] = subset_barriers_.try_emplace(threads, next_barrier_);
  if (added) ++next_barrier_;
  if (known->second >= options_.target.named_barriers)
    unsupported(inst, "more sets of threads than there are hardware barriers");
  pending_ = {};
  assembly(fmt::format("bar.sync {}, {};", known->second, threads.size() * lane_count), "", {});
}

void Lowering::meet(const Meeting& meeting) {
  await_mma(0);
  first_warp([&] { assembly("cp.async.bulk.wait_group.read 0;", "", {}); });
  assembly("fence.proxy.async.shared::cta;", "", {});
  const int lanes = meeting.threads * lane_count;
  assembly(fmt::format("bar.{} {}, {};", meeting.waits ? "sync" : "arrive", meeting.barrier, lanes), "", {});
  if (meeting.waits) pending_ = {};
}

}  // namespace pk::codegen
