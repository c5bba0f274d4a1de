#include "shared_offsets.h"

#include <numeric>

namespace pk::codegen {

SharedOffsets::SharedOffsets(const Root& root)
    : root_(root),
      rank_(root.static_extents.size()),
      element_bytes_(ir::byte_size(root.dtype)),
      panel_(root.layout.panel_bytes),
      strides_(rank_, element_bytes_) {
  for (std::size_t i = rank_; i-- > 1;) strides_[i - 1] = strides_[i] * root.static_extents[i];
}

std::int64_t SharedOffsets::of(const Coords& coords) const {
  std::int64_t offset = 0;
  const std::size_t plain = panel_ == 0 ? rank_ : rank_ - 2;
  for (std::size_t i = 0; i < plain; ++i) offset += coords[i] * strides_[i];
  if (panel_ == 0) return offset;
  const std::int64_t column = coords[rank_ - 1] * element_bytes_;
  const std::int64_t rows = root_.static_extents[rank_ - 2];
  return offset + column / panel_ * rows * panel_ + coords[rank_ - 2] * panel_ + column % panel_;
}

llvm::Value* SharedOffsets::of(Lowering& l, const std::vector<llvm::Value*>& coords) const {
  Builder& b = l.b();
  llvm::Value* offset = l.i32(0);
  const std::size_t plain = panel_ == 0 ? rank_ : rank_ - 2;
  for (std::size_t i = 0; i < plain; ++i) offset = b.CreateAdd(offset, b.CreateMul(coords[i], l.i32(strides_[i])));
  if (panel_ == 0) return offset;
  llvm::Value* column = b.CreateMul(coords[rank_ - 1], l.i32(element_bytes_));
  llvm::Value* in_panel = b.CreateURem(column, l.i32(panel_));
  const std::int64_t rows = root_.static_extents[rank_ - 2];
  llvm::Value* panels = b.CreateMul(b.CreateUDiv(column, l.i32(panel_)), l.i32(rows * panel_));
  llvm::Value* row = b.CreateMul(coords[rank_ - 2], l.i32(panel_));
  return b.CreateAdd(offset, b.CreateAdd(panels, b.CreateAdd(row, in_panel)));
}

llvm::Value* SharedOffsets::start(Lowering& l, const Ref& ref) const {
  std::vector<llvm::Value*> starts;
  for (llvm::Value* s : ref.starts) starts.push_back(l.narrow(s));
  return of(l, starts);
}

bool SharedOffsets::starts_panel(const Ref& ref) const {
  return panel_ == 0 || ref.start_divisors[rank_ - 1] * element_bytes_ % panel_ == 0;
}

std::int64_t SharedOffsets::start_divisor(const Ref& ref) const {
  std::int64_t divisor = 0;
  for (std::size_t i = 0; i < rank_; ++i) {
    // A step of one row or element, or of a whole panel along the last axis.
    const std::int64_t step = i == rank_ - 1 && panel_ > 0 ? panel_ / element_bytes_ : 1;
    Coords one(rank_, 0);
    one[i] = step;
    divisor = std::gcd(divisor, ref.start_divisors[i] / step * of(one));
  }
  return divisor;
}

}  // namespace pk::codegen
