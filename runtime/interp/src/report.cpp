// What the interpreter says: names of threads and blocks, and the longer reports.

#include <fmt/format.h>

#include <algorithm>

#include "machine.h"

namespace pk::interp {

namespace {

std::string_view verb(AccessKind kind) {
  switch (kind) {
    case AccessKind::load:
      return "load";
    case AccessKind::store:
      return "store";
    case AccessKind::atomic:
      return "atomic access";
    case AccessKind::async_read:
      return "asynchronous read";
    case AccessKind::async_write:
      return "asynchronous write";
    case AccessKind::reduce:
      return "reducing copy";
  }
  return "access";
}

}  // namespace

DiagnosticBuilder Machine::report(Diagnostic d, const ir::Inst& inst) {
  ir::CallId call = inst.loc.call;
  while (call.valid()) {
    const ir::CallSite& site = program_.kernel.calls[call.raw];
    d.labels.push_back({site.span, fmt::format("in this call of `{}`", site.function)});
    call = site.parent;
  }
  if (d.severity == Severity::error) launch_.failed = true;
  const std::scoped_lock lock(launch_.mutex);
  return launch_.diags->add(std::move(d));
}

std::vector<std::int64_t> Machine::block_coordinates(std::int64_t number) const {
  const std::vector<ir::MeshAxis>& axes = program_.kernel.axes;
  std::vector<std::int64_t> out(axes.size(), 0);
  // Blocks of a cluster follow each other; within cluster and grid the last axis varies fastest.
  for (const ir::MeshAxis::Kind kind : {ir::MeshAxis::Kind::cluster, ir::MeshAxis::Kind::grid}) {
    for (std::size_t a = axes.size(); a-- > 0;) {
      if (axes[a].kind != kind) continue;
      out[a] = number % launch_.extents[a];
      number /= launch_.extents[a];
    }
  }
  return out;
}

std::string Machine::name_block(std::int64_t number) const {
  const std::vector<std::int64_t> coordinates = block_coordinates(number);
  const std::vector<ir::MeshAxis>& axes = program_.kernel.axes;
  std::string text;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    if (axes[a].kind == ir::MeshAxis::Kind::wg) continue;
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", axes[a].name, coordinates[a]);
  }
  return text.empty() ? "the only block" : fmt::format("block ({})", text);
}

std::string Machine::name_thread(Agent agent) const {
  if (launch_.agents_per_cluster == 0) return "the launch";  // its region runs before the grid is known
  const Agent local = agent % launch_.agents_per_cluster / lanes_per_thread;
  const std::int64_t cluster = agent / launch_.agents_per_cluster;
  const Agent threads = static_cast<Agent>(launch_.threads_per_block);
  const std::int64_t block = cluster * launch_.cluster_size + local / threads;
  const int wg = program_.kernel.wg_axis();
  const bool one_block = launch_.clusters * launch_.cluster_size == 1;
  if (wg < 0) return name_block(block);
  const std::string thread =
      fmt::format("thread {} = {}", program_.kernel.axes[static_cast<std::size_t>(wg)].name, local % threads);
  return one_block ? thread : fmt::format("{} of {}", thread, name_block(block));
}

std::string Machine::name_access(const Access& access) const {
  return fmt::format("{} by {}", verb(access.kind), name_thread(access.thread));
}

