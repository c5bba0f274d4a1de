// Control flow: conditions are the same in all lanes of a pk thread, so branches are plain branches.

#include <fmt/format.h>

#include <algorithm>

#include "lowering.h"

namespace pk::codegen {

using ir::Attr;
using ir::Op;

llvm::BasicBlock* Lowering::new_block(const char* name) {
  return llvm::BasicBlock::Create(module_.getContext(), name, function_);
}

void Lowering::go_to(llvm::BasicBlock* block) {
  b().CreateBr(block);
  b().SetInsertPoint(block);
}

// What follows a jump in its region cannot be reached; LLVM drops the block.
void Lowering::lower_jump(const ir::Inst& inst) {
  llvm::BasicBlock* target = nullptr;
  if (inst.op == Op::break_) target = loops_.back().end;
  if (inst.op == Op::continue_) target = loops_.back().next;
  if (inst.op == Op::exit_block) target = block_ends_.back();
  if (target == nullptr) return;  // a `yield`, which the region's owner reads
  b().CreateBr(target);
  b().SetInsertPoint(new_block("unreachable"));
}

void Lowering::lower_if(const ir::Inst& inst) {
  llvm::BasicBlock* then = new_block("if");
  llvm::BasicBlock* otherwise = new_block("else");
  llvm::BasicBlock* end = new_block("endif");
  b().CreateCondBr(scalar(inst.operands[0]), then, otherwise);
  const Pending before = pending_;
  b().SetInsertPoint(then);
  lower_region(inst.regions[0]);
  b().CreateBr(end);
  Pending after = pending_;
  pending_ = before;
  b().SetInsertPoint(otherwise);
  lower_region(inst.regions[1]);
  go_to(end);
  pending_.merge(after);
}

// Hot loops stay rolled unless the program asks otherwise: unrolling by the assembler costs registers and, with MMAs,
// overlap.
static void set_unrolling(llvm::BranchInst* branch, bool unroll) {
  llvm::LLVMContext& context = branch->getContext();
  llvm::MDNode* hint = llvm::MDNode::get(
      context, llvm::MDString::get(context, unroll ? "llvm.loop.unroll.full" : "llvm.loop.unroll.disable"));
  llvm::MDNode* loop = llvm::MDNode::getDistinct(context, {nullptr, hint});
  loop->replaceOperandWith(0, loop);
  branch->setMetadata(llvm::LLVMContext::MD_loop, loop);
}

void Lowering::lower_for(const ir::Inst& inst) {
  const ir::Value counter = inst.regions[0].args[0];
  const ir::Dtype dtype = type(counter).dtype;
  const bool is_signed = ir::is_signed(dtype);
  // Counted in 64 bits, so that the last step of a narrow counter does not wrap.
  const auto widen = [&](ir::Value v) {
    return is_signed ? b().CreateSExt(scalar(v), b().getInt64Ty()) : b().CreateZExt(scalar(v), b().getInt64Ty());
  };
  llvm::Value* low = widen(inst.operands[0]);
  llvm::Value* high = widen(inst.operands[1]);
  llvm::Value* step = widen(inst.operands[2]);
  llvm::BasicBlock* head = new_block("for");
  llvm::BasicBlock* body = new_block("body");
  llvm::BasicBlock* next = new_block("next");
  llvm::BasicBlock* end = new_block("endfor");
  llvm::BasicBlock* before = b().GetInsertBlock();
  pending_.merge(accesses_of(inst.regions[0]));
  const Pending any_time = pending_;
  go_to(head);
  llvm::PHINode* i = b().CreatePHI(b().getInt64Ty(), 2, "i");
  i->addIncoming(low, before);
  b().CreateCondBr(is_signed ? b().CreateICmpSLT(i, high) : b().CreateICmpULT(i, high), body, end);
  b().SetInsertPoint(body);
  set(counter, b().CreateTrunc(i, llvm_type(dtype)));
  loops_.push_back({next, end});
  lower_region(inst.regions[0]);
  loops_.pop_back();
  go_to(next);
  i->addIncoming(b().CreateAdd(i, step, "", !is_signed, is_signed), next);
  set_unrolling(b().CreateBr(head), inst.attrs.flag(Attr::unroll));
  b().SetInsertPoint(end);
  pending_.merge(any_time);
}

void Lowering::lower_while(const ir::Inst& inst) {
  llvm::BasicBlock* head = new_block("while");
  llvm::BasicBlock* body = new_block("body");
  llvm::BasicBlock* next = new_block("next");
  llvm::BasicBlock* end = new_block("endwhile");
  pending_.merge(accesses_of(inst.regions[0]));
  pending_.merge(accesses_of(inst.regions[1]));
  const Pending any_time = pending_;
  go_to(head);
  loops_.push_back({next, end});
  lower_region(inst.regions[0]);
  b().CreateCondBr(scalar(inst.regions[0].insts.back().operands[0]), body, end);
  b().SetInsertPoint(body);
  pending_.merge(any_time);
  lower_region(inst.regions[1]);
  loops_.pop_back();
  go_to(next);
  set_unrolling(b().CreateBr(head), false);
  b().SetInsertPoint(end);
  pending_.merge(any_time);
}

void Lowering::lower_block(const ir::Inst& inst) {
  llvm::BasicBlock* end = new_block("endblock");
  Pending any_time = pending_;
  any_time.merge(accesses_of(inst.regions[0]));
  block_ends_.push_back(end);
  lower_region(inst.regions[0]);
  block_ends_.pop_back();
  go_to(end);
  pending_.merge(any_time);
}

void Lowering::lower_specialize(const ir::Inst& inst) {
  const std::vector<std::int64_t>& arms = inst.attrs.integers(Attr::arms);
  const std::vector<std::int64_t>& registers = inst.attrs.integers(Attr::registers);
  // What a thread starts with (PTX ISA, setmaxnreg): the pool by the lanes, in steps of 8, at most 248.
  const std::int64_t lanes = kernel_.thread_count() * lane_count;
  const std::int64_t entry = std::min<std::int64_t>(options_.target.register_pool / lanes / 8 * 8, 248);
  llvm::BasicBlock* end = new_block("endspecialize");
  const std::vector<int> all = threads_;
  const Pending before = pending_;
  Pending after;
  llvm::BasicBlock* nowhere = new_block("unreachable");
  llvm::SwitchInst* branch = b().CreateSwitch(thread_, nowhere, static_cast<unsigned>(arms.size()));
  b().SetInsertPoint(nowhere);
  b().CreateUnreachable();
  for (std::size_t a = 0; a < inst.regions.size(); ++a) {
    threads_.clear();
    llvm::BasicBlock* block = new_block("arm");
    for (const int t : all) {
      if (arms[static_cast<std::size_t>(t)] != static_cast<std::int64_t>(a)) continue;
      threads_.push_back(t);
      branch->addCase(llvm::cast<llvm::ConstantInt>(i32(t)), block);
    }
    if (threads_.empty()) {
      block->eraseFromParent();
      continue;
    }
    b().SetInsertPoint(block);
    pending_ = before;
    if (a < registers.size() && registers[a] != 0 && registers[a] != entry) {
      assembly(fmt::format("setmaxnreg.{}.sync.aligned.u32 {};", registers[a] > entry ? "inc" : "dec", registers[a]),
               "", {});
    }
    lower_region(inst.regions[a]);
    after.merge(pending_);
    b().CreateBr(end);
  }
  threads_ = all;
  pending_ = after;
  b().SetInsertPoint(end);
}

}  // namespace pk::codegen
