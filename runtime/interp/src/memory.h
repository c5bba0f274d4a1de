#pragma once
// Memory as the interpreter sees it: buffers (allocations and arguments), refs (views of them), and the walk over a
// view's contiguous runs. Used by every operation that touches memory.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pk/frontend/diagnostics.h"
#include "pk/ir/ir.h"
#include "shadow.h"

namespace pk::interp {

struct Barrier;
struct Semaphore;
struct Block;
struct Thread;

/// One allocation of one block (or thread, or the grid), or an argument. Its elements are dense and row-major.
struct Buffer {
  std::byte* data = nullptr;
  ir::Space space = ir::Space::gmem;
  ir::Dtype dtype = ir::Dtype::f32;
  ir::Shape extents;
  std::vector<std::int64_t> strides;
  std::string_view name;
  Span span;                 ///< where it is declared
  Shadow* shadow = nullptr;  ///< null: nothing to check
  Block* block = nullptr;    ///< whose shared memory or barrier; null for global memory
  std::uint32_t alloc = 0;   ///< number of the allocation in Program::allocs
  std::uint8_t view = 0;     ///< which member of a union this is
  bool alive = true;         ///< between the entry and the end of its scope
  std::uint64_t entry = 0;   ///< how many times the scope had been entered
  Agent entry_agent = 0;     ///< event after which it may be used by peers
  Time entry_time = 0;
  Barrier* barriers = nullptr;  ///< its elements, when it holds barriers
  Semaphore* semaphores = nullptr;

  void set_shape(const ir::Shape& shape);
  [[nodiscard]] std::int64_t elements() const { return ir::element_count(extents); }
};

inline constexpr int max_rank = 8;

/// A view of a buffer: a box in the coordinates of a dense "root" (the buffer, or what `reshape` made of it), of which
/// some axes are fixed. It may reach outside the root; only accesses may not.
struct Ref {
  Buffer* buffer = nullptr;
  std::int64_t base = 0;  ///< element of the buffer at root coordinate (0, 0, …)
  std::int8_t root_rank = 0;
  std::int8_t rank = 0;
  std::array<std::int64_t, max_rank> root_extent, root_stride, start;  ///< per root axis
  std::array<std::int8_t, max_rank> axis;                              ///< root axis of each axis of the view
  std::array<std::int64_t, max_rank> extent;                           ///< per axis of the view

  [[nodiscard]] std::int64_t stride(int a) const {
    return root_stride[static_cast<std::size_t>(axis[static_cast<std::size_t>(a)])];
  }
  [[nodiscard]] std::int64_t elements() const;
  /// Element of the buffer at the view's coordinate (0, 0, …).
  [[nodiscard]] std::int64_t origin() const;
  /// Whether all of it lies within the root.
  [[nodiscard]] bool inside() const;
  /// Axes in order of decreasing stride stand for one contiguous piece.
  [[nodiscard]] bool is_contiguous() const;
};

[[nodiscard]] Ref whole(Buffer& buffer);
/// The same elements of a contiguous view under another shape.
[[nodiscard]] Ref reshaped(const Ref& ref, const ir::Shape& shape);

/// A view laid out for a walk: axes that continue each other are merged.
struct Walk {
  int rank = 0;
  std::array<std::int64_t, max_rank> extent{}, stride{};
  std::int64_t origin = 0;
};
/// In the order of the view's elements.
[[nodiscard]] Walk walk_in_order(const Ref& ref);
/// In the order of memory, for work to which the order of elements does not matter.
[[nodiscard]] Walk walk_by_address(const Ref& ref);

/// Calls body(first element in the buffer, elements, their stride) for each innermost run, in order.
template <class Body>
void for_each_run(const Walk& walk, const Body& body) {
  for (int a = 0; a < walk.rank; ++a) {
    if (walk.extent[static_cast<std::size_t>(a)] == 0) return;
  }
  const std::size_t outer = walk.rank == 0 ? 0 : static_cast<std::size_t>(walk.rank) - 1;
  const std::int64_t length = walk.rank == 0 ? 1 : walk.extent[outer];
  const std::int64_t step = walk.rank == 0 ? 1 : walk.stride[outer];
  std::array<std::int64_t, max_rank> at{};
  std::int64_t element = walk.origin;
  for (;;) {
    body(element, length, step);
    std::size_t a = outer;
    for (;;) {
      if (a == 0) return;
      --a;
      element += walk.stride[a];
      if (++at[a] < walk.extent[a]) break;
      element -= walk.stride[a] * walk.extent[a];
      at[a] = 0;
    }
  }
}

/// Copies a view's elements to or from dense row-major memory. The view must lie inside.
void gather(const Ref& from, std::byte* to);
void scatter(const std::byte* from, const Ref& to);
/// Stores one element everywhere.
void fill(const std::byte* element, const Ref& to);

/// Coordinates in the root of element number `n` (row-major) of the view.
[[nodiscard]] std::array<std::int64_t, max_rank> coordinates(const Ref& ref, std::int64_t n);
/// Element of the buffer for element number `n` of the view, or none when it lies outside the root.
[[nodiscard]] std::optional<std::int64_t> locate(const Ref& ref, std::int64_t n);
/// The part of the view that lies inside its root: per view axis [low, high). Empty when a fixed axis is outside.
struct Inside {
  bool any = false;
  std::array<std::int64_t, max_rank> low{}, high{};
};
[[nodiscard]] Inside inside_part(const Ref& ref);
/// A box of the view.
[[nodiscard]] Ref part(const Ref& ref, const std::array<std::int64_t, max_rank>& low,
                       const std::array<std::int64_t, max_rank>& high);

/// "x[2, 0:64]": the view in root coordinates.
[[nodiscard]] std::string describe(const Ref& ref);
/// "x[2, 5]" or "x[2, 5:9]": elements [begin, end) of a buffer, by their logical indices.
[[nodiscard]] std::string describe_range(const Buffer& buffer, std::int64_t begin, std::int64_t end);

}  // namespace pk::interp
