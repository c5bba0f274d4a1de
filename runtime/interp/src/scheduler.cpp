// Turns: which thread runs when, when asynchronous work completes, and how clusters come and go.

#include <algorithm>

#include "machine.h"

namespace pk::interp {

namespace {

constexpr std::uint64_t long_turn = 1 << 14;  // instructions, for schedules that switch when a thread has to wait
constexpr std::uint64_t rounds_before_next_cluster = 64;
constexpr std::uint64_t turns_before_lazy_work = 256;

}  // namespace

Arena::Arena(std::int64_t bytes)
    : data_(static_cast<std::byte*>(
          ::operator new[](static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)), std::align_val_t{64}))) {}

Machine::Machine(Launch& launch, std::uint64_t seed)
    : launch_(launch),
      program_(*launch.program),
      races_(launch.options->check_races),
      init_(launch.options->check_init),
      schedule_(launch.options->schedule),
      random_(seed) {}

std::uint64_t Machine::draw(std::uint64_t below) { return random_() % below; }

bool Machine::completes_at_once() const { return schedule_ == Schedule::eager || schedule_ == Schedule::fair; }

void Machine::prepare_thread(Thread& thread) const {
  thread.scalars = program_.constants;
  thread.refs.resize(program_.ref_count);
  thread.arena = Arena(program_.arena_bytes);
  const std::vector<ir::Value>& body = program_.kernel.body.args;
  const std::vector<ir::Value>& launch = program_.kernel.launch.args;
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (launch_.arguments[i] != nullptr) {
      thread.ref(program_.slot(body[i])) = whole(*launch_.arguments[i]);
    } else {
      thread.scalar(program_.slot(body[i])) = launch_.scalars[i];
      if (i < launch.size()) thread.scalar(program_.slot(launch[i])) = launch_.scalars[i];
    }
  }
}

std::unique_ptr<Cluster> Machine::make_cluster(std::int64_t number) {
  auto cluster = std::make_unique<Cluster>();
  for (int rank = 0; rank < launch_.cluster_size; ++rank) {
    auto block = std::make_unique<Block>();
    block->cluster = cluster.get();
    block->rank = rank;
    block->storage.resize(program_.allocs.size());
    for (int index = 0; index < launch_.threads_per_block; ++index) {
      auto thread = std::make_unique<Thread>();
      thread->block = block.get();
      thread->index = index;
      prepare_thread(*thread);
      thread->accs.resize(program_.allocs.size());
      for (std::uint32_t alloc = 0; alloc < program_.allocs.size(); ++alloc) {
        const AllocInfo& info = program_.allocs[alloc];
        if (info.type.space != ir::Space::acc) continue;
        auto acc = std::make_unique<Buffer>();
        acc->space = ir::Space::acc;
        acc->dtype = info.type.dtype;
        acc->set_shape(info.type.shape);
        acc->name = info.name;
        acc->span = info.inst->loc.span;
        acc->alloc = alloc;
        thread->acc_storage.emplace_back(info.bytes);
        acc->data = thread->acc_storage.back().data();
        thread->accs[alloc] = std::move(acc);
      }
      block->threads.push_back(std::move(thread));
    }
    cluster->blocks.push_back(std::move(block));
  }
  reset_cluster(*cluster, number);
  return cluster;
}

void Machine::reset_cluster(Cluster& cluster, std::int64_t number) {
  cluster.number = number;
  cluster.base = static_cast<Agent>(number) * launch_.agents_per_cluster;
  cluster.copies_in.clear();
  cluster.multicasts.clear();
  cluster.barriers.clear();
  cluster.running = launch_.cluster_size;
  for (const auto& block : cluster.blocks) {
    block->number = number * launch_.cluster_size + block->rank;
    block->coordinates = block_coordinates(block->number);
    block->current.assign(program_.allocs.size(), nullptr);
    block->scopes.assign(program_.scopes.size(), {});
    for (ScopeState& scope : block->scopes) scope.left = empty_clock(cluster);
    block->meetings.clear();
    block->running = launch_.threads_per_block;
    for (const auto& thread : block->threads) {
      thread->agent =
          cluster.base + static_cast<Agent>(block->rank * launch_.threads_per_block + thread->index) * lanes_per_thread;
      thread->pc = 0;
      thread->clock = empty_clock(cluster);
      tick(*thread);
      thread->ended = thread->released = false;
      thread->wait = {};
      thread->steps = 0;
      thread->entries.assign(program_.scopes.size(), 0);
      thread->open_group = 1;
      thread->groups_read = 0;
      thread->copies_out.clear();
      thread->mmas = thread->mmas_done = 0;
      thread->mma_queue.clear();
      thread->undefined.clear();
    }
  }
}

