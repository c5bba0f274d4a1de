// The copy engine. A copy is checked and remembered in the shadows when it is issued, under the event that ends it (a
// completion of its barrier, or its group of the issuing thread), so that what is found does not depend on when the
// data move. They move when the schedule says so.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "handlers.h"
#include "machine.h"
#include "pk/ir/numerics.h"

namespace pk::interp {

namespace {

/// The box of a view on which both the source and the target of a copy exist.
struct Common {
  bool any = false;
  std::array<std::int64_t, max_rank> low{}, high{};
};
Common common_part(const Ref& source, const Ref& target) {
  const Inside a = inside_part(source), b = inside_part(target);
  Common out{a.any && b.any, a.low, a.high};
  for (std::size_t i = 0; i < static_cast<std::size_t>(source.rank); ++i) {
    out.low[i] = std::max(a.low[i], b.low[i]);
    out.high[i] = std::min(a.high[i], b.high[i]);
    if (out.low[i] >= out.high[i]) out.any = false;
  }
  return out;
}

void copy_inside(const Ref& source, const Ref& target) {
  std::byte* const to = target.buffer->data + target.origin() * ir::byte_size(target.buffer->dtype);
  const std::byte* const from = source.buffer->data + source.origin() * ir::byte_size(source.buffer->dtype);
  if (target.is_contiguous()) return gather(source, to);
  if (source.is_contiguous()) return scatter(from, target);
  std::vector<std::byte> between(static_cast<std::size_t>(source.elements() * ir::byte_size(source.buffer->dtype)));
  gather(source, between.data());
  scatter(between.data(), target);
}

void copy_box(const Ref& source, const Ref& target, OutOfBounds oob) {
  if (source.inside() && target.inside()) return copy_inside(source, target);
  const Inside all = inside_part(target);
  if (all.any && (oob == OutOfBounds::zero || oob == OutOfBounds::nan)) {
    const ir::Dtype dtype = target.buffer->dtype;
    std::array<std::byte, 8> element{};
    ir::Scalar::of_double(dtype, oob == OutOfBounds::nan ? std::numeric_limits<double>::quiet_NaN() : 0.0)
        .store(element.data());
    fill(element.data(), part(target, all.low, all.high));
  }
  const Common common = common_part(source, target);
  if (common.any) copy_inside(part(source, common.low, common.high), part(target, common.low, common.high));
}

bool same_extents(const Ref& a, const Ref& b) {
  return a.rank == b.rank && std::equal(a.extent.begin(), a.extent.begin() + a.rank, b.extent.begin());
}

/// Reports a copy whose two sides differ in extent, which only run-time extents can bring about.
bool check_extents(Machine& machine, Thread& thread, const Instr& at, const Ref& source, const Ref& target) {
  if (same_extents(source, target)) return true;
  machine
      .fail<diag::run_bounds>(*at.inst,
                              fmt::format("this copy takes {} elements from `{}` to {} of `{}`", source.elements(),
                                          describe(source), target.elements(), describe(target)))
      .at(fmt::format("issued by {}", machine.name_thread(thread.agent)))
      .help("give both sides the same extents");
  return false;
}

Ref inside_of(const Ref& ref) {
  if (ref.inside()) return ref;
  const Inside inside = inside_part(ref);
  Ref out = part(ref, inside.low, inside.high);
  if (!inside.any) out.extent.fill(0);
  return out;
}

/// Blocks of the cluster that differ from `block` along `axes` only, in order.
std::vector<Block*> blocks_along(const Block& block, const std::vector<int>& axes) {
  std::vector<Block*> out;
  for (const auto& other : block.cluster->blocks) {
    bool same = true;
    for (std::size_t a = 0; a < block.coordinates.size(); ++a) {
      const bool along = std::ranges::find(axes, static_cast<int>(a)) != axes.end();
      same = same && (along || other->coordinates[a] == block.coordinates[a]);
    }
    if (same) out.push_back(other.get());
  }
  return out;
}

/// Checks one copy in and remembers its accesses. `clock`: what is known to everybody who takes part in issuing it.
bool check_copy_in(Machine& machine, Thread& thread, const Instr& at, const CopyIn& copy, Time time,
                   const Clock& clock) {
  if (copy.tile.empty() && !machine.touch_async(thread, at, inside_of(copy.source), AccessKind::async_read,
                                                copy.barrier->agent, time, clock)) {
    return false;
  }
  return machine.touch_async(thread, at, inside_of(copy.target), AccessKind::async_write, copy.barrier->agent, time,
                             clock);
}

}  // namespace

Step Machine::copy_in(Thread& thread, const Instr& at) {
  const CopyDetail& detail = program_.copies[at.detail];
  CopyIn copy;
  copy.source = thread.refs[detail.source];
  copy.target = thread.refs[detail.target];
  copy.oob = detail.oob;
  copy.pc = pc_of(at);
  copy.thread = thread.agent;
  const Ref& barrier_ref = thread.refs[detail.barrier];
  if (!check_bounds(thread, at, barrier_ref) || !check_peer(thread, at, barrier_ref) ||
      !check_peer(thread, at, copy.target))
    return Step::failed;
  copy.barrier = barrier_ref.buffer->barriers + barrier_ref.origin();
  copy.barrier_buffer = barrier_ref.buffer;

  std::vector<Block*> group;
  if (!detail.axes.empty()) group = blocks_along(*thread.block, detail.axes);
  if (detail.partition >= 0 && !group.empty()) {
    // Block i receives part i of the source.
    const std::size_t axis = static_cast<std::size_t>(detail.partition);
    const std::int64_t size = copy.target.extent[axis];
    const auto member = std::ranges::find(group, thread.block) - group.begin();
    if (copy.source.extent[axis] != size) {
      copy.source.start[static_cast<std::size_t>(copy.source.axis[axis])] += member * size;
      copy.source.extent[axis] = size;
      group.clear();
    }
  }
  if (!check_extents(*this, thread, at, copy.source, copy.target)) return Step::failed;
  if (copy.oob == OutOfBounds::error &&
      (!check_bounds(thread, at, copy.source) || !check_bounds(thread, at, copy.target))) {
    return Step::failed;
  }
  copy.phase = copy.barrier->next_phase();
  ++copy.barrier->promised;
  copy.barrier->copies.push_back({copy.pc, copy.thread, copy.phase, copy.target.buffer});
  copy.clock = thread.clock;
  tick(thread);
  if (group.size() > 1) return issue_multicast(thread, at, group, std::move(copy)) ? Step::next : Step::failed;
  if (!check_copy_in(*this, thread, at, copy, copy.barrier->base + static_cast<Time>(copy.phase), copy.clock))
    return Step::failed;
  return start_copy_in(*thread.block->cluster, std::move(copy)) ? Step::next : Step::failed;
}

bool Machine::start_copy_in(Cluster& cluster, CopyIn copy) {
  cluster.copies_in.push_back(std::move(copy));
  const bool at_once = schedule_ == Schedule::eager || (schedule_ == Schedule::fair && !races_);
  return !at_once || finish_copy_in(cluster, cluster.copies_in.size() - 1);
}

bool Machine::issue_multicast(Thread& thread, const Instr& at, const std::vector<Block*>& group, CopyIn copy) {
  Cluster& cluster = *thread.block->cluster;
  const std::uint32_t pc = pc_of(at);
  auto found =
      std::ranges::find_if(cluster.multicasts, [&](const Multicast& m) { return m.pc == pc && m.group == group; });
  if (found == cluster.multicasts.end()) {
    found = cluster.multicasts.insert(found, Multicast{pc, group, {}});
    found->issued.resize(group.size());
  }
  const auto member = std::ranges::find(group, thread.block) - group.begin();
  found->issued[static_cast<std::size_t>(member)].push_back(std::move(copy));
  if (std::ranges::any_of(found->issued, [](const auto& queue) { return queue.empty(); })) return true;
  // Every block has issued its part, and each part may be written into every block: the copy knows only what all of
  // them knew.
  std::vector<CopyIn> copies;
  for (auto& queue : found->issued) {
    copies.push_back(std::move(queue.front()));
    queue.pop_front();
  }
  if (std::ranges::all_of(found->issued, [](const auto& queue) { return queue.empty(); }))
    cluster.multicasts.erase(found);
  Clock known = copies.front().clock;
  if (races_) {
    for (const CopyIn& c : copies) known.meet(c.clock);
  }
  for (CopyIn& c : copies) {
    if (!check_copy_in(*this, thread, at, c, c.barrier->base + static_cast<Time>(c.phase), known)) return false;
    if (!start_copy_in(cluster, std::move(c))) return false;
  }
  return true;
}

bool Machine::finish_copy_in(Cluster& cluster, std::size_t number) {
  CopyIn copy = std::move(cluster.copies_in[number]);
  cluster.copies_in.erase(cluster.copies_in.begin() + static_cast<std::ptrdiff_t>(number));
  if (copy.tile.empty()) {
    copy_box(copy.source, copy.target, copy.oob);
  } else {
    scatter(copy.tile.data(), copy.target);
  }
  if (races_) copy.barrier->gathering.join(copy.clock);
  const Buffer& buffer = *copy.barrier_buffer;
  return complete_arrival(*copy.barrier, buffer, copy.barrier - buffer.barriers, copy.pc, copy.thread);
}

Step Machine::store_async(Thread& thread, const Instr& at) {
  const Slot& tile = program_.slot(at.inst->operands[0]);
  CopyIn copy;
  copy.target = thread.ref(program_.slot(at.inst->operands[1]));
  Ref barrier = thread.ref(program_.slot(at.inst->operands[2]));
  if (!check_bounds(thread, at, copy.target) || !check_bounds(thread, at, barrier)) return Step::failed;
  if (barrier.buffer->block != copy.target.buffer->block) {
    // The bytes are counted by the barrier of the block that receives them.
    barrier.buffer = peer_buffer(thread, at, barrier, *copy.target.buffer->block);
    if (barrier.buffer == nullptr) return Step::failed;
  }
  if (!check_peer(thread, at, copy.target) || !check_peer(thread, at, barrier)) return Step::failed;
  copy.pc = pc_of(at);
  copy.thread = thread.agent;
  copy.tile.assign(thread.tile(tile), thread.tile(tile) + tile.count * ir::byte_size(tile.dtype));
  copy.barrier_buffer = barrier.buffer;
  copy.barrier = barrier.buffer->barriers + barrier.origin();
  copy.phase = copy.barrier->next_phase();
  ++copy.barrier->promised;
  copy.barrier->copies.push_back({copy.pc, copy.thread, copy.phase, copy.target.buffer});
  copy.clock = thread.clock;
  tick(thread);
  if (!check_copy_in(*this, thread, at, copy, copy.barrier->base + static_cast<Time>(copy.phase), copy.clock))
    return Step::failed;
  return start_copy_in(*thread.block->cluster, std::move(copy)) ? Step::next : Step::failed;
}

Step Machine::copy_out(Thread& thread, const Instr& at) {
  const CopyDetail& detail = program_.copies[at.detail];
  CopyOut copy;
  copy.source = thread.refs[detail.source];
  copy.target = thread.refs[detail.target];
  copy.oob = detail.oob;
  copy.reduce = detail.reduce;
  copy.pc = pc_of(at);
  copy.group = thread.open_group;
  if (!check_peer(thread, at, copy.source) || !check_extents(*this, thread, at, copy.source, copy.target))
    return Step::failed;
  if (copy.oob == OutOfBounds::error &&
      (!check_bounds(thread, at, copy.source) || !check_bounds(thread, at, copy.target))) {
    return Step::failed;
  }
  const Common common = common_part(copy.source, copy.target);
  if (common.any) {
    copy.source = part(copy.source, common.low, common.high);
    copy.target = part(copy.target, common.low, common.high);
    const AccessKind kind = copy.reduce.empty() ? AccessKind::async_write : AccessKind::reduce;
    if (!touch_async(thread, at, copy.source, AccessKind::async_read, thread.lane(Lane::store_reads), copy.group,
                     thread.clock) ||
        !touch_async(thread, at, copy.target, kind, thread.lane(Lane::store_writes), copy.group, thread.clock)) {
      return Step::failed;
    }
  } else {
    copy.read = copy.written = true;
  }
  thread.copies_out.push_back(std::move(copy));
  if (completes_at_once()) finish_copy_out(thread.copies_out.back(), false);
  if (detail.commit) ++thread.open_group;
  tick(thread);
  return Step::next;
}

void Machine::finish_copy_out(CopyOut& copy, bool reads_only) {
  const ir::Dtype dtype = copy.target.buffer->dtype;
  if (!copy.read) {
    copy.read = true;
    if (!reads_only && copy.reduce.empty()) {
      copy.written = true;
      copy_inside(copy.source, copy.target);
      return;
    }
    copy.staged.resize(static_cast<std::size_t>(copy.source.elements() * ir::byte_size(dtype)));
    gather(copy.source, copy.staged.data());
  }
  if (reads_only || copy.written) return;
  copy.written = true;
  if (copy.reduce.empty()) {
    scatter(copy.staged.data(), copy.target);
  } else {
    combine(copy.reduce, copy.staged.data(), copy.target);
  }
  copy.staged = {};
}

void Machine::drain_copies_out(Thread& thread, Time group, bool reads_only) {
  for (CopyOut& copy : thread.copies_out) {
    if (copy.group <= group) finish_copy_out(copy, reads_only);
  }
}

Step Machine::wait_copies_out(Thread& thread, const Instr& at) {
  const std::int64_t left = at.inst->attrs.integer(ir::Attr::count);
  const std::int64_t closed = static_cast<std::int64_t>(thread.open_group) - 1;
  if (left >= closed) return Step::next;
  const Time done = static_cast<Time>(closed - std::max<std::int64_t>(left, 0));
  const bool reads_only = at.inst->attrs.flag(ir::Attr::read_only);
  // Reads may be waited for alone; the schedule decides when the writes follow.
  drain_copies_out(thread, done, reads_only);
  thread.groups_read = std::max(thread.groups_read, done);
  if (races_) {
    thread.clock.raise(thread.lane(Lane::store_reads), done);
    if (!reads_only) thread.clock.raise(thread.lane(Lane::store_writes), done);
  }
  while (!thread.copies_out.empty() && thread.copies_out.front().group <= done && thread.copies_out.front().written) {
    thread.copies_out.pop_front();
  }
  return Step::next;
}

bool Machine::end_copies(Thread& thread, std::uint32_t scope) {
  for (const CopyOut& copy : thread.copies_out) {
    if (copy.group <= thread.groups_read || program_.allocs[copy.source.buffer->alloc].scope != scope) continue;
    fail<diag::run_unawaited>(*program_.code[copy.pc].inst,
                              fmt::format("this copy may still read `{}` when the scope of `{}` ends",
                                          describe(copy.source), copy.source.buffer->name))
        .at(fmt::format("issued by {} and not waited for", name_thread(thread.agent)))
        .label(copy.source.buffer->span, fmt::format("`{}` is allocated here", copy.source.buffer->name))
        .help(
            "call `wait_smem_to_gmem(0)`, or `wait_smem_to_gmem(0, read_only)`, in the same thread before the scope "
            "ends");
    return false;
  }
  return true;
}

namespace handlers {

Step copy_gmem_to_smem(Machine& machine, Thread& thread, const Instr& at) { return machine.copy_in(thread, at); }
Step copy_smem_to_gmem(Machine& machine, Thread& thread, const Instr& at) { return machine.copy_out(thread, at); }
Step async_store(Machine& machine, Thread& thread, const Instr& at) { return machine.store_async(thread, at); }
Step wait_smem_to_gmem(Machine& machine, Thread& thread, const Instr& at) {
  return machine.wait_copies_out(thread, at);
}

Step commit_copies(Machine&, Thread& thread, const Instr&) {
  ++thread.open_group;
  return Step::next;
}

Step commit_smem(Machine& machine, Thread& thread, const Instr&) {
  if (machine.checks_races()) thread.clock.raise(thread.lane(Lane::committed), thread.time());
  machine.tick(thread);
  return Step::next;
}

Step prefetch(Machine&, Thread&, const Instr&) { return Step::next; }
Step launch_dependents(Machine&, Thread&, const Instr&) { return Step::next; }
Step wait_for_prior_kernels(Machine&, Thread&, const Instr&) { return Step::next; }

}  // namespace handlers

}  // namespace pk::interp
