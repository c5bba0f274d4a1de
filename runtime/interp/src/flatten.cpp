// prepare(): turns a kernel's regions into a list of instructions with jumps. Leaving a region early (break, continue,
// exit_block) leaves the scopes it crosses first.

#include <fmt/format.h>

#include <algorithm>

#include "control.h"
#include "machine.h"
#include "memory.h"
#include "pk/ir/numerics.h"
#include "program.h"

namespace pk::interp {

namespace {

class Flattener {
 public:
  explicit Flattener(Program& program) : program_(program), kernel_(program.kernel) {}

  void run() {
    check_ranks();
    flatten(kernel_.launch, program_.launch_code);
    program_.launch_code.push_back({control::end_launch, nullptr, 0, 0, false});
    code_ = &program_.code;
    // The end belongs to the kernel as a whole, which has no instruction; its place is that of the name.
    end_.op = ir::Op::yield;
    end_.loc.span = kernel_.span;
    flatten(kernel_.body, program_.code);
    program_.end = std::make_unique<ir::Inst>(end_);
    program_.code.push_back({control::end_thread, program_.end.get(), 0, 0, true});
  }

 private:
  using Label = std::vector<std::size_t>;  // instructions whose target is to be set

  struct Loop {
    std::size_t scopes = 0;  // open scopes outside of it
    Label leave, repeat;
  };

  void check_ranks() {
    for (const ir::ValueInfo& value : kernel_.values) {
      if (value.type.shape.size() > static_cast<std::size_t>(max_rank)) {
        program_.unsupported = fmt::format("`{}` has {} axes; the interpreter handles at most {}", value.name,
                                           value.type.shape.size(), max_rank);
      }
      const bool is_static = !value.type.is_ref() || value.type.space != ir::Space::gmem;
      for (const std::int64_t extent : value.type.shape) {
        if (extent == ir::unresolved_extent || (is_static && extent < 0)) {
          program_.unsupported = fmt::format("the size of `{}` depends on a generic that has no value", value.name);
        }
      }
    }
  }

  void flatten(const ir::Region& region, std::vector<Instr>& code) {
    code_ = &code;
    flatten(region);
  }
  void flatten(const ir::Region& region) {
    for (const ir::Inst& inst : region.insts) flatten(inst);
  }

  [[nodiscard]] std::size_t here() const { return code_->size(); }
  std::size_t emit(Handler handler, const ir::Inst& inst, std::size_t detail = 0, std::size_t target = 0) {
    code_->push_back({handler, &inst, static_cast<std::uint32_t>(detail), static_cast<std::uint32_t>(target),
                      ir::info(inst.op).effects != ir::effect::none});
    return here() - 1;
  }
  void bind(const Label& label) {
    for (const std::size_t at : label) (*code_)[at].target = static_cast<std::uint32_t>(here());
  }
  void bind(std::size_t at) { (*code_)[at].target = static_cast<std::uint32_t>(here()); }

  void flatten(const ir::Inst& inst) {
    switch (inst.op) {
      case ir::Op::if_:
        return flatten_if(inst);
      case ir::Op::for_:
        return flatten_for(inst);
      case ir::Op::while_:
        return flatten_while(inst);
      case ir::Op::block:
        return flatten_block(inst);
      case ir::Op::specialize:
        return flatten_specialize(inst);
      case ir::Op::break_:
        return leave_to(loops_.back(), inst, &Loop::leave);
      case ir::Op::continue_:
        return leave_to(loops_.back(), inst, &Loop::repeat);
      case ir::Op::exit_block:
        return leave_to(blocks_.back(), inst, &Loop::leave);
      case ir::Op::scoped:
        return flatten_scope(inst);
      case ir::Op::constant:
        return set_constant(inst);
      case ir::Op::alloc:
      case ir::Op::yield:
        return;
      case ir::Op::subview:
        return flatten_subview(inst);
      case ir::Op::copy_gmem_to_smem:
      case ir::Op::copy_smem_to_gmem:
        return flatten_copy(inst);
      default:
        break;  // the many operations without regions have one instruction each
    }
    if (ir::info(inst.op).cls == ir::OpClass::pipeline) {
      program_.unsupported = "the kernel still has pipelines: the shared passes were not run";
      return;
    }
    if (inst.op == ir::Op::atomic) {
      program_.has_atomics = true;
      const std::string_view order = inst.attrs.text(ir::Attr::order);
      if (!order.empty() && order != "relaxed") program_.orders_blocks = true;
    }
    emit(handler_of(inst.op), inst);
  }

