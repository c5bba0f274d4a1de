// The machine under a pk thread: lanes, warps, barriers, elections, shared addresses, inline PTX.

#include <fmt/format.h>

#include "lowering.h"

namespace pk::codegen {

llvm::Value* Lowering::assembly(const std::string& text, const std::string& constraints,
                                llvm::ArrayRef<llvm::Value*> args, llvm::Type* result) {
  std::vector<llvm::Type*> types;
  for (llvm::Value* arg : args) types.push_back(arg->getType());
  llvm::Type* returned = result == nullptr ? b().getVoidTy() : result;
  llvm::FunctionType* signature = llvm::FunctionType::get(returned, types, false);
  const std::string all = constraints.empty() ? "~{memory}" : constraints + ",~{memory}";
  llvm::CallInst* call = b().CreateCall(signature, llvm::InlineAsm::get(signature, text, all, true), args);
  // Without `convergent` a barrier could be copied into both arms of a branch.
  call->addFnAttr(llvm::Attribute::Convergent);
  call->addFnAttr(llvm::Attribute::NoUnwind);
  return call;
}

llvm::Value* Lowering::pure_assembly(const std::string& text, const std::string& constraints,
                                     llvm::ArrayRef<llvm::Value*> args, llvm::Type* result) {
  std::vector<llvm::Type*> types;
  for (llvm::Value* arg : args) types.push_back(arg->getType());
  llvm::FunctionType* signature = llvm::FunctionType::get(result, types, false);
  llvm::CallInst* call = b().CreateCall(signature, llvm::InlineAsm::get(signature, text, constraints, false), args);
  call->addFnAttr(llvm::Attribute::NoUnwind);
  call->addFnAttr(llvm::Attribute::WillReturn);
  call->setDoesNotAccessMemory();
  return call;
}

void Lowering::read_hardware() {
  const auto special = [&](llvm::Intrinsic::ID id) { return entry_.CreateIntrinsic(id, {}, {}); };
  llvm::Value* tid = special(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x);
  // Through a shuffle the assembler sees that the number is the same in all lanes of a warp.
  llvm::Value* warp = entry_.CreateIntrinsic(
      llvm::Intrinsic::nvvm_shfl_sync_idx_i32, {},
      {entry_.getInt32(~0U), entry_.CreateLShr(tid, 5), entry_.getInt32(0), entry_.getInt32(31)});
  lane_ = entry_.CreateAnd(tid, lane_count - 1, "lane");
  warp_ = entry_.CreateAnd(warp, 3, "warp");
  thread_ = kernel_.thread_count() == 1 ? static_cast<llvm::Value*>(entry_.getInt32(0))
                                        : entry_.CreateLShr(warp, 2, "thread");
  first_lane_ = entry_.CreateICmpEQ(lane_, entry_.getInt32(0), "first_lane");
  decode_coordinates();
}

void Lowering::decode_coordinates() {
  using Kind = ir::MeshAxis::Kind;
  coordinates_.assign(kernel_.axes.size(), nullptr);
  llvm::Value* block = entry_.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, {}, {});
  rank_ = entry_.getInt32(0);
  if (kernel_.cluster_size() > 1) {
    rank_ = entry_.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_cluster_ctarank, {}, {});
    block = entry_.CreateUDiv(block, entry_.getInt32(static_cast<std::uint32_t>(kernel_.cluster_size())));
  }
  // The last axis of a kind varies fastest.
  const auto split = [&](Kind kind, llvm::Value* number) {
    int left = 0;
    for (const ir::MeshAxis& axis : kernel_.axes) left += axis.kind == kind ? 1 : 0;
    for (std::size_t i = kernel_.axes.size(); i-- > 0;) {
      if (kernel_.axes[i].kind != kind) continue;
      llvm::Value* size = entry_.CreateTrunc(extents_[i], entry_.getInt32Ty());
      const bool last = --left == 0;
      llvm::Value* mine = last ? number : entry_.CreateURem(number, size);
      coordinates_[i] = entry_.CreateZExt(mine, entry_.getInt64Ty(), kernel_.axes[i].name);
      if (!last) number = entry_.CreateUDiv(number, size);
    }
  };
  split(Kind::grid, block);
  split(Kind::cluster, rank_);
  split(Kind::wg, thread_);
}

llvm::Value* Lowering::coordinate(std::size_t mesh_axis) { return coordinates_[mesh_axis]; }
llvm::Value* Lowering::extent(std::size_t mesh_axis) { return extents_[mesh_axis]; }
llvm::Value* Lowering::rank_in_cluster() { return rank_; }

llvm::Value* Lowering::lane_coordinate(const std::vector<std::int64_t>& contributions) {
  const auto known = lane_coordinates_.find(contributions);
  if (known != lane_coordinates_.end()) return known->second;
  llvm::Value* sum = nullptr;
  for (std::size_t bit = 0; bit < contributions.size();) {
    if (contributions[bit] == 0) {
      ++bit;
      continue;
    }
    // Bits that keep their distance are moved together.
    std::size_t end = bit + 1;
    while (end < contributions.size() && contributions[end] == contributions[end - 1] * 2) ++end;
    const std::uint32_t mask = (1U << (end - bit)) - 1;
    llvm::Value* part = entry_.CreateAnd(entry_.CreateLShr(lane_, bit), mask);
    part = entry_.CreateMul(part, entry_.getInt32(static_cast<std::uint32_t>(contributions[bit])));
    sum = sum == nullptr ? part : entry_.CreateAdd(sum, part);
    bit = end;
  }
  if (sum == nullptr) sum = entry_.getInt32(0);
  lane_coordinates_[contributions] = sum;
  return sum;
}

void Lowering::meet_lanes() {
  pending_ = {};
  if (kernel_.thread_count() == 1) {
    assembly("bar.sync 0, 128;", "", {});
  } else if (threads_.size() == 1) {
    assembly(fmt::format("bar.sync {}, 128;", threads_[0] + 1), "", {});
  } else {
    assembly("bar.sync $0, 128;", "r", {b().CreateAdd(thread_, i32(1))});
  }
}

void Lowering::meet_block() {
  pending_ = {};
  assembly(fmt::format("bar.sync 0, {};", kernel_.thread_count() * lane_count), "", {});
}

void Lowering::meet_cluster() {
  pending_ = {};
  assembly("barrier.cluster.arrive;", "", {});
  assembly("barrier.cluster.wait;", "", {});
}

void Lowering::when(llvm::Value* condition, const std::function<void()>& body) {
  llvm::BasicBlock* inside = new_block("then");
  llvm::BasicBlock* after = new_block("after");
  b().CreateCondBr(condition, inside, after);
  b().SetInsertPoint(inside);
  body();
  b().CreateBr(after);
  b().SetInsertPoint(after);
}

void Lowering::first_warp(const std::function<void()>& body) { when(b().CreateICmpEQ(warp_, i32(0)), body); }

void Lowering::one_lane(const std::function<void()>& body) {
  first_warp([&] { when(assembly("elect.sync _|$0, 0xffffffff;", "=b", {}, b().getInt1Ty()), body); });
}

llvm::Value* Lowering::shared_pointer(llvm::Value* offset) { return b().CreateGEP(b().getInt8Ty(), shared_, offset); }

llvm::Value* Lowering::shared_address(llvm::Value* offset) {
  return b().CreateAdd(b().CreatePtrToInt(shared_, b().getInt32Ty()), offset);
}

llvm::Value* Lowering::remote_address(llvm::Value* address, llvm::Value* rank) {
  return pure_assembly("mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r", {address, rank}, b().getInt32Ty());
}

}  // namespace pk::codegen
