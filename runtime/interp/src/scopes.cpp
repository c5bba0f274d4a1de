// Scopes and the allocator. Its invariant: a buffer for all threads of a block is made once, by thread 0, and found by
// the others under the same key (allocation and number of the scope's entry); any other request is an error.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "control.h"
#include "machine.h"

namespace pk::interp {

namespace {

constexpr int garbage = 0xCB;  // NaN or a large number in every element type

std::uint32_t all_threads(const Block& block) { return (1U << block.threads.size()) - 1U; }

/// Whether the block keeps a state for the scope (and not each thread for itself).
bool is_shared(const ScopeInfo& scope, const Block& block) { return scope.collective || block.threads.size() == 1; }

}  // namespace

Step Machine::enter_scope(Thread& thread, const Instr& at) {
  const ScopeInfo& scope = program_.scopes[at.detail];
  if (scope.collective) return meet(thread, at, all_threads(*thread.block), true);
  tick(thread);
  const bool fine = allocate(thread, at);
  tick(thread);
  return fine ? Step::next : Step::failed;
}

bool Machine::allocate(Thread& thread, const Instr& at) {
  const ScopeInfo& scope = program_.scopes[at.detail];
  ++thread.entries[at.detail];
  for (std::uint32_t alloc = scope.first_alloc; alloc < scope.end_alloc; ++alloc) {
    Buffer* buffer = request(thread, at, alloc);
    if (buffer == nullptr) return false;
    thread.refs[program_.allocs[alloc].ref] = whole(*buffer);
  }
  if (is_shared(scope, *thread.block)) {
    ScopeState& state = thread.block->scopes[at.detail];
    if (state.inside++ == 0) state.left.clear();
  }
  return true;
}

Buffer* Machine::request(Thread& thread, const Instr& at, std::uint32_t alloc) {
  const AllocInfo& info = program_.allocs[alloc];
  if (info.type.space == ir::Space::acc) {
    Buffer& acc = *thread.accs[alloc];
    std::memset(acc.data, 0, static_cast<std::size_t>(info.bytes));
    return &acc;
  }
  if (info.global) return &launch_.grid_semaphores[alloc]->buffer;
  Block& block = *thread.block;
  if (thread.index == 0) {
    block.current[alloc] = info.type.space == ir::Space::cluster_barrier ? &find_cluster_barrier(thread, alloc)
                                                                         : &make_storage(thread, alloc);
    return &block.current[alloc]->buffer;
  }
  Storage* storage = block.current[alloc];
  const std::uint64_t entry = thread.entries[info.scope];
  if (storage != nullptr && storage->buffer.alive && storage->buffer.entry == entry) return &storage->buffer;
  auto d = fail<diag::run_allocation>(
      *info.inst, fmt::format("{} asks for `{}`, which is for all threads of the block, but thread 0 has not made it",
                              name_thread(thread.agent), info.name));
  d.label(at.inst->loc.span, "the scope of this request");
  const Thread& first = *block.threads[0];
  d.label(span_of(std::min<std::uint32_t>(first.pc, static_cast<std::uint32_t>(program_.code.size() - 1))),
          first.entries[info.scope] == 0 ? "thread 0 has not asked for it, and is here"
                                         : fmt::format("thread 0 asked for it {} times, this thread {}, and is here",
                                                       first.entries[info.scope], entry));
  d.help("allocate it in a scope that is `collective` over the block's threads, and that all of them enter");
  return nullptr;
}

void Machine::reset_barriers(Storage& storage, const Cluster& cluster, std::int64_t needed, Agent first_agent) const {
  for (std::size_t i = 0; i < storage.barriers.size(); ++i) {
    Barrier& barrier = storage.barriers[i];
    const Time base = barrier.agent == first_agent + i ? barrier.base + static_cast<Time>(barrier.next_phase()) + 1 : 0;
    barrier = Barrier{};
    barrier.needed = needed;
    barrier.gathering = empty_clock(cluster);
    barrier.done = empty_clock(cluster);
    if (first_agent == 0) continue;
    barrier.agent = first_agent + static_cast<Agent>(i);
    barrier.base = base;
  }
}

Storage& Machine::make_storage(Thread& thread, std::uint32_t alloc) {
  Block& block = *thread.block;
  const AllocInfo& info = program_.allocs[alloc];
  std::unique_ptr<Storage>& slot = block.storage[alloc];
  if (slot == nullptr) {
    slot = std::make_unique<Storage>();
    Buffer& buffer = slot->buffer;
    buffer.space = info.type.space;
    buffer.dtype = info.type.dtype;
    buffer.set_shape(info.type.shape);
    buffer.name = info.name;
    buffer.span = info.inst->loc.span;
    buffer.block = &block;
    buffer.alloc = alloc;
    buffer.view = info.view;
    if (info.storage != alloc) {
      buffer.data = block.storage[info.storage]->bytes.data();
      buffer.shadow = block.storage[info.storage]->shadow.get();
    } else if (info.type.space == ir::Space::smem) {
      slot->bytes = Arena(info.bytes);
      buffer.data = slot->bytes.data();
      if (races_ || init_) slot->shadow = std::make_unique<Shadow>(info.bytes, false, 0);
      buffer.shadow = slot->shadow.get();
    } else if (info.type.space == ir::Space::semaphore) {
      slot->semaphores.resize(static_cast<std::size_t>(info.elements));
      buffer.semaphores = slot->semaphores.data();
    } else {
      slot->barriers.resize(static_cast<std::size_t>(info.elements));
      buffer.barriers = slot->barriers.data();
    }
  }
  Storage& storage = *slot;
  storage.buffer.alive = true;
  storage.buffer.entry = thread.entries[info.scope];
  storage.buffer.entry_agent = thread.agent;
  storage.buffer.entry_time = races_ ? thread.time() : 0;
  if (storage.shadow != nullptr) storage.shadow->reset();
  if (info.storage == alloc && info.type.space == ir::Space::smem && (init_ || storage.users++ == 0)) {
    std::memset(storage.buffer.data, garbage, static_cast<std::size_t>(info.bytes));
  }
  for (Semaphore& s : storage.semaphores) s = {0, empty_clock(*block.cluster), 0, false};
  const Agent barriers = block.cluster->base +
                         static_cast<Agent>(launch_.cluster_size * launch_.threads_per_block) * lanes_per_thread +
                         static_cast<Agent>(block.rank) * program_.barriers_per_block;
  if (!storage.barriers.empty()) {
    reset_barriers(storage, *block.cluster, std::max<std::int64_t>(info.inst->attrs.integer(ir::Attr::arrivals, 1), 1),
                   barriers + info.first_barrier);
  }
  return storage;
}

Storage& Machine::find_cluster_barrier(Thread& thread, std::uint32_t alloc) {
  Block& block = *thread.block;
  Cluster& cluster = *block.cluster;
  const AllocInfo& info = program_.allocs[alloc];
  const std::vector<std::int64_t>& axes = info.inst->attrs.integers(ir::Attr::axes);
  // The group are the blocks that differ from this one along the barrier's axes only; its first member names it.
  int first = -1, members = 0;
  for (const auto& other : cluster.blocks) {
    bool same = true;
    for (std::size_t a = 0; a < block.coordinates.size(); ++a) {
      const bool along = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(a)) != axes.end();
      same = same && (along || other->coordinates[a] == block.coordinates[a]);
    }
    if (!same) continue;
    if (first < 0) first = other->rank;
    ++members;
  }
  std::unique_ptr<Storage>& slot = cluster.barriers[{alloc, first, thread.entries[info.scope]}];
  if (slot == nullptr) {
    slot = std::make_unique<Storage>();
    Buffer& buffer = slot->buffer;
    buffer.space = info.type.space;
    buffer.dtype = info.type.dtype;
    buffer.set_shape(info.type.shape);
    buffer.name = info.name;
    buffer.span = info.inst->loc.span;
    buffer.alloc = alloc;
    buffer.entry = thread.entries[info.scope];
    slot->barriers.resize(static_cast<std::size_t>(info.elements));
    buffer.barriers = slot->barriers.data();
    slot->users = members;
    const std::int64_t each = info.inst->attrs.integer(ir::Attr::arrivals, launch_.threads_per_block);
    reset_barriers(*slot, cluster, std::max<std::int64_t>(each * members, 1), 0);
  }
  return *slot;
}

