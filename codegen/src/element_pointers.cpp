#include "element_pointers.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "shared_offsets.h"

namespace pk::codegen {
namespace {

constexpr int widest_access = 16;
/// The swizzle exchanges bits within blocks of this size; panels start at multiples of it.
constexpr std::int64_t swizzle_block = 1024;

/// 128-byte swizzle: address bits 4-6 are exchanged with bits 7-9; 64: bits 4-5 with 7-8; 32: bit 4 with bit 7.
std::int64_t exchange_mask(int swizzle) { return swizzle - 16; }
std::int64_t exchanged(std::int64_t offset, int swizzle) {
  return swizzle == 0 ? offset : offset ^ ((offset >> 3) & exchange_mask(swizzle));
}

}  // namespace

ElementPointers::ElementPointers(Lowering& lowering, const Ref& ref, const Layout& layout)
    : l_(lowering), ref_(ref), layout_(layout), element_bytes_(ir::byte_size(ref.root->dtype)) {
  if (ref.root->space == ir::Space::gmem) {
    prepare_global();
  } else {
    prepare_shared();
  }
  find_vector();
}

Coords ElementPointers::to_root(const Coords& view) const {
  Coords root(ref_.starts.size(), 0);
  for (std::size_t i = 0; i < ref_.axes.size(); ++i) root[ref_.axes[i].root_axis] += view[i];
  return root;
}

llvm::Value* ElementPointers::lane_part(std::size_t root_axis) {
  std::vector<std::int64_t> contributions;
  for (const Coords& basis : layout_.lanes) contributions.push_back(to_root(basis)[root_axis]);
  return l_.lane_coordinate(contributions);
}

std::int64_t ElementPointers::stride_divisor(std::size_t root_axis) const {
  const Root& root = *ref_.root;
  constexpr std::int64_t enough = std::int64_t{1} << 20;
  std::int64_t divisor = 1;
  for (std::size_t i = root_axis + 1; i < root.extents.size(); ++i) {
    divisor = std::gcd(divisor * std::gcd(root.extent_divisors[i], enough), enough);
  }
  return divisor;
}

void ElementPointers::find_vector() {
  const Root& root = *ref_.root;
  if (root.extents.empty() || ref_.peer != nullptr) return;
  const std::size_t last = root.extents.size() - 1;
  int vector = 1;
  for (const Coords& basis : layout_.registers) {
    Coords wanted(root.extents.size(), 0);
    wanted[last] = vector;
    if (to_root(basis) != wanted || vector * 2 * element_bytes_ > widest_access) break;
    vector *= 2;
  }
  const auto fits = [&](std::int64_t v) {
    const std::int64_t bytes = v * element_bytes_;
    if (root.alignment % bytes != 0 || ref_.start_divisors[last] % v != 0) return false;
    for (const RefAxis& axis : ref_.axes) {
      if (axis.root_axis == last && axis.extent % v != 0) return false;
    }
    for (std::size_t i = 0; i < last; ++i) {
      const bool moves = ref_.start_divisors[i] != 0 || std::any_of(ref_.axes.begin(), ref_.axes.end(),
                                                                    [&](const RefAxis& a) { return a.root_axis == i; });
      if (moves && stride_divisor(i) * element_bytes_ % bytes != 0) return false;
    }
    return true;
  };
  while (vector > 1 && !fits(vector)) vector /= 2;
  vector_ = vector;
}

void ElementPointers::prepare_global() {
  Builder& b = l_.b();
  const Root& root = *ref_.root;
  const std::size_t rank = root.extents.size();
  strides_.assign(rank, nullptr);
  llvm::Value* stride = l_.i64(element_bytes_);
  for (std::size_t i = rank; i-- > 0;) {
    strides_[i] = stride;
    if (i > 0) stride = b.CreateMul(stride, root.extents[i]);
  }
  llvm::Value* start = l_.i64(0);
  llvm::Value* lanes = l_.i64(0);
  for (std::size_t i = 0; i < rank; ++i) {
    start = b.CreateAdd(start, b.CreateMul(ref_.starts[i], strides_[i]));
    lanes = b.CreateAdd(lanes, b.CreateMul(b.CreateZExt(lane_part(i), b.getInt64Ty()), strides_[i]));
  }
  base_ = b.CreateGEP(b.getInt8Ty(), b.CreateGEP(b.getInt8Ty(), root.pointer, start), lanes);
}

void ElementPointers::prepare_shared() {
  Builder& b = l_.b();
  const Root& root = *ref_.root;
  const SharedOffsets offsets(root);
  // The parts of starts, lanes and registers can be computed apart when none carries into another within a panel's
  // row, and each moves whole blocks of the swizzle or stays within one.
  bool apart =
      offsets.starts_panel(ref_) && (root.layout.swizzle == 0 || offsets.start_divisor(ref_) % swizzle_block == 0);
  std::vector<std::int64_t> low(layout_.lanes.size(), 0), high(layout_.lanes.size(), 0);
  const auto sort = [&](const Coords& basis, std::int64_t& in_block, std::int64_t& blocks) {
    const std::int64_t offset = offsets.of(to_root(basis));
    if (root.layout.swizzle == 0 || offset % swizzle_block == 0) {
      blocks = offset;
    } else if (offset < swizzle_block && std::has_single_bit(static_cast<std::uint64_t>(offset))) {
      in_block = offset;
    } else {
      apart = false;
    }
  };
  for (std::size_t bit = 0; bit < layout_.lanes.size(); ++bit) sort(layout_.lanes[bit], low[bit], high[bit]);
  for (const Coords& basis : layout_.registers) {
    std::int64_t in_block = 0, blocks = 0;
    sort(basis, in_block, blocks);
  }
  split_ = apart;
  if (!apart) return;
  llvm::Value* start = offsets.start(l_, ref_);
  base_ = b.CreateAdd(b.CreateAdd(root.offset, start), l_.lane_coordinate(high));
  if (root.layout.swizzle == 0) return;
  llvm::Value* lanes = l_.lane_coordinate(low);
  low_ = b.CreateXor(lanes, b.CreateAnd(b.CreateLShr(lanes, 3), l_.i32(exchange_mask(root.layout.swizzle))));
}

llvm::Value* ElementPointers::operator()(int reg) {
  Builder& b = l_.b();
  const Root& root = *ref_.root;
  const Coords more = to_root(layout_.register_part(reg));
  if (root.space == ir::Space::gmem) {
    llvm::Value* offset = l_.i64(0);
    for (std::size_t i = 0; i < more.size(); ++i) {
      if (more[i] != 0) offset = b.CreateAdd(offset, b.CreateMul(strides_[i], l_.i64(more[i])));
    }
    return b.CreateGEP(b.getInt8Ty(), base_, offset);
  }
  llvm::Value* offset = nullptr;
  if (split_) {
    const std::int64_t mine = SharedOffsets(root).of(more);
    offset = base_;
    if (low_ != nullptr) {
      const std::int64_t in_block = exchanged(mine % swizzle_block, root.layout.swizzle);
      offset = b.CreateAdd(offset, b.CreateXor(low_, l_.i32(in_block)));
    }
    const std::int64_t rest = low_ != nullptr ? mine / swizzle_block * swizzle_block : mine;
    offset = b.CreateAdd(offset, l_.i32(rest));
  } else {
    std::vector<llvm::Value*> coords;
    for (std::size_t i = 0; i < more.size(); ++i)
      coords.push_back(b.CreateAdd(b.CreateAdd(l_.narrow(ref_.starts[i]), lane_part(i)), l_.i32(more[i])));
    offset = SharedOffsets(root).of(l_, coords);
    if (root.layout.swizzle != 0)
      offset = b.CreateXor(offset, b.CreateAnd(b.CreateLShr(offset, 3), l_.i32(exchange_mask(root.layout.swizzle))));
    offset = b.CreateAdd(root.offset, offset);
  }
  if (ref_.peer != nullptr) return l_.remote_address(l_.shared_address(offset), ref_.peer);
  return l_.shared_pointer(offset);
}

llvm::Value* ElementPointers::in_bounds(int reg) {
  Builder& b = l_.b();
  const Coords more = to_root(layout_.register_part(reg));
  llvm::Value* all = nullptr;
  for (std::size_t i = 0; i < more.size(); ++i) {
    llvm::Value* at =
        b.CreateAdd(ref_.starts[i], b.CreateZExt(b.CreateAdd(lane_part(i), l_.i32(more[i])), b.getInt64Ty()));
    // Compared without sign: a negative coordinate is outside, too.
    llvm::Value* good = b.CreateICmpULT(at, ref_.root->extents[i]);
    all = all == nullptr ? good : b.CreateAnd(all, good);
  }
  return all == nullptr ? b.getTrue() : all;
}

}  // namespace pk::codegen
