// Copies between global and shared memory: by the copy engine where its rules hold, else by the lanes.

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "copy_plan.h"
#include "element_pointers.h"
#include "lowering.h"
#include "shared_offsets.h"

namespace pk::codegen {

using ir::Attr;
using ir::Op;

namespace {

/// A part of a view: `size` places of its first axis from `start` on.
Ref rows_of(Lowering& l, const Ref& ref, std::size_t axis, llvm::Value* start, std::int64_t start_divisor,
            std::int64_t size) {
  Ref part = ref;
  const std::size_t root_axis = ref.axes[axis].root_axis;
  part.starts[root_axis] = l.b().CreateAdd(ref.starts[root_axis], start);
  part.start_divisors[root_axis] = std::gcd(ref.start_divisors[root_axis], start_divisor);
  part.axes[axis] = {root_axis, size, l.i64(size)};
  return part;
}

/// "{$2, $3}" for the coordinates from operand `first` on.
std::string coordinate_list(std::size_t first, std::size_t count) {
  std::string text = "{";
  for (std::size_t i = 0; i < count; ++i) text += fmt::format("{}${}", i == 0 ? "" : ", ", first + i);
  return text + "}";
}

}  // namespace

bool Lowering::engine_may_copy(const Root& array) const {
  const std::vector<int>& without = options_.without_tma;
  return options_.target.sm >= 90 && std::find(without.begin(), without.end(), array.param) == without.end();
}

/// Coordinates of a box in the array, innermost first, as i32.
std::vector<llvm::Value*> Lowering::box_coordinates(const Ref& global, const Coords& at) {
  std::vector<llvm::Value*> coords;
  for (llvm::Value* start : global.starts) coords.push_back(narrow(start));
  for (std::size_t i = 0; i < at.size(); ++i) {
    llvm::Value*& c = coords[global.axes[i].root_axis];
    c = b().CreateAdd(c, i32(at[i]));
  }
  std::reverse(coords.begin(), coords.end());
  return coords;
}

/// The i32 address of a box in shared memory.
llvm::Value* Lowering::box_address(const Ref& shared, const Coords& at) {
  const SharedOffsets offsets(*shared.root);
  Coords root(shared.starts.size(), 0);
  for (std::size_t i = 0; i < at.size(); ++i) root[shared.axes[i].root_axis] = at[i];
  llvm::Value* start = b().CreateAdd(shared.root->offset, offsets.start(*this, shared));
  return shared_address(b().CreateAdd(start, i32(offsets.of(root))));
}

void Lowering::lower_copy_in(const ir::Inst& inst) {
  Ref from = ref(inst.operands[0]);
  Ref to = ref(inst.operands[1]);
  const Ref& barrier = ref(inst.operands[2]);
  const std::vector<std::int64_t>& axes = inst.attrs.integers(Attr::axes);
  std::int64_t group = 1;
  llvm::Value* place = i64(0);  // of this block in its group
  for (const std::int64_t a : axes) {
    const auto axis = static_cast<std::size_t>(a);
    group *= kernel_.axes[axis].size;
    place = b().CreateAdd(b().CreateMul(place, extent(axis)), coordinate(axis));
  }
  bool multicast = group > 1;
  if (inst.attrs.has(Attr::partition)) {
    // Block i receives part i: every block copies its own.
    const auto axis = static_cast<std::size_t>(inst.attrs.integer(Attr::partition));
    const std::int64_t part = from.axes[axis].extent / group;
    from = rows_of(*this, from, axis, b().CreateMul(place, i64(part)), part, part);
    multicast = false;
  }
  std::string why;
  std::optional<CopyPlan> plan;
  if (engine_may_copy(*from.root) && to.peer == nullptr) plan = plan_copy(from, to, why);
  if (!plan) {
    if (inst.attrs.flag(Attr::tma_required)) unsupported(inst, "the copy engine: " + why);
    return copy_in_by_lanes(inst, from, to, barrier);
  }
  // Each block of the group fetches an equal share of the rows and sends it to all.
  std::string mask_constraint;
  llvm::Value* mask = nullptr;
  const std::int64_t all_bytes = plan->bytes;
  if (multicast) {
    const std::int64_t rows = from.axes[0].extent;
    const std::int64_t share = rows / group;
    std::optional<CopyPlan> part;
    if (rows % group == 0) {
      llvm::Value* start = b().CreateMul(place, i64(share));
      const Ref from_part = rows_of(*this, from, 0, start, share, share);
      const Ref to_part = rows_of(*this, to, 0, start, share, share);
      part = plan_copy(from_part, to_part, why);
      if (part) {
        plan = part;
        from = from_part;
        to = to_part;
        llvm::Value* blocks = i32(0);
        for (llvm::Value* rank : ranks_along(axes)) blocks = b().CreateOr(blocks, b().CreateShl(i32(1), rank));
        mask = b().CreateTrunc(blocks, b().getInt16Ty());
        mask_constraint = ",h";
      }
    }
  }
  plan->map.fill_nan = inst.attrs.text(Attr::oob) == "nan";
  before_async(to.root->id, true);
  if (kernel_.params[static_cast<std::size_t>(from.root->param)].mode != ir::Mode::in) {
    // The array is written, too: what the lanes stored has to be seen by the engine.
    assembly("fence.proxy.async;", "", {});
    meet_lanes();
  }
  llvm::Value* map = tensor_map_address(tensor_map(plan->map));
  llvm::Value* address = barrier_address(barrier);
  one_lane([&] {
    assembly("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r", {address, i32(all_bytes)});
    for (const Coords& at : plan->boxes) {
      const std::vector<llvm::Value*> coords = box_coordinates(from, at);
      std::vector<llvm::Value*> args{box_address(to, at), map};
      args.insert(args.end(), coords.begin(), coords.end());
      args.push_back(address);
      std::string constraints = "r,l";
      for (std::size_t i = 0; i <= coords.size(); ++i) constraints += ",r";
      std::string text = fmt::format(
          "cp.async.bulk.tensor.{}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{} [$0], [$1, {}], [${}]",
          coords.size(), mask != nullptr ? ".multicast::cluster" : "", coordinate_list(2, coords.size()),
          2 + coords.size());
      if (mask != nullptr) {
        text += fmt::format(", ${}", 3 + coords.size());
        args.push_back(mask);
      }
      assembly(text + ";", constraints + mask_constraint, args);
    }
  });
  if (mask != nullptr) remote_arrivals_ = true;
}

/// Cuts a view along its first axis so that a lane holds few registers at a time.
static std::int64_t rows_at_once(const Ref& ref) {
  constexpr std::int64_t elements_at_once = 32 * lane_count;
  const std::int64_t row = ir::element_count(ref.shape()) / std::max<std::int64_t>(1, ref.axes[0].extent);
  return std::max<std::int64_t>(1, elements_at_once / std::max<std::int64_t>(1, row));
}

void Lowering::copy_in_by_lanes(const ir::Inst& inst, const Ref& from, const Ref& to, const Ref& barrier) {
  by_lanes_.insert(&inst);
  before_read(from.root->id);
  before_write(to.root->id);
  const bool nan = inst.attrs.text(Attr::oob) == "nan";
  const auto move = [&](const Ref& source, const Ref& target) {
    const Layout layout = source.axes.empty() ? replicated({}) : memory_layout(source.shape(), source.root->dtype);
    Tile tile = load_tile(source, layout, nullptr, true);
    if (nan) {
      ElementPointers pointers(*this, source, layout);
      llvm::Value* fill = constant(tile.dtype, std::numeric_limits<double>::quiet_NaN(), 0);
      for (int reg = 0; reg < layout.register_count(); ++reg) {
        llvm::Value*& value = tile.registers[static_cast<std::size_t>(reg)];
        if (value != nullptr) value = b().CreateSelect(pointers.in_bounds(reg), value, fill);
      }
    }
    store_tile(target, tile, nullptr, false);
  };
  if (from.axes.empty()) {
    move(from, to);
  } else {
    const std::int64_t rows = from.axes[0].extent, at_once = rows_at_once(from);
    for (std::int64_t row = 0; row < rows; row += at_once) {
      const std::int64_t size = std::min(at_once, rows - row);
      move(rows_of(*this, from, 0, i64(row), row, size), rows_of(*this, to, 0, i64(row), row, size));
    }
  }
  assembly("fence.proxy.async.shared::cta;", "", {});
  meet_lanes();
  arrive(barrier_address(barrier), barrier.peer, first_lane_);
}

void Lowering::lower_copy_out(const ir::Inst& inst) {
  const Ref& from = ref(inst.operands[0]);
  const Ref& to = ref(inst.operands[1]);
  const std::string reduce(inst.attrs.text(Attr::reduce));
  std::string why;
  std::optional<CopyPlan> plan;
  if (engine_may_copy(*to.root) && from.peer == nullptr && engine_reduces(to.root->dtype, reduce))
    plan = plan_copy(to, from, why);
  if (!plan) {
    if (inst.attrs.flag(Attr::tma_required)) unsupported(inst, "the copy engine: " + why);
    return copy_out_by_lanes(inst, from, to);
  }
  before_async(from.root->id, false);
  before_async(to.root->id, true);
  llvm::Value* map = tensor_map_address(tensor_map(plan->map));
  one_lane([&] {
    for (const Coords& at : plan->boxes) {
      const std::vector<llvm::Value*> coords = box_coordinates(to, at);
      std::vector<llvm::Value*> args{map};
      args.insert(args.end(), coords.begin(), coords.end());
      args.push_back(box_address(from, at));
      std::string constraints = "l";
      for (std::size_t i = 0; i <= coords.size(); ++i) constraints += ",r";
      const std::string name =
          reduce.empty() ? fmt::format("cp.async.bulk.tensor.{}d.global.shared::cta.tile.bulk_group", coords.size())
                         : fmt::format("cp.reduce.async.bulk.tensor.{}d.global.shared::cta.{}.tile.bulk_group",
                                       coords.size(), reduce);
      assembly(fmt::format("{} [$0, {}], [${}];", name, coordinate_list(1, coords.size()), 1 + coords.size()),
               constraints, args);
    }
  });
  copied_out_.insert({from.root->id, to.root->id});
  // Groups belong to the lane that closes them: the whole warp does, so that whichever lane was elected is among them.
  if (inst.attrs.flag(Attr::commit)) first_warp([&] { assembly("cp.async.bulk.commit_group;", "", {}); });
}

bool Lowering::engine_reduces(ir::Dtype dtype, const std::string& how) {
  using ir::Dtype;
  if (how.empty()) return true;
  const bool small = dtype == Dtype::f16 || dtype == Dtype::bf16;
  if (how == "add")
    return small || dtype == Dtype::f32 || dtype == Dtype::u32 || dtype == Dtype::i32 || dtype == Dtype::u64 ||
           dtype == Dtype::f64;
  if (how == "min" || how == "max")
    return small || dtype == Dtype::u32 || dtype == Dtype::i32 || dtype == Dtype::u64 || dtype == Dtype::i64 ||
           dtype == Dtype::index;
  return dtype == Dtype::u32 || dtype == Dtype::i32 || dtype == Dtype::u64 || dtype == Dtype::i64 ||
         dtype == Dtype::index;
}

void Lowering::copy_out_by_lanes(const ir::Inst& inst, const Ref& from, const Ref& to) {
  before_read(from.root->id);
  before_write(to.root->id);
  const std::string reduce(inst.attrs.text(Attr::reduce));
  const auto move = [&](const Ref& source, const Ref& target) {
    const Layout layout = source.axes.empty() ? replicated({}) : memory_layout(source.shape(), source.root->dtype);
    const Tile tile = load_tile(source, layout, nullptr, false);
    if (reduce.empty()) {
      store_tile(target, tile, nullptr, true);
    } else {
      atomic_tile(inst, target, reduce, tile, nullptr, true, false);
    }
  };
  if (from.axes.empty()) return move(from, to);
  const std::int64_t rows = from.axes[0].extent, at_once = rows_at_once(from);
  for (std::int64_t row = 0; row < rows; row += at_once) {
    const std::int64_t size = std::min(at_once, rows - row);
    move(rows_of(*this, from, 0, i64(row), row, size), rows_of(*this, to, 0, i64(row), row, size));
  }
}

void Lowering::lower_copy_control(const ir::Inst& inst) {
  switch (inst.op) {
    case Op::commit_copies:
      return first_warp([&] { assembly("cp.async.bulk.commit_group;", "", {}); });
    case Op::wait_smem_to_gmem: {
      const char* kind = inst.attrs.flag(Attr::read_only) ? ".read" : "";
      first_warp([&] {
        assembly(fmt::format("cp.async.bulk.wait_group{} {};", kind, inst.attrs.integer(Attr::count)), "", {});
      });
      // The other warps learn of it when they meet, before they touch what was copied.
      pending_.read.insert(copied_out_.begin(), copied_out_.end());
      pending_.written.insert(copied_out_.begin(), copied_out_.end());
      return;
    }
    case Op::commit_smem:
      assembly("fence.proxy.async.shared::cta;", "", {});
      pending_.fence = true;
      return;
    default:  // prefetch: a hint, which nothing depends on
      return;
  }
}

}  // namespace pk::codegen
