// Reductions and running sums along an axis: first the registers of a lane, then the lanes of a warp by shuffles, then
// the warps through scratch memory. The order depends on the layout alone, so that results repeat.

#include <algorithm>

#include "lowering.h"
#include "pk/ir/numerics.h"

namespace pk::codegen {
namespace {

using ir::Attr;
using ir::Dtype;
using ir::Op;

struct Reducer {
  Op step;     ///< combines two
  Dtype work;  ///< in this type
  ir::Scalar start;
};

Reducer reducer(Op op, Dtype dtype) {
  const bool small = ir::is_floating(dtype) && dtype != Dtype::f32 && dtype != Dtype::f64;
  const bool sums = op == Op::reduce_sum || op == Op::reduce_prod || op == Op::cumsum;
  Dtype work = dtype;
  if (sums && small) work = Dtype::f32;
  if (sums && dtype == Dtype::boolean) work = Dtype::i32;
  switch (op) {
    case Op::reduce_prod:
      return {Op::mul, work, ir::Scalar::of_int(work, 1)};
    case Op::reduce_min:
      return {Op::min, work, ir::highest(work)};
    case Op::reduce_max:
      return {Op::max, work, ir::lowest(work)};
    case Op::reduce_any:
      return {Op::bit_or, work, ir::Scalar::of_int(work, 0)};
    case Op::reduce_all:
      return {Op::bit_and, work, ir::Scalar::of_int(work, 1)};
    default:  // sums
      return {Op::add, work, ir::Scalar::of_int(work, 0)};
  }
}

std::int64_t row_major(const Coords& coords, const ir::Shape& shape) {
  std::int64_t n = 0;
  for (std::size_t i = 0; i < coords.size(); ++i) n = n * shape[i] + coords[i];
  return n;
}

}  // namespace

// 64-bit values travel in two halves, narrow ones in 32 bits.
static llvm::Value* shuffle(Lowering& l, llvm::Value* value, llvm::Intrinsic::ID how, int operand, int clamp) {
  Builder& b = l.b();
  llvm::Type* type = value->getType();
  const unsigned width = type->getScalarSizeInBits();
  llvm::Value* bits = b.CreateBitCast(value, b.getIntNTy(width));
  const auto move = [&](llvm::Value* word) {
    return b.CreateIntrinsic(how, {}, {b.getInt32(~0U), word, l.i32(operand), l.i32(clamp)});
  };
  if (width == 64) {
    llvm::Value* low = move(b.CreateTrunc(bits, b.getInt32Ty()));
    llvm::Value* high = move(b.CreateTrunc(b.CreateLShr(bits, 32), b.getInt32Ty()));
    bits = b.CreateOr(b.CreateZExt(low, b.getInt64Ty()), b.CreateShl(b.CreateZExt(high, b.getInt64Ty()), 32));
  } else {
    bits = b.CreateTrunc(move(b.CreateZExt(bits, b.getInt32Ty())), b.getIntNTy(width));
  }
  return b.CreateBitCast(bits, type);
}

llvm::Value* Lowering::exchange(llvm::Value* value, int bits) {
  return shuffle(*this, value, llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, bits, 31);
}

llvm::Value* Lowering::from_lane_below(llvm::Value* value, int by) {
  return shuffle(*this, value, llvm::Intrinsic::nvvm_shfl_sync_up_i32, by, 0);
}

void Lowering::lower_reduction(const ir::Inst& inst) {
  const ir::Value result = inst.results[0];
  const Tile& from = tile(inst.operands[0]);
  const Layout& layout = from.layout;
  const auto axis = static_cast<std::size_t>(inst.attrs.integer(Attr::axis));
  const Reducer how = reducer(inst.op, from.dtype);
  llvm::Value* start = constant(how.work, how.start.as_double(), how.start.as_int());
  const auto step = [&](llvm::Value* x, llvm::Value* y) { return binary(how.step, how.work, x, y); };
  // Registers: those of one result are combined as a tree.
  Tile out{how.work, without_axis(layout, axis), {}};
  std::map<std::int64_t, std::vector<llvm::Value*>> parts;
  for (int reg = 0; reg < layout.register_count(); ++reg) {
    if (!layout.exists(reg)) continue;
    Coords coords = layout.register_part(reg);
    coords.erase(coords.begin() + static_cast<std::ptrdiff_t>(axis));
    llvm::Value* value = cast_value(from.registers[static_cast<std::size_t>(reg)], from.dtype, how.work);
    if (llvm::Value* good = inside(layout, reg)) value = b().CreateSelect(good, value, start);
    parts[row_major(coords, out.layout.shape)].push_back(value);
  }
  for (int reg = 0; reg < out.layout.register_count(); ++reg) {
    std::vector<llvm::Value*>& list = parts[row_major(out.layout.register_part(reg), out.layout.shape)];
    if (list.empty()) list.push_back(start);
    while (list.size() > 1) {
      std::vector<llvm::Value*> half;
      for (std::size_t i = 0; i + 1 < list.size(); i += 2) half.push_back(step(list[i], list[i + 1]));
      if (list.size() % 2 != 0) half.push_back(list.back());
      list = std::move(half);
    }
    out.registers.push_back(list[0]);
  }
  std::vector<std::int64_t> warps(lane_bits, 0);  // numbers the warps that hold parts of one result
  std::int64_t warp_count = 1;
  for (int bit = 0; bit < lane_bits; ++bit) {
    if (layout.lanes[static_cast<std::size_t>(bit)][axis] == 0) continue;
    if (bit >= warp_lane_bits) {
      warps[static_cast<std::size_t>(bit)] = warp_count;
      warp_count *= 2;
      continue;
    }
    for (llvm::Value*& value : out.registers) value = step(value, exchange(value, 1 << bit));
  }
  if (warp_count > 1) {
    const ir::Shape& shape = out.layout.shape;
    const std::int64_t elements = std::max<std::int64_t>(ir::element_count(shape), 1);
    const int bytes = ir::byte_size(how.work);
    llvm::Type* memory = how.work == Dtype::boolean ? b().getInt8Ty() : llvm_type(how.work);
    llvm::Value* base = scratch(elements * warp_count * bytes);
    std::vector<std::int64_t> lanes;
    for (const Coords& basis : out.layout.lanes) lanes.push_back(row_major(basis, shape));
    llvm::Value* mine = b().CreateAdd(base, b().CreateMul(lane_coordinate(lanes), i32(bytes)));
    // One lane writes each part: the first of those that hold it within the warps of a number.
    Layout holders = out.layout;
    for (std::size_t bit = 0; bit < warps.size(); ++bit) {
      if (warps[bit] != 0) holders.lanes[bit] = Coords(shape.size() + 1, 1);
    }
    llvm::Value* writes = first_holder(holders);
    llvm::Value* part = b().CreateMul(lane_coordinate(warps), i32(elements * bytes));
    const auto at = [&](llvm::Value* place, int reg, std::int64_t more) {
      return shared_pointer(
          b().CreateAdd(place, i32((row_major(out.layout.register_part(reg), shape) + more) * bytes)));
    };
    const llvm::Align align(static_cast<unsigned>(bytes));
    before_write(scratch_root);
    for (int reg = 0; reg < out.layout.register_count(); ++reg) {
      if (!out.layout.exists(reg)) continue;
      llvm::Value* condition = inside(out.layout, reg);
      if (writes != nullptr) condition = condition == nullptr ? writes : b().CreateAnd(condition, writes);
      const auto store = [&] {
        b().CreateAlignedStore(to_memory(out.registers[static_cast<std::size_t>(reg)], how.work),
                               at(b().CreateAdd(mine, part), reg, 0), align);
      };
      if (condition == nullptr) {
        store();
      } else {
        when(condition, store);
      }
    }
    before_read(scratch_root);
    for (int reg = 0; reg < out.layout.register_count(); ++reg) {
      if (!out.layout.exists(reg)) continue;
      llvm::Value* from_where = mine;
      if (llvm::Value* good = inside(out.layout, reg)) from_where = b().CreateSelect(good, mine, base);
      llvm::Value* total = nullptr;
      for (std::int64_t w = 0; w < warp_count; ++w) {
        llvm::Value* value =
            from_memory(b().CreateAlignedLoad(memory, at(from_where, reg, w * elements), align), how.work);
        total = total == nullptr ? value : step(total, value);
      }
      out.registers[static_cast<std::size_t>(reg)] = total;
    }
  }
  out.dtype = type(result).dtype;
  for (int reg = 0; reg < out.layout.register_count(); ++reg) {
    llvm::Value*& value = out.registers[static_cast<std::size_t>(reg)];
    value = out.layout.exists(reg) ? cast_value(value, how.work, out.dtype) : nullptr;
  }
  if (!type(result).is_tile()) return set(result, out.registers[0]);
  set(result, convert_layout(out, planned(result)));
}

/// The axis lies in the low registers and then in the lanes of one warp, in this order.
static Layout scan_layout(const ir::Shape& shape, std::size_t axis) {
  const Layout whole = replicated(shape);
  std::vector<Coords> along, others;
  for (const Coords& basis : whole.registers) (basis[axis] != 0 ? along : others).push_back(basis);
  std::sort(along.begin(), along.end(), [&](const Coords& a, const Coords& b) { return a[axis] < b[axis]; });
  Layout layout{shape, {}, {}};
  const std::size_t in_lanes = std::min<std::size_t>(along.size(), warp_lane_bits);
  layout.lanes.assign(along.end() - static_cast<std::ptrdiff_t>(in_lanes), along.end());
  layout.registers.assign(along.begin(), along.end() - static_cast<std::ptrdiff_t>(in_lanes));
  for (const Coords& basis : others)
    (layout.lanes.size() < lane_bits ? layout.lanes : layout.registers).push_back(basis);
  while (layout.lanes.size() < lane_bits) layout.lanes.emplace_back(shape.size(), 0);
  return layout;
}

void Lowering::lower_cumsum(const ir::Inst& inst) {
  const ir::Value result = inst.results[0];
  const auto axis = static_cast<std::size_t>(inst.attrs.integer(Attr::axis));
  const Layout layout = scan_layout(type(result).shape, axis);
  const Tile from = tile_in(inst.operands[0], layout);
  const Reducer how = reducer(inst.op, from.dtype);
  int run = 1, lanes = 1;  // elements of the axis in a lane; lanes that hold the axis
  for (const Coords& basis : layout.registers) run *= basis[axis] != 0 ? 2 : 1;
  for (int bit = 0; bit < warp_lane_bits; ++bit)
    lanes *= layout.lanes[static_cast<std::size_t>(bit)][axis] != 0 ? 2 : 1;
  llvm::Value* position = b().CreateAnd(lane(), static_cast<std::uint64_t>(lanes - 1));
  Tile out{from.dtype, layout, std::vector<llvm::Value*>(from.registers.size(), nullptr)};
  for (int first = 0; first < layout.register_count(); first += run) {
    std::vector<llvm::Value*> sums;
    for (int i = 0; i < run && layout.exists(first + i); ++i) {
      llvm::Value* value = cast_value(from.registers[static_cast<std::size_t>(first + i)], from.dtype, how.work);
      sums.push_back(sums.empty() ? value : binary(how.step, how.work, sums.back(), value));
    }
    if (sums.empty()) continue;
    if (lanes > 1) {
      llvm::Value* total = sums.back();
      for (int by = 1; by < lanes; by *= 2) {
        llvm::Value* more = binary(how.step, how.work, from_lane_below(total, by), total);
        total = b().CreateSelect(b().CreateICmpUGE(position, i32(by)), more, total);
      }
      llvm::Value* before = from_lane_below(total, 1);
      for (llvm::Value*& sum : sums)
        sum = b().CreateSelect(b().CreateICmpNE(position, i32(0)), binary(how.step, how.work, before, sum), sum);
    }
    for (std::size_t i = 0; i < sums.size(); ++i)
      out.registers[static_cast<std::size_t>(first) + i] = cast_value(sums[i], how.work, from.dtype);
  }
  set(result, convert_layout(out, planned(result)));
}

}  // namespace pk::codegen