void Machine::report_race(const Instr& at, const Buffer& buffer, const Access& access, const Fault& fault) {
  const int size = ir::byte_size(buffer.dtype);
  const std::string where = describe_range(buffer, fault.begin / size, (fault.end + size - 1) / size);
  const ir::Inst& inst = *at.inst;
  if (fault.kind == Fault::Kind::uninitialised) {
    auto d = fail<diag::run_uninitialised>(inst, fmt::format("`{}` is read before anything was written there", where));
    d.at(name_access(access)).label(buffer.span, fmt::format("`{}` is declared here", buffer.name));
    if (buffer.space == ir::Space::smem) {
      d.note("shared memory has no known contents at each entry of its scope");
    } else {
      d.note("an `out` parameter has no known contents before the kernel writes it");
    }
    d.help("write all of it first, or read less");
    return;
  }
  if (fault.kind == Fault::Kind::other_view) {
    fail<diag::run_uninitialised>(
        inst, fmt::format("`{}` is read, but what is there was written through another member of the union", where))
        .at(name_access(access))
        .label(span_of(fault.earlier.pc), "written here")
        .help("read it through the same member, or use `bitcast` on the value");
    return;
  }
  const Access& earlier = fault.earlier;
  const bool commit = fault.kind == Fault::Kind::not_committed;
  auto d = fail<diag::run_race>(
      inst, commit ? fmt::format("race on `{}`: a store there is not yet visible to the asynchronous units", where)
                   : fmt::format("race on `{}`: nothing orders the {} and the {}", where, name_access(access),
                                 name_access(earlier)));
  d.at(name_access(access)).label(span_of(earlier.pc), fmt::format("the {}", name_access(earlier)));
  const Agent lane = earlier.agent - earlier.thread;
  if (commit) {
    d.note("ordinary accesses reach shared memory on another way than the copy and MMA engines do");
    d.help("call `commit_smem()` in the storing thread, after the store and before what orders it with this access");
  } else if (earlier.thread / launch_.agents_per_cluster != access.thread / launch_.agents_per_cluster) {
    d.note("blocks run in any order and at the same time");
    d.help(earlier.kind == AccessKind::atomic || access.kind == AccessKind::atomic
               ? "make both accesses atomic, or order the blocks with a `semaphore[...] global`"
               : "let blocks write to places of their own, use atomics, or order them with a `semaphore[...] global`");
  } else if (is_async(earlier.kind) && lane == static_cast<Agent>(Lane::mma)) {
    d.note("the MMA that reads it may still be in flight");
    d.help("call `wgmma_wait(n)` with a small enough n before this access");
  } else if (is_async(earlier.kind) && lane == static_cast<Agent>(Lane::store_reads)) {
    d.note("the copy out may not have read it yet");
    d.help("call `wait_smem_to_gmem(n, read_only)` in the thread that issued the copy, before this access");
  } else if (is_async(earlier.kind) && lane == static_cast<Agent>(Lane::store_writes)) {
    d.note("the copy out may not have written it yet; `read_only` waits do not tell");
    d.help("call `wait_smem_to_gmem(n)` in the thread that issued the copy, before this access");
  } else if (is_async(earlier.kind)) {
    d.note("the copy may still be under way");
    d.help("wait for the copy's barrier (`barrier_wait`) before this access");
  } else if (earlier.thread / lanes_per_thread / static_cast<Agent>(launch_.threads_per_block) !=
             access.thread / lanes_per_thread / static_cast<Agent>(launch_.threads_per_block)) {
    d.help("order the blocks of the cluster with a `cluster_barrier` between the two accesses");
  } else if (is_async(access.kind) && earlier.thread == access.thread) {
    d.help("order the two accesses");
  } else {
    d.help(
        "order the two threads between these accesses: with a barrier (`barrier_arrive` after the first, "
        "`barrier_wait` "
        "before the second) or with `sync`");
  }
}

std::string Machine::name_wait(const Thread& thread) const {
  const Wait& wait = thread.wait;
  const std::string who = name_thread(thread.agent);
  switch (wait.kind) {
    case Wait::Kind::none:
      return fmt::format("{} can go on", who);
    case Wait::Kind::barrier:
      return fmt::format("{} waits for completion {} of `{}`, which has {} of {} arrivals", who, wait.phase,
                         describe_range(*wait.buffer, wait.element, wait.element + 1), wait.barrier->arrived,
                         wait.barrier->needed);
    case Wait::Kind::semaphore:
      return fmt::format("{} waits for `{}` to reach {}; it is {}", who,
                         describe_range(*wait.buffer, wait.element, wait.element + 1), wait.count,
                         wait.semaphore->count);
    case Wait::Kind::rendezvous:
      return fmt::format("{} waits for the threads that have to meet it here", who);
  }
  return who;
}

void Machine::report_deadlock() {
  constexpr std::size_t most_places = 16;
  std::vector<const Thread*> waiting;
  std::vector<std::string> notes;
  for (const Cluster* cluster : live_) {
    for (const auto& block : cluster->blocks) {
      for (const auto& thread : block->threads) {
        if (!thread->ended) {
          waiting.push_back(thread.get());
        } else if (block->running > 0 && notes.size() < most_places) {
          notes.push_back(fmt::format("{} has ended", name_thread(thread->agent)));
        }
      }
    }
  }
  if (waiting.empty()) return;
  const Thread& first = *waiting.front();
  auto d = fail<diag::run_deadlock>(*program_.code[first.pc].inst,
                                    waiting.size() == 1
                                        ? "deadlock: a thread waits for something that cannot happen any more"
                                        : fmt::format("deadlock: {} threads wait and none can go on", waiting.size()));
  d.at(name_wait(first));
  for (std::size_t i = 1; i < std::min(waiting.size(), most_places); ++i) {
    d.label(span_of(waiting[i]->pc), name_wait(*waiting[i]));
  }
  if (waiting.size() > most_places) notes.push_back(fmt::format("{} more threads wait", waiting.size() - most_places));
  for (const Cluster* cluster : live_) {
    for (const Multicast& copy : cluster->multicasts) {
      d.label(span_of(copy.pc), "this collective copy was not issued by all blocks of the cluster");
    }
  }
  for (std::string& note : notes) d.note(std::move(note));
  d.help(first.wait.kind == Wait::Kind::semaphore
             ? "check that every path signals as much as is waited for, before the signalling block waits itself"
             : "check the number of arrivals that the barrier was declared with, and that every path reaches them");
}

}  // namespace pk::interp