bool Machine::can_run(const Thread& thread) const {
  if (thread.ended) return false;
  switch (thread.wait.kind) {
    case Wait::Kind::none:
      return true;
    case Wait::Kind::barrier:
      return thread.wait.barrier->completed >= thread.wait.phase;
    case Wait::Kind::semaphore:
      return thread.wait.semaphore->count >= thread.wait.count;
    case Wait::Kind::rendezvous:
      return thread.released;
  }
  return false;
}

Step Machine::execute(Thread& thread, const Instr& at) {
  if (!thread.undefined.empty() && at.inst != nullptr) {
    // Before the instruction runs: the conditions that drop undefined elements are still there.
    if (const Undefined* used = follow_undefined(program_, thread, at)) {
      report_division(thread, at, *used);
      return Step::failed;
    }
  }
  return at.run(*this, thread, at);
}

bool Machine::run_thread(Thread& thread, std::uint64_t budget, bool switch_at_memory) {
  thread.wait.kind = Wait::Kind::none;
  const Instr* const code = program_.code.data();
  const std::uint64_t limit = launch_.options->step_limit;
  bool moved = false;
  while (budget > 0) {
    const Instr& at = code[thread.pc];
    switch (execute(thread, at)) {
      case Step::next:
        ++thread.pc;
        break;
      case Step::jumped:
        break;
      case Step::blocked:
        return moved;
      case Step::ended:
      case Step::failed:
        return true;
    }
    moved = true;
    if (!switch_at_memory || at.visible) --budget;
    if (limit > 0 && ++thread.steps > limit) {
      fail<diag::run_limit>(
          *at.inst, name_thread(thread.agent) + " has run more instructions than the limit allows: it may never end")
          .help("raise the limit, or look for a loop whose condition nothing changes");
      return true;
    }
  }
  return moved;
}

bool Machine::turn(std::vector<Cluster*>& clusters) {
  if (schedule_ == Schedule::random) {
    std::vector<Thread*> ready;
    for (const Cluster* cluster : clusters) {
      for (const auto& block : cluster->blocks) {
        for (const auto& thread : block->threads) {
          if (can_run(*thread)) ready.push_back(thread.get());
        }
      }
    }
    if (draw(2) == 0 && advance_async(clusters, false)) return true;
    if (ready.empty()) return false;
    run_thread(*ready[draw(ready.size())], 1 + draw(6), true);
    return true;
  }
  bool moved = false;
  for (std::size_t c = 0; c < clusters.size(); ++c) {
    for (const auto& block : clusters[c]->blocks) {
      for (const auto& thread : block->threads) {
        if (launch_.failed) return true;
        if (can_run(*thread)) moved = run_thread(*thread, long_turn, false) || moved;
      }
    }
  }
  // Lazily completed work has to come in the end even if a thread asks for it in a loop instead of waiting.
  const bool lazy_is_due = schedule_ == Schedule::lazy && ++turns_ % turns_before_lazy_work == 0;
  const bool soon = schedule_ == Schedule::fair || lazy_is_due;
  while (soon && !launch_.failed && advance_async(clusters, false)) moved = true;
  return moved;
}

