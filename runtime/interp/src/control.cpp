#include "control.h"

#include <fmt/format.h>

#include "machine.h"
#include "pk/ir/numerics.h"

namespace pk::interp::control {

namespace {

/// Whether a < b for two values of an integer type.
bool less(ir::Dtype dtype, std::uint64_t a, std::uint64_t b) {
  if (dtype == ir::Dtype::index) return static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b);
  if (!ir::is_signed(dtype)) return a < b;
  return ir::Scalar{dtype, a}.as_int() < ir::Scalar{dtype, b}.as_int();
}

}  // namespace

Step jump(Machine&, Thread& thread, const Instr& at) {
  thread.pc = at.target;
  return Step::jumped;
}

Step branch_unless(Machine&, Thread& thread, const Instr& at) {
  if (thread.scalars[at.detail] != 0) return Step::next;
  thread.pc = at.target;
  return Step::jumped;
}

Step for_begin(Machine& machine, Thread& thread, const Instr& at) {
  const Program& program = machine.program();
  const ir::Inst& inst = *at.inst;
  const Slot& low = program.slot(inst.operands[0]);
  const std::uint64_t high = thread.scalar(program.slot(inst.operands[1]));
  const std::uint64_t step = thread.scalar(program.slot(inst.operands[2]));
  if (!less(low.dtype, 0, step)) {
    machine
        .fail<diag::run_arithmetic>(inst,
                                    fmt::format("the step of this loop is {}", ir::Scalar{low.dtype, step}.as_int()))
        .note(fmt::format("in {}", machine.name_thread(thread.agent)))
        .help("a `for` counts upwards: its step has to be at least 1");
    return Step::failed;
  }
  const std::uint64_t first = thread.scalar(low);
  thread.scalar(program.slot(inst.regions[0].args[0])) = first;
  if (less(low.dtype, first, high)) return Step::next;
  thread.pc = at.target;
  return Step::jumped;
}

Step for_next(Machine& machine, Thread& thread, const Instr& at) {
  const Program& program = machine.program();
  const ir::Inst& inst = *at.inst;
  const Slot& slot = program.slot(inst.regions[0].args[0]);
  std::uint64_t& counter = thread.scalar(slot);
  const std::uint64_t high = thread.scalar(program.slot(inst.operands[1]));
  const std::uint64_t step = thread.scalar(program.slot(inst.operands[2]));
  // high - counter cannot overflow as an unsigned number, since counter < high.
  const std::uint64_t left = slot.dtype == ir::Dtype::index || !ir::is_signed(slot.dtype)
                                 ? high - counter
                                 : static_cast<std::uint64_t>(ir::Scalar{slot.dtype, high}.as_int()) -
                                       static_cast<std::uint64_t>(ir::Scalar{slot.dtype, counter}.as_int());
  if (left <= step) return Step::next;
  counter = slot.dtype == ir::Dtype::index
                ? counter + step
                : ir::Scalar::of_int(slot.dtype, static_cast<std::int64_t>(counter + step)).bits;
  thread.pc = at.target;
  return Step::jumped;
}

Step choose_arm(Machine& machine, Thread& thread, const Instr& at) {
  const std::vector<std::uint32_t>& arms = machine.program().arms[at.detail];
  PK_CHECK(static_cast<std::size_t>(thread.index) < arms.size(), "specialize covers every thread");
  thread.pc = arms[static_cast<std::size_t>(thread.index)];
  return Step::jumped;
}

Step enter_scope(Machine& machine, Thread& thread, const Instr& at) { return machine.enter_scope(thread, at); }
Step leave_scope(Machine& machine, Thread& thread, const Instr& at) { return machine.leave_scope(thread, at); }
Step end_thread(Machine& machine, Thread& thread, const Instr&) { return machine.end_thread(thread); }
Step end_launch(Machine&, Thread&, const Instr&) { return Step::ended; }

}  // namespace pk::interp::control
