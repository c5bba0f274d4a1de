// Scopes and what they allocate.

#include <fmt/format.h>

#include <algorithm>

#include "lowering.h"

namespace pk::codegen {

using ir::Attr;
using ir::Op;
using ir::Space;

void Lowering::lower_scoped(const ir::Inst& inst) {
  const ir::Region& region = inst.regions[0];
  std::vector<const Root*> synchronisers;
  const std::size_t live = live_.size();
  bool shared = false, engines = false;
  for (const ir::Inst& alloc : region.insts) {
    if (alloc.op != Op::alloc) break;
    lower_alloc(alloc);
    const Root& root = *ref(alloc.results[0]).root;
    if (root.space == Space::acc || (root.space == Space::semaphore && root.buffer == nullptr)) continue;
    shared = true;
    engines = engines || root.buffer->by_engine;
    if (root.space != Space::smem) synchronisers.push_back(&root);
  }
  if (shared) {
    const bool again = !loops_.empty();
    // The users of what lay here before have to be done with it, also as the copy engine sees it.
    if (again || opened_scope_) {
      if (engines) assembly("fence.proxy.async.shared::cta;", "", {});
      meet_block();
    }
    opened_scope_ = true;
    if (!synchronisers.empty()) initialise(synchronisers, again);
  }
  for (const ir::Inst& i : region.insts) {
    if (i.op != Op::alloc) lower_guarded(i);
  }
  live_.resize(live);
}

void Lowering::initialise(const std::vector<const Root*>& roots, bool again) {
  llvm::AllocaInst* entered = nullptr;
  if (again) {
    entered = slot(b().getInt1Ty(), "entered");
    entry_.CreateStore(entry_.getFalse(), entered);
  }
  bool reached_by_peers = false;
  const auto for_each = [&](const Root& root, const auto& f) {
    for (std::int64_t i = 0; i < std::max<std::int64_t>(1, ir::element_count(root.static_extents)); ++i)
      f(b().CreateAdd(root.offset, i32(i * ir::barrier_bytes)));
  };
  when(b().CreateAnd(first_lane_, b().CreateICmpEQ(thread_, i32(0))), [&] {
    if (again) {
      when(b().CreateLoad(b().getInt1Ty(), entered), [&] {
        for (const Root* root : roots) {
          if (root->space == Space::semaphore) continue;
          for_each(*root, [&](llvm::Value* at) {
            assembly("mbarrier.inval.shared::cta.b64 [$0];", "r", {shared_address(at)});
          });
        }
      });
    }
    for (const Root* root : roots) {
      for_each(*root, [&](llvm::Value* at) {
        if (root->space == Space::semaphore) {
          b().CreateAlignedStore(b().getInt64(0), shared_pointer(at), llvm::Align(ir::barrier_bytes));
        } else {
          assembly("mbarrier.init.shared::cta.b64 [$0], $1;", "r,r", {shared_address(at), i32(root->arrivals)});
        }
      });
    }
    assembly("fence.mbarrier_init.release.cluster;", "", {});
  });
  if (again) b().CreateStore(b().getTrue(), entered);
  for (const Root* root : roots) {
    reached_by_peers = reached_by_peers || peers_use_.contains(root->value);
    if (root->phases != nullptr) b().CreateStore(i64(0), root->phases);
  }
  if (reached_by_peers) {
    meet_cluster();
  } else {
    meet_block();
  }
}

void Lowering::lower_alloc(const ir::Inst& inst) {
  const ir::Value value = inst.results[0];
  const ir::Type& made = type(value);
  Root& root = roots_.emplace_back();
  root.space = made.space;
  root.dtype = made.dtype;
  root.value = value;
  root.static_extents = made.shape;
  root.buffer = shared_plan_.find(value);
  root.id = static_cast<int>(kernel_.params.size()) + 1 + (root.buffer != nullptr ? root.buffer->storage : 0);
  if (made.space == Space::acc) root.id = -1;
  root_ids_[value] = root.id;
  Ref whole{&root, {}, {}, {}, nullptr};
  for (std::size_t a = 0; a < made.shape.size(); ++a) {
    root.extents.push_back(i64(made.shape[a]));
    root.extent_divisors.push_back(made.shape[a]);
    whole.axes.push_back({a, made.shape[a], root.extents.back()});
    whole.starts.push_back(i64(0));
    whole.start_divisors.push_back(0);
  }
  const std::int64_t count = ir::element_count(made.shape);
  switch (made.space) {
    case Space::smem:
      root.offset = i32(root.buffer->offset);
      root.alignment = ir::shared_alignment;
      root.layout = root.buffer->layout;
      break;
    case Space::barrier:
    case Space::cluster_barrier: {
      root.offset = i32(root.buffer->offset);
      if (count > 64) unsupported(inst, "more than 64 barriers in one allocation");
      root.phases = slot(b().getInt64Ty(), "phases");
      const bool cluster = made.space == Space::cluster_barrier;
      root.axes = inst.attrs.integers(Attr::axes);
      root.arrivals = static_cast<int>(inst.attrs.integer(Attr::arrivals, cluster ? kernel_.thread_count() : 1));
      for (const std::int64_t axis : root.axes)
        root.arrivals *= static_cast<int>(kernel_.axes[static_cast<std::size_t>(axis)].size);
      break;
    }
    case Space::semaphore:
      if (root.buffer != nullptr) {
        root.offset = i32(root.buffer->offset);
      } else {
        root.pointer = b().CreateGEP(b().getInt8Ty(), semaphores_, i64(semaphore_bytes_));
        semaphore_bytes_ += std::max<std::int64_t>(count, 1) * 8;
      }
      break;
    case Space::acc: {
      if (made.shape.size() != 2 || made.shape[0] % 64 != 0)
        unsupported(inst, "an accumulator whose rows are no multiple of 64");
      Accumulator& accumulator = accumulators_.emplace_back();
      accumulator.type = made;
      accumulator.layout = codegen::accumulator(made.shape);
      const bool pairs = made.dtype == ir::Dtype::f16;
      llvm::Type* element = pairs ? b().getInt32Ty() : llvm_type(made.dtype);
      for (int reg = 0; reg < accumulator.layout.register_count() / (pairs ? 2 : 1); ++reg)
        accumulator.slots.push_back(slot(element, "acc"));
      for (int reg = 0; reg < accumulator.layout.register_count(); ++reg)
        accumulator.by_place[accumulator.layout.register_part(reg)] =
            accumulator.slots[static_cast<std::size_t>(pairs ? reg / 2 : reg)];
      zero(accumulator);
      live_.push_back(&accumulator);
      root.accumulator = &accumulator;
      break;
    }
    case Space::gmem:
    case Space::tmem:
      unsupported(inst, "this memory space");
  }
  set(value, std::move(whole));
}

}  // namespace pk::codegen