  void set_constant(const ir::Inst& inst) {
    const Slot& slot = program_.slot(inst.results[0]);
    const ir::Scalar value = ir::is_floating(slot.dtype)
                                 ? ir::Scalar::of_double(slot.dtype, inst.attrs.real(ir::Attr::value_float))
                                 : ir::Scalar::of_int(slot.dtype, inst.attrs.integer(ir::Attr::value_int));
    program_.constants[slot.at] = value.bits;
  }

  void flatten_if(const ir::Inst& inst) {
    const std::size_t branch = emit(control::branch_unless, inst, program_.slot(inst.operands[0]).at);
    flatten(inst.regions[0]);
    if (inst.regions.size() < 2 || inst.regions[1].insts.empty()) {
      bind(branch);
      return;
    }
    const std::size_t skip = emit(control::jump, inst);
    bind(branch);
    flatten(inst.regions[1]);
    bind(skip);
  }

  void flatten_for(const ir::Inst& inst) {
    loops_.push_back({scopes_.size(), {}, {}});
    const std::size_t begin = emit(control::for_begin, inst);
    const std::size_t body = here();
    flatten(inst.regions[0]);
    bind(loops_.back().repeat);
    emit(control::for_next, inst, 0, body);
    bind(begin);
    bind(loops_.back().leave);
    loops_.pop_back();
  }

  void flatten_while(const ir::Inst& inst) {
    loops_.push_back({scopes_.size(), {}, {}});
    const std::size_t begin = here();
    flatten(inst.regions[0]);
    const ir::Inst& condition = inst.regions[0].insts.back();
    const std::size_t branch = emit(control::branch_unless, condition, program_.slot(condition.operands[0]).at);
    flatten(inst.regions[1]);
    for (const std::size_t at : loops_.back().repeat) (*code_)[at].target = static_cast<std::uint32_t>(begin);
    emit(control::jump, inst, 0, begin);
    bind(branch);
    bind(loops_.back().leave);
    loops_.pop_back();
  }

  void flatten_block(const ir::Inst& inst) {
    blocks_.push_back({scopes_.size(), {}, {}});
    flatten(inst.regions[0]);
    bind(blocks_.back().leave);
    blocks_.pop_back();
  }

  void flatten_specialize(const ir::Inst& inst) {
    const std::vector<std::int64_t>& arms = inst.attrs.integers(ir::Attr::arms);
    const std::size_t table = program_.arms.size();
    program_.arms.emplace_back(arms.size(), 0);
    emit(control::choose_arm, inst, table);
    Label ends;
    for (std::size_t arm = 0; arm < inst.regions.size(); ++arm) {
      for (std::size_t thread = 0; thread < arms.size(); ++thread) {
        if (arms[thread] == static_cast<std::int64_t>(arm))
          program_.arms[table][thread] = static_cast<std::uint32_t>(here());
      }
      flatten(inst.regions[arm]);
      ends.push_back(emit(control::jump, inst));
    }
    bind(ends);
  }

  void leave_to(Loop& loop, const ir::Inst& inst, Label Loop::*label) {
    for (std::size_t s = scopes_.size(); s > loop.scopes; --s) emit(control::leave_scope, inst, scopes_[s - 1]);
    (loop.*label).push_back(emit(control::jump, inst));
  }

  void flatten_scope(const ir::Inst& inst) {
    const std::uint32_t number = static_cast<std::uint32_t>(program_.scopes.size());
    program_.scopes.push_back({&inst, 0, 0, inst.attrs.flag(ir::Attr::collective)});
    program_.scopes[number].first_alloc = static_cast<std::uint32_t>(program_.allocs.size());
    std::vector<std::pair<std::int64_t, std::uint32_t>> unions;  // group, first alloc
    for (const ir::Inst& inner : inst.regions[0].insts) {
      if (inner.op == ir::Op::alloc) add_alloc(inner, number, unions);
    }
    program_.scopes[number].end_alloc = static_cast<std::uint32_t>(program_.allocs.size());
    emit(control::enter_scope, inst, number);
    scopes_.push_back(number);
    flatten(inst.regions[0]);
    scopes_.pop_back();
    emit(control::leave_scope, inst, number);
  }

