// Views of refs: no code but arithmetic on where they start.

#include <numeric>

#include "lowering.h"
#include "shared_offsets.h"

namespace pk::codegen {

using ir::Attr;
using ir::Op;
using ir::Space;

void Lowering::lower_view(const ir::Inst& inst) {
  const Ref from = ref(inst.operands[0]);
  switch (inst.op) {
    case Op::subview:
      return set(inst.results[0], part_of(from, inst));
    case Op::ref_transpose: {
      Ref result = from;
      std::swap(result.axes[0], result.axes[1]);
      return set(inst.results[0], std::move(result));
    }
    case Op::ref_reshape:
      return set(inst.results[0], reshaped_ref(from, inst));
    default: {  // peer, the last view
      Ref result = from;
      result.peer = rank_of_peer(inst.attrs.integers(Attr::axes), llvm::ArrayRef(inst.operands).drop_front());
      remote_arrivals_ = true;
      return set(inst.results[0], std::move(result));
    }
  }
}

Ref Lowering::part_of(const Ref& from, const ir::Inst& inst) {
  const std::vector<std::int64_t>& sizes = inst.attrs.integers(Attr::sizes);
  const std::vector<std::int64_t>& squeeze = inst.attrs.integers(Attr::squeeze);
  Ref result{from.root, {}, from.starts, from.start_divisors, from.peer};
  for (std::size_t i = 0; i < from.axes.size(); ++i) {
    const RefAxis& axis = from.axes[i];
    const ir::Value start = inst.operands[i + 1];
    llvm::Value*& at = result.starts[axis.root_axis];
    at = b().CreateAdd(at, scalar(start));
    std::int64_t& divisor = result.start_divisors[axis.root_axis];
    divisor = std::gcd(divisor, divisors_.of(start));
    if (std::find(squeeze.begin(), squeeze.end(), static_cast<std::int64_t>(i)) != squeeze.end()) continue;
    RefAxis mine{axis.root_axis, sizes[i], i64(sizes[i])};
    if (sizes[i] < 0) mine.length = b().CreateSub(axis.length, scalar(start));
    result.axes.push_back(mine);
  }
  return result;
}

// A contiguous part of memory becomes a root of its own, in plain rows.
Ref Lowering::reshaped_ref(const Ref& from, const ir::Inst& inst) {
  const Root& old = *from.root;
  const ir::Shape& shape = type(inst.results[0]).shape;
  Root& root = roots_.emplace_back(old);
  root.whole = false;
  const std::int64_t bytes = ir::byte_size(old.dtype);
  if (old.space == Space::gmem) {
    llvm::Value* offset = i64(0);
    llvm::Value* stride = i64(bytes);
    std::int64_t stride_divisor = bytes;
    for (std::size_t i = old.extents.size(); i-- > 0;) {
      offset = b().CreateAdd(offset, b().CreateMul(from.starts[i], stride));
      root.alignment = std::gcd(root.alignment, std::gcd(from.start_divisors[i], std::int64_t{16}) * stride_divisor);
      stride = b().CreateMul(stride, old.extents[i]);
      stride_divisor = std::gcd(stride_divisor * std::gcd(old.extent_divisors[i], std::int64_t{16}), std::int64_t{16});
    }
    root.pointer = b().CreateGEP(b().getInt8Ty(), old.pointer, offset);
  } else if (old.space == Space::smem) {
    const SharedOffsets offsets(old);
    root.offset = b().CreateAdd(old.offset, offsets.start(*this, from));
    root.alignment = std::gcd(root.alignment, offsets.start_divisor(from));
  } else {
    unsupported(inst, "a reshaped accumulator or barrier");
  }
  llvm::Value* total = i64(1);
  for (const RefAxis& axis : from.axes) total = b().CreateMul(total, axis.length);
  std::int64_t known = 1;
  int unknown = 0;
  for (const std::int64_t extent : shape) {
    if (extent < 0) ++unknown;
    known *= extent < 0 ? 1 : extent;
  }
  if (unknown > 1) unsupported(inst, "a reshape with more than one extent that is known at run time");
  root.extents.clear();
  root.static_extents = shape;
  root.extent_divisors.clear();
  Ref result{&root, {}, {}, {}, from.peer};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool dynamic = shape[i] < 0;
    root.extents.push_back(dynamic ? b().CreateSDiv(total, i64(std::max<std::int64_t>(known, 1))) : i64(shape[i]));
    root.extent_divisors.push_back(dynamic ? 1 : shape[i]);
    result.axes.push_back({i, shape[i], root.extents.back()});
    result.starts.push_back(i64(0));
    result.start_divisors.push_back(0);
  }
  return result;
}

// Ranks number the cluster's blocks with the last axis fastest.
llvm::Value* Lowering::rank_of_peer(const std::vector<std::int64_t>& axes, llvm::ArrayRef<ir::Value> coordinates) {
  llvm::Value* rank = rank_in_cluster();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    llvm::Value* distance = b().CreateSub(scalar(coordinates[i]), coordinate(axis));
    rank = b().CreateAdd(rank, b().CreateMul(narrow(distance), i32(cluster_stride(axis))));
  }
  return rank;
}

std::int64_t Lowering::cluster_stride(std::size_t axis) const {
  std::int64_t stride = 1;
  for (std::size_t i = axis + 1; i < kernel_.axes.size(); ++i) {
    if (kernel_.axes[i].kind == ir::MeshAxis::Kind::cluster) stride *= kernel_.axes[i].size;
  }
  return stride;
}

}  // namespace pk::codegen
