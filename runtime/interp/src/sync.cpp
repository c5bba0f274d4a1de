// Synchronisation: barriers and their phases, semaphores, and meetings of a block's threads.

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "control.h"
#include "handlers.h"
#include "machine.h"

namespace pk::interp {

namespace {

/// The element of the buffer that a rank-0 ref names.
std::int64_t element_of(const Ref& ref) { return ref.origin(); }

/// "once", "twice", "3 times"
std::string times(std::int64_t n) {
  return n == 0 ? "never" : n == 1 ? "once" : n == 2 ? "twice" : fmt::format("{} times", n);
}

std::string name_of(const Buffer& buffer, std::int64_t element) { return describe_range(buffer, element, element + 1); }

Waiter* find_waiter(Barrier& barrier, Agent thread) {
  const auto found = std::ranges::find(barrier.waiters, thread, &Waiter::thread);
  return found == barrier.waiters.end() ? nullptr : &*found;
}

}  // namespace

Step Machine::arrive(Thread& thread, const Instr& at) {
  const Ref& ref = thread.ref(program_.slot(at.inst->operands[0]));
  if (!check_bounds(thread, at, ref) || !check_peer(thread, at, ref)) return Step::failed;
  const std::int64_t element = element_of(ref);
  Barrier& barrier = ref.buffer->barriers[element];
  ++barrier.promised;
  release(thread, barrier.gathering);
  return complete_arrival(barrier, *ref.buffer, element, pc_of(at), thread.agent) ? Step::next : Step::failed;
}

bool Machine::complete_arrival(Barrier& barrier, const Buffer& buffer, std::int64_t element, std::uint32_t pc,
                               Agent thread) {
  if (++barrier.arrived < barrier.needed) return true;
  // A completion must not come before everybody who waits has seen the last one, in this order of events and in any
  // other.
  const Waiter* late = nullptr;
  for (const Waiter& w : barrier.waiters) {
    const bool saw = w.seen == barrier.completed && (!races_ || barrier.gathering[w.thread] >= w.time);
    if (!saw) late = &w;
  }
  if (barrier.completed > 0 && (barrier.waiters.empty() || late != nullptr)) {
    auto d = fail<diag::run_barrier>(
        *program_.code[pc].inst,
        fmt::format("`{}` completes again before its last completion was seen by all who wait for it ({} before now)",
                    name_of(buffer, element), times(barrier.completed)));
    d.at(fmt::format("this arrival by {} completes it", name_thread(thread)));
    d.label(span_of(barrier.completing_pc),
            fmt::format("completed before by {}", name_thread(barrier.completing_thread)));
    if (late != nullptr) {
      d.label(span_of(late->pc),
              fmt::format("nothing makes this wait of {} come before the new completion", name_thread(late->thread)));
    }
    d.help(
        "let the arriving thread wait (on a second barrier) until the completion was seen, or use another barrier of "
        "an array");
    return false;
  }
  ++barrier.completed;
  barrier.arrived = 0;
  barrier.completing_pc = pc;
  barrier.completing_thread = thread;
  if (races_) {
    std::swap(barrier.done, barrier.gathering);
    if (barrier.agent != 0) barrier.done.raise(barrier.agent, barrier.base + static_cast<Time>(barrier.completed));
    barrier.gathering.clear();
  }
  return true;
}

Step Machine::wait(Thread& thread, const Instr& at) {
  const Ref& ref = thread.ref(program_.slot(at.inst->operands[0]));
  if (!check_bounds(thread, at, ref) || !check_peer(thread, at, ref)) return Step::failed;
  const std::int64_t element = element_of(ref);
  Barrier& barrier = ref.buffer->barriers[element];
  Waiter* waiter = find_waiter(barrier, thread.agent);
  const std::int64_t phase = waiter == nullptr ? 1 : waiter->seen + 1;
  if (barrier.completed > phase) {
    fail<diag::run_barrier>(
        *at.inst,
        fmt::format(
            "{} waits for completion {} of `{}`, which has completed {} already: this thread has skipped a wait",
            name_thread(thread.agent), phase, name_of(*ref.buffer, element), times(barrier.completed)))
        .label(span_of(barrier.completing_pc),
               fmt::format("last completed here, by {}", name_thread(barrier.completing_thread)))
        .note(
            "the hardware tells only odd from even completions: a thread that ever waits on a barrier has to wait for "
            "each")
        .help("wait once for each completion, or use another barrier");
    return Step::failed;
  }
  if (barrier.completed < phase) {
    thread.wait = {Wait::Kind::barrier, ref.buffer, element, &barrier, phase, nullptr, 0};
    return Step::blocked;
  }
  acquire(thread, barrier.done);
  if (waiter == nullptr) {
    barrier.waiters.push_back({thread.agent, 0, 0, 0});
    waiter = &barrier.waiters.back();
  }
  *waiter = {thread.agent, phase, races_ ? thread.time() : 0, pc_of(at)};
  std::erase_if(barrier.copies, [&](const Barrier::Expected& copy) { return copy.phase <= phase; });
  return Step::next;
}

bool Machine::end_barriers(const Storage& storage) {
  for (std::size_t i = 0; i < storage.barriers.size(); ++i) {
    const Barrier& barrier = storage.barriers[i];
    const Waiter* behind = nullptr;
    for (const Waiter& w : barrier.waiters) {
      if (w.seen != barrier.completed) behind = &w;
    }
    if (barrier.completed == 0 || (behind == nullptr && !barrier.waiters.empty())) continue;
    auto d = fail<diag::run_barrier>(
        *program_.allocs[storage.buffer.alloc].inst,
        fmt::format("`{}` completed {}, but {}", name_of(storage.buffer, static_cast<std::int64_t>(i)),
                    times(barrier.completed),
                    behind == nullptr ? "nobody waited for it"
                                      : fmt::format("{} waited {}", name_thread(behind->thread), times(behind->seen))));
    d.at("its scope ends with a completion that was not awaited");
    d.label(span_of(barrier.completing_pc),
            fmt::format("last completed here, by {}", name_thread(barrier.completing_thread)));
    if (behind != nullptr) d.label(span_of(behind->pc), "last waited for here");
    d.help("wait for each completion before the scope ends, or leave out the arrival");
    return false;
  }
  return true;
}

Step Machine::meet(Thread& thread, const Instr& at, std::uint32_t members, bool same_site) {
  if (thread.released) {
    thread.released = false;
    return Step::next;
  }
  Block& block = *thread.block;
  for (const auto& other : block.threads) {
    if ((members >> other->index & 1U) == 0 || !other->ended) continue;
    fail<diag::run_divergence>(*at.inst,
                               fmt::format("{} comes here to meet all threads, but {} has ended without coming here",
                                           name_thread(thread.agent), name_thread(other->agent)))
        .help("let every thread reach it, in the same order");
    return Step::failed;
  }
  // A meeting of all threads has one place; a named barrier among some threads may stand in several.
  auto found = std::ranges::find_if(block.meetings, [&](const Rendezvous& m) {
    return m.members == members && m.same_site == same_site && !m.here.empty();
  });
  if (found != block.meetings.end() && same_site && found->site != &at) {
    const bool scopes = at.run == control::enter_scope && found->site->run == control::enter_scope;
    const std::string text = fmt::format("threads of one block meet at different places: {} here, {} elsewhere",
                                         name_thread(thread.agent), name_thread(found->here.front()->agent));
    auto d = scopes ? fail<diag::run_allocation>(*at.inst, text + ", each for buffers of all threads")
                    : fail<diag::run_divergence>(*at.inst, text);
    d.label(found->site->inst->loc.span, fmt::format("{} waits here", name_thread(found->here.front()->agent)));
    d.help("let all threads of the block reach the same statement, in the same order");
    return Step::failed;
  }
  if (found == block.meetings.end()) {
    found = std::ranges::find_if(block.meetings, [](const Rendezvous& m) { return m.here.empty(); });
    if (found == block.meetings.end()) found = block.meetings.insert(found, Rendezvous{});
    found->members = members;
    found->same_site = same_site;
    found->site = &at;
  }
  found->here.push_back(&thread);
  tick(thread);
  if (found->here.size() < static_cast<std::size_t>(std::popcount(members))) {
    thread.wait.kind = Wait::Kind::rendezvous;
    return Step::blocked;
  }
  std::vector<Thread*> here;
  here.swap(found->here);
  std::ranges::sort(here, {}, &Thread::index);
  if (races_) {
    Clock all = thread.clock;
    for (const Thread* t : here) all.join(t->clock);
    for (Thread* t : here) t->clock = all;
  }
  for (Thread* t : here) {
    t->released = t != &thread;
    if (at.run == control::enter_scope && !allocate(*t, at)) return Step::failed;
    tick(*t);
  }
  return Step::next;
}

namespace handlers {

Step barrier_arrive(Machine& machine, Thread& thread, const Instr& at) { return machine.arrive(thread, at); }
Step barrier_wait(Machine& machine, Thread& thread, const Instr& at) { return machine.wait(thread, at); }

Step barrier_test(Machine& machine, Thread& thread, const Instr& at) {
  const Ref& ref = thread.ref(machine.program().slot(at.inst->operands[0]));
  if (!machine.check_bounds(thread, at, ref) || !machine.check_peer(thread, at, ref)) return Step::failed;
  Barrier& barrier = ref.buffer->barriers[element_of(ref)];
  const Waiter* waiter = find_waiter(barrier, thread.agent);
  const std::int64_t seen = waiter == nullptr ? 0 : waiter->seen;
  thread.scalar(machine.program().slot(at.inst->results[0])) = barrier.completed > seen ? 1 : 0;
  return Step::next;
}

Step semaphore_signal(Machine& machine, Thread& thread, const Instr& at) {
  const Ref& ref = thread.ref(machine.program().slot(at.inst->operands[0]));
  if (!machine.check_bounds(thread, at, ref) || !machine.check_peer(thread, at, ref)) return Step::failed;
  Semaphore& semaphore = ref.buffer->semaphores[element_of(ref)];
  semaphore.count += static_cast<std::int64_t>(thread.scalar(machine.program().slot(at.inst->operands[1])));
  semaphore.signal_pc = machine.pc_of(at);
  semaphore.signalled = true;
  machine.release(thread, semaphore.clock);
  return Step::next;
}

Step semaphore_wait(Machine& machine, Thread& thread, const Instr& at) {
  const Ref& ref = thread.ref(machine.program().slot(at.inst->operands[0]));
  if (!machine.check_bounds(thread, at, ref) || !machine.check_peer(thread, at, ref)) return Step::failed;
  Semaphore& semaphore = ref.buffer->semaphores[element_of(ref)];
  const std::int64_t count = static_cast<std::int64_t>(thread.scalar(machine.program().slot(at.inst->operands[1])));
  if (semaphore.count < count) {
    thread.wait = {Wait::Kind::semaphore, ref.buffer, element_of(ref), nullptr, 0, &semaphore, count};
    return Step::blocked;
  }
  if (at.inst->attrs.flag(ir::Attr::decrement)) semaphore.count -= count;
  machine.acquire(thread, semaphore.clock);
  return Step::next;
}

Step semaphore_read(Machine& machine, Thread& thread, const Instr& at) {
  const Ref& ref = thread.ref(machine.program().slot(at.inst->operands[0]));
  if (!machine.check_bounds(thread, at, ref) || !machine.check_peer(thread, at, ref)) return Step::failed;
  thread.scalar(machine.program().slot(at.inst->results[0])) =
      static_cast<std::uint64_t>(ref.buffer->semaphores[element_of(ref)].count);
  return Step::next;
}

Step sync(Machine& machine, Thread& thread, const Instr& at) {
  const std::vector<std::int64_t>& some = at.inst->attrs.integers(ir::Attr::threads);
  std::uint32_t members = 0;
  for (const std::int64_t t : some) members |= 1U << t;
  if (some.empty()) members = (1U << thread.block->threads.size()) - 1U;
  return machine.meet(thread, at, members, some.empty());
}

}  // namespace handlers

}  // namespace pk::interp