Step Machine::leave_scope(Thread& thread, const Instr& at) {
  const ScopeInfo& scope = program_.scopes[at.detail];
  if (!end_mmas(thread, at.detail) || !end_copies(thread, at.detail)) return Step::failed;
  if (!is_shared(scope, *thread.block)) return Step::next;
  ScopeState& state = thread.block->scopes[at.detail];
  release(thread, state.left);
  if (--state.inside > 0) return Step::next;
  return end_scope(*thread.block, at) ? Step::next : Step::failed;
}

bool Machine::end_scope(Block& block, const Instr& at) {
  const ScopeInfo& scope = program_.scopes[at.detail];
  if (!end_copies_in(block, at.detail)) return false;
  const ScopeState& state = block.scopes[at.detail];
  for (std::uint32_t alloc = scope.first_alloc; alloc < scope.end_alloc; ++alloc) {
    Storage* storage = block.current[alloc];
    if (storage == nullptr || program_.allocs[alloc].global) continue;
    if (program_.allocs[alloc].type.space == ir::Space::cluster_barrier) {
      if (--storage->users > 0) continue;
    }
    if (!end_barriers(*storage)) return false;
    for (std::size_t i = 0; i < storage->semaphores.size(); ++i) {
      if (storage->semaphores[i].count == 0) continue;
      fail<diag::run_semaphore_left_over>(
          *program_.allocs[alloc].inst,
          fmt::format("`{}` still counts {} at the end of its scope",
                      describe_range(storage->buffer, static_cast<std::int64_t>(i), static_cast<std::int64_t>(i) + 1),
                      storage->semaphores[i].count))
          .label(span_of(storage->semaphores[i].signal_pc), "last signalled here")
          .help("wait for as much as was signalled");
    }
    if (storage->shadow != nullptr && races_ && block.cluster->blocks.size() > 1) {
      const Agent first = block.threads.front()->agent;
      const Agent last = block.threads.back()->agent + lanes_per_thread;
      if (const auto fault = storage->shadow->find_unknown(state.left, first, last)) {
        const int size = ir::byte_size(storage->buffer.dtype);
        fail<diag::run_race>(
            *at.inst, fmt::format("race on `{}`: {} leaves the scope while a peer may still use its shared memory",
                                  describe_range(storage->buffer, fault->begin / size, fault->end / size),
                                  name_block(block.number)))
            .label(span_of(fault->earlier.pc), fmt::format("the {}", name_access(fault->earlier)))
            .label(storage->buffer.span, fmt::format("`{}` is allocated here", storage->buffer.name))
            .help("let the blocks meet (`cluster_barrier`) after the last access to a peer's shared memory");
        return false;
      }
    }
    storage->buffer.alive = false;
    if (program_.allocs[alloc].type.space == ir::Space::cluster_barrier) {
      std::erase_if(block.cluster->barriers, [&](const auto& entry) { return entry.second.get() == storage; });
      block.current[alloc] = nullptr;
    }
  }
  return true;
}

