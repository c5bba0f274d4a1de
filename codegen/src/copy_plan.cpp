#include "copy_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "shared_offsets.h"

namespace pk::codegen {
namespace {

constexpr std::int64_t most_elements = 256;  ///< of a box along an axis
constexpr std::int64_t most_boxes = 64;      ///< beyond that the lanes are as good
constexpr std::int64_t engine_bytes = 16;    ///< strides and inner extents are multiples of it
constexpr std::int64_t box_alignment = 128;  ///< of a box in shared memory
constexpr std::size_t most_axes = 5;

bool in_order(const Ref& ref) {
  return std::is_sorted(ref.axes.begin(), ref.axes.end(),
                        [](const RefAxis& a, const RefAxis& b) { return a.root_axis < b.root_axis; });
}

/// The largest divisor of `extent` that a box may have.
std::int64_t box_extent(std::int64_t extent) {
  for (std::int64_t d = std::min(extent, most_elements); d > 1; --d) {
    if (extent % d == 0) return d;
  }
  return 1;
}

}  // namespace

std::optional<CopyPlan> plan_copy(const Ref& global, const Ref& shared, std::string& why) {
  const Root& array = *global.root;
  const Root& buffer = *shared.root;
  const std::int64_t element_bytes = ir::byte_size(array.dtype);
  const std::size_t rank = array.extents.size();
  const auto refuse = [&](std::string text) -> std::optional<CopyPlan> {
    why = std::move(text);
    return std::nullopt;
  };
  if (!array.whole) return refuse("the array is reshaped");
  if (rank == 0 || rank > most_axes) return refuse("the array has no axis, or more than 5");
  if (global.axes.empty() || !in_order(global) || !in_order(shared)) return refuse("the axes are exchanged");
  if (global.axes.back().root_axis != rank - 1) return refuse("the copied part is not contiguous along the last axis");
  if (shared.axes.back().root_axis != buffer.static_extents.size() - 1)
    return refuse("the part of shared memory is not contiguous along the last axis");
  std::int64_t pitch = element_bytes;
  for (std::size_t i = rank; i-- > 1;) {
    if (array.static_extents[i] < 0) break;
    pitch *= array.static_extents[i];
    if (pitch % engine_bytes != 0)
      return refuse(fmt::format("rows of axis {} are {} bytes apart, no multiple of 16", i - 1, pitch));
  }
  // From the last axis on, the box grows as long as shared memory holds it without gaps.
  const SharedOffsets offsets(buffer);
  const std::int64_t panel = buffer.layout.panel_bytes;
  const std::size_t view_rank = global.axes.size();
  std::vector<std::int64_t> box(view_rank, 1);
  const std::int64_t inner = global.axes.back().extent;
  box.back() = panel > 0 ? std::min(inner, panel / element_bytes) : box_extent(inner);
  if (inner == 0 || inner % box.back() != 0 || box.back() * element_bytes % engine_bytes != 0)
    return refuse(fmt::format("its rows of {} bytes are no multiple of 16", inner * element_bytes));
  if (!offsets.starts_panel(shared)) return refuse("it starts within a swizzled row of shared memory");
  std::int64_t bytes = box.back() * element_bytes;
  bool dense = box.back() == inner || panel > 0;
  for (std::size_t i = view_rank - 1; i-- > 0;) {
    const std::int64_t extent = global.axes[i].extent;
    if (extent == 1) continue;
    Coords next(buffer.static_extents.size(), 0);
    next[shared.axes[i].root_axis] = 1;
    if (!dense || offsets.of(next) != bytes) {
      dense = false;
      continue;
    }
    box[i] = box_extent(extent);
    dense = box[i] == extent;
    bytes *= box[i];
  }
  // A box with a single short row of a panel would be stretched to the panel's width.
  if (panel > 0 && box.back() * element_bytes != panel) return refuse("its rows are narrower than the swizzle");
  std::int64_t count = 1;
  for (std::size_t i = 0; i < view_rank; ++i) count *= global.axes[i].extent / box[i];
  if (count > most_boxes) return refuse(fmt::format("it would take {} boxes", count));
  CopyPlan plan{{array.param, std::vector<std::int64_t>(rank, 1), buffer.layout.swizzle, false}, {}, 0};
  for (std::size_t i = 0; i < view_rank; ++i) plan.map.box[global.axes[i].root_axis] = box[i];
  plan.bytes = count * bytes;
  Coords at(view_rank, 0);
  for (std::int64_t n = 0; n < count; ++n) {
    std::int64_t left = n;
    for (std::size_t i = view_rank; i-- > 0;) {
      const std::int64_t boxes = global.axes[i].extent / box[i];
      at[i] = left % boxes * box[i];
      left /= boxes;
    }
    Coords root(buffer.static_extents.size(), 0);
    for (std::size_t i = 0; i < view_rank; ++i) root[shared.axes[i].root_axis] = at[i];
    if (offsets.of(root) % box_alignment != 0) return refuse("boxes would not be aligned in shared memory");
    plan.boxes.push_back(at);
  }
  if (offsets.start_divisor(shared) % box_alignment != 0 || buffer.alignment % box_alignment != 0)
    return refuse("it does not start at a multiple of 128 bytes of shared memory");
  return plan;
}

}  // namespace pk::codegen
