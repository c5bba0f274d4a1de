// Asynchronous matrix products. MMAs of a thread run in order; like copies they are checked when issued, as events of
// the thread's MMA lane, and computed when the schedule says so, at the latest when they are waited for.

#include <fmt/format.h>

#include "handlers.h"
#include "machine.h"
#include "pk/interp/tile_kernels.h"

namespace pk::interp {

namespace {

tile::Matrix matrix_of(const Ref& ref) {
  const std::int64_t size = ir::byte_size(ref.buffer->dtype);
  return {ref.buffer->dtype, ref.buffer->data + ref.origin() * size, ref.stride(0) * size, ref.stride(1) * size};
}

void compute(const Mma& mma) {
  const std::int64_t size = ir::byte_size(mma.acc.buffer->dtype);
  tile::Matrix a;
  if (mma.a_in_registers) {
    const std::int64_t a_size = ir::byte_size(mma.a_dtype);
    a = {mma.a_dtype, mma.a_tile.data(), mma.depth * a_size, a_size};
  } else {
    a = matrix_of(mma.a);
  }
  tile::multiply_add(mma.acc.buffer->dtype, mma.acc.buffer->data + mma.acc.origin() * size, mma.acc.stride(0) * size,
                     mma.acc.extent[0], mma.acc.extent[1], mma.depth, a, matrix_of(mma.b), mma.tf32);
}

}  // namespace

Step Machine::wgmma(Thread& thread, const Instr& at) {
  const ir::Inst& inst = *at.inst;
  Mma mma;
  mma.acc = thread.ref(program_.slot(inst.operands[0]));
  mma.b = thread.ref(program_.slot(inst.operands[2]));
  mma.tf32 = inst.attrs.text(ir::Attr::precision) == "tf32";
  mma.pc = pc_of(at);
  mma.number = thread.mmas + 1;
  if (!check_bounds(thread, at, mma.acc) || !check_bounds(thread, at, mma.b) || !check_peer(thread, at, mma.b))
    return Step::failed;
  const Slot& a = program_.slot(inst.operands[1]);
  mma.a_in_registers = a.kind == Slot::Kind::tile;
  if (mma.a_in_registers) {
    mma.a_dtype = a.dtype;
    mma.a_tile.assign(thread.tile(a), thread.tile(a) + a.count * ir::byte_size(a.dtype));
    mma.depth = program_.kernel.type(inst.operands[1]).shape[1];
  } else {
    mma.a = thread.ref(a);
    mma.depth = mma.a.extent[1];
    if (!check_bounds(thread, at, mma.a) || !check_peer(thread, at, mma.a)) return Step::failed;
    if (!touch_async(thread, at, mma.a, AccessKind::async_read, thread.lane(Lane::mma), mma.number, thread.clock))
      return Step::failed;
  }
  if (!touch_async(thread, at, mma.b, AccessKind::async_read, thread.lane(Lane::mma), mma.number, thread.clock))
    return Step::failed;
  ++thread.mmas;
  thread.mma_queue.push_back(std::move(mma));
  if (completes_at_once()) finish_mmas(thread, thread.mmas);
  return Step::next;
}

void Machine::finish_mmas(Thread& thread, Time number) {
  for (Mma& mma : thread.mma_queue) {
    if (mma.number > number) break;
    if (mma.done) continue;
    compute(mma);
    mma.done = true;
  }
}

void Machine::know_mmas(Thread& thread, Time number) {
  finish_mmas(thread, number);
  thread.mmas_done = std::max(thread.mmas_done, number);
  if (races_) thread.clock.raise(thread.lane(Lane::mma), number);
}

void Machine::forget_mmas(Thread& thread) {
  while (!thread.mma_queue.empty() && thread.mma_queue.front().number <= thread.mmas_done) thread.mma_queue.pop_front();
}

bool Machine::end_mmas(Thread& thread, std::uint32_t scope) {
  const auto belongs = [&](const Ref& ref) { return program_.allocs[ref.buffer->alloc].scope == scope; };
  for (const Mma& mma : thread.mma_queue) {
    if (mma.number <= thread.mmas_done) continue;
    if (!belongs(mma.acc) && !belongs(mma.b) && (mma.a_in_registers || !belongs(mma.a))) continue;
    const Buffer& buffer = belongs(mma.acc) ? *mma.acc.buffer : belongs(mma.b) ? *mma.b.buffer : *mma.a.buffer;
    fail<diag::run_unawaited>(*program_.code[mma.pc].inst,
                              fmt::format("this MMA may still use `{}` when its scope ends", buffer.name))
        .at(fmt::format("issued by {} and not waited for", name_thread(thread.agent)))
        .label(buffer.span, fmt::format("`{}` is allocated here", buffer.name))
        .help("call `wgmma_wait(0)`, or read the accumulator, before the scope ends");
    return false;
  }
  return true;
}

namespace handlers {

Step wgmma(Machine& machine, Thread& thread, const Instr& at) { return machine.wgmma(thread, at); }

Step wgmma_wait(Machine& machine, Thread& thread, const Instr& at) {
  const std::int64_t left = at.inst->attrs.integer(ir::Attr::count);
  const std::int64_t done = static_cast<std::int64_t>(thread.mmas) - left;
  if (done > static_cast<std::int64_t>(thread.mmas_done)) {
    machine.know_mmas(thread, static_cast<Time>(done));
    machine.forget_mmas(thread);
  }
  return Step::next;
}

}  // namespace handlers

}  // namespace pk::interp
