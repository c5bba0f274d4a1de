// The checks in front of every memory access: bounds always (the interpreter never touches memory outside), then races
// and unwritten memory through the buffer's shadow.

#include <fmt/format.h>

#include "machine.h"

namespace pk::interp {

bool Machine::check_bounds(Thread& thread, const Instr& at, const Ref& ref) {
  if (ref.inside()) return true;
  std::array<std::int64_t, max_rank> size;
  size.fill(1);
  for (int a = 0; a < ref.rank; ++a)
    size[static_cast<std::size_t>(ref.axis[static_cast<std::size_t>(a)])] = ref.extent[static_cast<std::size_t>(a)];
  std::string why;
  for (std::size_t a = 0; a < static_cast<std::size_t>(ref.root_rank); ++a) {
    const std::int64_t low = ref.start[a], high = ref.start[a] + size[a] - 1;
    if (low >= 0 && high < ref.root_extent[a]) continue;
    why =
        fmt::format("index {} of axis {} is outside 0..{}", low < 0 ? low : std::max(low, high), a, ref.root_extent[a]);
    break;
  }
  fail<diag::run_bounds>(*at.inst, fmt::format("`{}` is out of bounds: {}", describe(ref), why))
      .at(fmt::format("accessed by {}", name_thread(thread.agent)))
      .label(ref.buffer->span,
             fmt::format("`{}` has the extents [{}] here", ref.buffer->name, fmt::join(ref.buffer->extents, ", ")))
      .help(
          "keep the index within the extent, mask the access (`load(ref, mask, other)`, `store(ref, value, mask)`), or "
          "let "
          "a copy say `oob(zero)`");
  return false;
}

bool Machine::check_peer(Thread& thread, const Instr& at, const Ref& ref) {
  const Buffer& buffer = *ref.buffer;
  if (buffer.block == nullptr || buffer.block == thread.block || !races_) return true;
  const bool entered = buffer.alive && thread.clock[buffer.entry_agent] >= buffer.entry_time;
  if (entered) return true;
  fail<diag::run_race>(*at.inst,
                       fmt::format("race on `{}` of {}: it may not have entered the scope yet, or may have left it",
                                   buffer.name, name_block(buffer.block->number)))
      .at(fmt::format("accessed by {}", name_thread(thread.agent)))
      .label(buffer.span, "allocated at the entry of this scope, by each block when it gets there")
      .help(
          "let all blocks of the cluster meet (`cluster_barrier`) after entering the scope, before the first access to "
          "a "
          "peer's shared memory");
  return false;
}

bool Machine::touch_async(Thread& thread, const Instr& at, const Ref& ref, AccessKind kind, Agent agent, Time time,
                          const Clock& clock) {
  Buffer& buffer = *ref.buffer;
  if (buffer.shadow == nullptr) return true;
  const Access access{agent, time, thread.agent, pc_of(at), kind, buffer.view};
  const Check check{races_ ? &clock : nullptr, is_async(kind) && buffer.space == ir::Space::smem, init_};
  const std::int64_t size = ir::byte_size(buffer.dtype);
  std::optional<Fault> fault;
  for_each_run(walk_by_address(ref), [&](std::int64_t first, std::int64_t length, std::int64_t step) {
    if (fault) return;
    if (step == 1) {
      fault = buffer.shadow->access(first * size, (first + length) * size, access, check);
      return;
    }
    for (std::int64_t i = 0; i < length && !fault; ++i) {
      fault = buffer.shadow->access((first + i * step) * size, (first + i * step + 1) * size, access, check);
    }
  });
  if (!fault) return true;
  report_race(at, buffer, access, *fault);
  return false;
}

bool Machine::touch(Thread& thread, const Instr& at, const Ref& ref, AccessKind kind) {
  if (!check_peer(thread, at, ref)) return false;
  return touch_async(thread, at, ref, kind, thread.agent, races_ ? thread.time() : 0, thread.clock);
}

bool Machine::touch_element(Thread& thread, const Instr& at, const Ref& ref, std::int64_t element, std::int64_t count,
                            AccessKind kind) {
  Buffer& buffer = *ref.buffer;
  if (buffer.shadow == nullptr) return true;
  const Access access{thread.agent, races_ ? thread.time() : 0, thread.agent, pc_of(at), kind, buffer.view};
  const Check check{races_ ? &thread.clock : nullptr, false, init_};
  const std::int64_t size = ir::byte_size(buffer.dtype);
  const std::optional<Fault> fault = buffer.shadow->access(element * size, (element + count) * size, access, check);
  if (!fault) return true;
  report_race(at, buffer, access, *fault);
  return false;
}

void Machine::tick(Thread& thread) const {
  if (races_) thread.clock.raise(thread.agent, thread.time() + 1);
}

void Machine::release(Thread& thread, Clock& to) const {
  if (!races_) return;
  to.join(thread.clock);
  tick(thread);
}

void Machine::acquire(Thread& thread, const Clock& from) const {
  if (races_) thread.clock.join(from);
}

Clock Machine::empty_clock(const Cluster& cluster) const {
  return races_ ? Clock(cluster.base, launch_.agents_per_cluster) : Clock();
}

}  // namespace pk::interp