  void add_alloc(const ir::Inst& inst, std::uint32_t scope,
                 std::vector<std::pair<std::int64_t, std::uint32_t>>& unions) {
    AllocInfo alloc;
    alloc.inst = &inst;
    alloc.type = kernel_.type(inst.results[0]);
    alloc.name = inst.attrs.text(ir::Attr::name);
    alloc.scope = scope;
    alloc.ref = program_.slot(inst.results[0]).at;
    alloc.elements = ir::element_count(alloc.type.shape);
    const std::uint32_t number = static_cast<std::uint32_t>(program_.allocs.size());
    alloc.storage = number;
    if (alloc.type.space == ir::Space::smem || alloc.type.space == ir::Space::acc) {
      alloc.bytes = alloc.elements * ir::byte_size(alloc.type.dtype);
    }
    if (inst.attrs.has(ir::Attr::union_group)) {
      const std::int64_t group = inst.attrs.integer(ir::Attr::union_group);
      const auto first = std::ranges::find(unions, group, &std::pair<std::int64_t, std::uint32_t>::first);
      if (first == unions.end()) {
        unions.emplace_back(group, number);
      } else {
        AllocInfo& owner = program_.allocs[first->second];
        alloc.storage = first->second;
        alloc.view = static_cast<std::uint8_t>(number - first->second);
        owner.bytes = std::max(owner.bytes, alloc.bytes);
      }
    }
    if (alloc.type.space == ir::Space::barrier) {
      alloc.first_barrier = program_.barriers_per_block;
      program_.barriers_per_block += static_cast<std::uint32_t>(alloc.elements);
    }
    alloc.global = inst.attrs.flag(ir::Attr::global);
    if (alloc.type.space == ir::Space::semaphore && alloc.global) program_.orders_blocks = true;
    if (alloc.type.space == ir::Space::tmem) program_.unsupported = "tensor memory cannot be interpreted yet";
    program_.allocs.push_back(alloc);
  }

  void flatten_subview(const ir::Inst& inst) {
    ViewDetail view;
    view.source = program_.slot(inst.operands[0]).at;
    view.result = program_.slot(inst.results[0]).at;
    const std::size_t rank = inst.operands.size() - 1;
    for (std::size_t a = 0; a < rank; ++a) view.starts.push_back(program_.slot(inst.operands[a + 1]).at);
    view.sizes = inst.attrs.integers(ir::Attr::sizes);
    view.sizes.resize(rank, -1);
    view.squeezed.assign(rank, false);
    for (const std::int64_t a : inst.attrs.integers(ir::Attr::squeeze))
      view.squeezed[static_cast<std::size_t>(a)] = true;
    emit(handler_of(inst.op), inst, program_.views.size());
    program_.views.push_back(std::move(view));
  }

  void flatten_copy(const ir::Inst& inst) {
    CopyDetail copy;
    copy.source = program_.slot(inst.operands[0]).at;
    copy.target = program_.slot(inst.operands[1]).at;
    if (inst.operands.size() > 2) copy.barrier = program_.slot(inst.operands[2]).at;
    const std::string_view oob = inst.attrs.text(ir::Attr::oob);
    copy.oob = oob == "zero"        ? OutOfBounds::zero
               : oob == "nan"       ? OutOfBounds::nan
               : oob == "undefined" ? OutOfBounds::undefined
                                    : OutOfBounds::error;
    for (const std::int64_t a : inst.attrs.integers(ir::Attr::axes)) copy.axes.push_back(static_cast<int>(a));
    if (inst.attrs.has(ir::Attr::partition)) copy.partition = static_cast<int>(inst.attrs.integer(ir::Attr::partition));
    copy.reduce = inst.attrs.text(ir::Attr::reduce);
    if (!copy.reduce.empty()) program_.has_atomics = true;
    copy.commit = inst.attrs.flag(ir::Attr::commit);
    emit(handler_of(inst.op), inst, program_.copies.size());
    program_.copies.push_back(std::move(copy));
  }

  Program& program_;
  const ir::Kernel& kernel_;
  std::vector<Instr>* code_ = nullptr;
  ir::Inst end_;
  std::vector<Loop> loops_, blocks_;
  std::vector<std::uint32_t> scopes_;
};

}  // namespace

ProgramPtr prepare(ir::Kernel kernel) {
  auto* program = new Program;
  program->kernel = std::move(kernel);
  plan_frame(*program);
  Flattener(*program).run();
  return ProgramPtr(program);
}

void ProgramDeleter::operator()(const Program* program) const { delete program; }

}  // namespace pk::interp