/// Completes one piece of asynchronous work, if there is any: the oldest copy in, or under the random schedule any
/// piece.
bool Machine::advance_async(const std::vector<Cluster*>& clusters, bool must) {
  if (schedule_ != Schedule::random) {
    for (Cluster* cluster : clusters) {
      if (cluster->copies_in.empty()) continue;
      finish_copy_in(*cluster, 0);
      return true;
    }
    return false;
  }
  // Copies out and MMAs complete at the latest when they are waited for, so only copies in can hold threads up.
  for (Cluster* cluster : clusters) {
    for (const auto& block : cluster->blocks) {
      for (const auto& thread : block->threads) {
        if (!thread->copies_out.empty() && draw(2) == 0) {
          finish_copy_out(thread->copies_out[draw(thread->copies_out.size())], draw(2) == 0);
        }
        if (!thread->mma_queue.empty() && draw(2) == 0)
          finish_mmas(*thread, thread->mmas_done + static_cast<Time>(draw(2)));
      }
    }
  }
  std::vector<Cluster*> busy;
  for (Cluster* cluster : clusters) {
    if (!cluster->copies_in.empty()) busy.push_back(cluster);
  }
  if (busy.empty() || (!must && draw(2) == 0)) return false;
  Cluster& cluster = *busy[draw(busy.size())];
  finish_copy_in(cluster, draw(cluster.copies_in.size()));
  return true;
}

void Machine::finish_cluster(Cluster& cluster) {
  for (const Multicast& multicast : cluster.multicasts) {
    for (std::size_t i = 0; i < multicast.group.size(); ++i) {
      if (!multicast.issued[i].empty()) continue;
      fail<diag::run_divergence>(*program_.code[multicast.pc].inst,
                                 "not all blocks of the cluster issued this collective copy: " +
                                     name_block(multicast.group[i]->number) + " did not")
          .help("let every block along the copy's axes issue it equally often");
      return;
    }
  }
  const std::scoped_lock lock(launch_.mutex);
  launch_.done_blocks += launch_.cluster_size;
  if (launch_.options->progress)
    launch_.options->progress(launch_.done_blocks, launch_.clusters * launch_.cluster_size);
}

bool Machine::run_cluster(Cluster& cluster) {
  live_.assign(1, &cluster);
  while (cluster.running > 0) {
    const bool moved = turn(live_) || (!launch_.failed && advance_async(live_, true));
    if (!moved && !launch_.failed) report_deadlock();
    if (launch_.failed) return false;
  }
  finish_cluster(cluster);
  return !launch_.failed;
}

void Machine::run_together(std::int64_t first, std::int64_t end) {
  std::vector<std::unique_ptr<Cluster>> clusters;
  std::int64_t next = first;
  std::uint64_t rounds = 0;
  live_.clear();
  const auto start_next = [&] {
    clusters.push_back(make_cluster(next++));
    live_.push_back(clusters.back().get());
    rounds = 0;
  };
  while (next < end || !live_.empty()) {
    if (live_.empty()) start_next();
    bool moved = turn(live_) || (!launch_.failed && advance_async(live_, true));
    if (launch_.failed) return;
    const std::size_t before = live_.size();
    std::erase_if(clusters, [&](const std::unique_ptr<Cluster>& cluster) {
      if (cluster->running > 0) return false;
      finish_cluster(*cluster);
      std::erase(live_, cluster.get());
      return true;
    });
    if (live_.size() != before) moved = true;
    // Blocks start in order of their numbers, when those before wait, or have run for long: they may spin.
    const bool spins = ++rounds > rounds_before_next_cluster;
    if (next < end && (!moved || spins || schedule_ == Schedule::random)) {
      start_next();
      continue;
    }
    if (!moved && !live_.empty()) {
      report_deadlock();
      return;
    }
  }
}

void Machine::run(std::int64_t first, std::int64_t end) {
  if (program_.orders_blocks) return run_together(first, end);
  if (first >= end) return;
  if (spare_ == nullptr) {
    spare_ = make_cluster(first);
  } else {
    reset_cluster(*spare_, first);
  }
  for (std::int64_t number = first; number < end && !launch_.failed; ++number) {
    if (number > first) reset_cluster(*spare_, number);
    if (!run_cluster(*spare_)) return;
  }
}

bool Machine::run_launch_code(Thread& thread) {
  for (thread.pc = 0;;) {
    const Instr& at = program_.launch_code[thread.pc];
    switch (execute(thread, at)) {
      case Step::next:
        ++thread.pc;
        break;
      case Step::jumped:
        break;
      case Step::ended:
        return true;
      case Step::blocked:
      case Step::failed:
        return false;
    }
  }
}

}  // namespace pk::interp
