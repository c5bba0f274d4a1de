// What the interpreter says: names of threads and blocks, and the longer reports.

#include <fmt/format.h>

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

void Machine::report_deadlock() {
  const Thread* first = nullptr;
  std::vector<Label> labels;
  std::vector<std::string> notes;
  constexpr std::size_t most_labels = 16;
  std::size_t waiting = 0;
  const auto describe_wait = [&](const Thread& t) -> std::string {
    const std::string who = name_thread(t.agent);
    switch (t.wait.kind) {
      case Wait::Kind::none:
        return fmt::format("{} can go on", who);
      case Wait::Kind::barrier: {
        const Barrier& b = *t.wait.barrier;
        return fmt::format("{} waits for completion {} of `{}`, which has {} of {} arrivals", who, t.wait.phase,
                           describe_range(*t.wait.buffer, t.wait.element, t.wait.element + 1), b.arrived, b.needed);
      }
      case Wait::Kind::semaphore:
        return fmt::format("{} waits for `{}` to reach {}; it is {}", who,
                           describe_range(*t.wait.buffer, t.wait.element, t.wait.element + 1), t.wait.count,
                           t.wait.semaphore->count);
      case Wait::Kind::rendezvous:
        return fmt::format("{} waits for the other threads", who);
    }
    return who;
  };
  for (const Cluster* cluster : live_) {
    for (const auto& block : cluster->blocks) {
      for (const auto& thread : block->threads) {
        if (thread->ended) continue;
        ++waiting;
        if (first == nullptr) {
          first = thread.get();
          continue;
        }
        if (labels.size() < most_labels) labels.push_back({span_of(thread->pc), describe_wait(*thread)});
      }
    }
    for (const Multicast& m : cluster->multicasts) {
      for (std::size_t i = 0; i < m.group.size(); ++i) {
        if (m.issued[i].empty())
          notes.push_back(
              fmt::format("a collective copy waits for {} to issue its part", name_block(m.group[i]->number)));
      }
      if (!m.issued.empty()) labels.push_back({span_of(m.pc), "the collective copy that not all blocks have issued"});
    }
  }
  if (first == nullptr) return;
  auto d =
      fail<diag::run_deadlock>(*program_.code[first->pc].inst,
                               waiting == 1 ? "deadlock: a thread waits for something that cannot happen any more"
                                            : fmt::format("deadlock: {} threads wait and none can go on", waiting));
  d.at(describe_wait(*first));
  for (Label& label : labels) d.label(label.span, std::move(label.message));
  for (std::string& note : notes) d.note(std::move(note));
  if (waiting > most_labels + 1) d.note(fmt::format("{} further threads wait", waiting - most_labels - 1));
  d.help("check the number of arrivals that the barrier was declared with, and that every path reaches them");
}

}  // namespace pk::interp