bool Machine::end_copies_in(Block& block, std::uint32_t scope) {
  for (std::uint32_t alloc = 0; alloc < program_.allocs.size(); ++alloc) {
    const Storage* storage = block.current[alloc];
    if (storage == nullptr || !storage->buffer.alive) continue;
    for (const Barrier& barrier : storage->barriers) {
      for (const Barrier::Expected& copy : barrier.copies) {
        const bool ends = program_.allocs[alloc].scope == scope || program_.allocs[copy.target->alloc].scope == scope;
        if (!ends) continue;
        fail<diag::run_unawaited>(
            *program_.code[copy.pc].inst,
            fmt::format(
                "this copy into `{}` is never waited for: the scope ends before anybody waits for its barrier `{}`",
                copy.target->name, storage->buffer.name))
            .at(fmt::format("issued by {}", name_thread(copy.thread)))
            .label(copy.target->span, fmt::format("`{}` is allocated here", copy.target->name))
            .help("call `barrier_wait` on the copy's barrier before the scope ends");
        return false;
      }
    }
  }
  return true;
}

Step Machine::end_thread(Thread& thread) {
  thread.ended = true;
  drain_copies_out(thread, thread.open_group, false);
  finish_mmas(thread, thread.mmas);
  Block& block = *thread.block;
  for (const Rendezvous& meeting : block.meetings) {
    if (meeting.here.empty() || (meeting.members >> thread.index & 1U) == 0) continue;
    fail<diag::run_divergence>(*meeting.site->inst,
                               fmt::format("{} waits here for all threads, but {} has ended without coming here",
                                           name_thread(meeting.here.front()->agent), name_thread(thread.agent)))
        .help("let every thread reach it, in the same order");
    return Step::failed;
  }
  if (--block.running == 0) --block.cluster->running;
  return Step::ended;
}

Buffer* Machine::peer_buffer(Thread& thread, const Instr& at, const Ref& ref, Block& target) {
  if (&target == thread.block) return ref.buffer;
  Storage* storage = target.current[ref.buffer->alloc];
  if (storage != nullptr && storage->buffer.alive && storage->buffer.entry == ref.buffer->entry)
    return &storage->buffer;
  fail<diag::run_race>(*at.inst,
                       fmt::format("race on `{}` of {}: that block has not entered the scope yet, or has left it",
                                   ref.buffer->name, name_block(target.number)))
      .at(fmt::format("used by {}", name_thread(thread.agent)))
      .label(ref.buffer->span, "allocated by each block when it enters this scope")
      .help("let all blocks of the cluster meet (`cluster_barrier`) after entering the scope and before leaving it");
  return nullptr;
}

}  // namespace pk::interp
