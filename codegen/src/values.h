#pragma once
// What the IR's values become: LLVM values for scalars, one LLVM value a register for tiles, descriptions for refs.

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "layout.h"
#include "llvm_headers.h"
#include "shared_plan.h"

namespace pk::codegen {

struct Tile {
  ir::Dtype dtype = ir::Dtype::f32;
  Layout layout;
  std::vector<llvm::Value*> registers;  ///< by register number; null where the layout has no element
};

/// A variable, or an accumulator: stack slots that LLVM promotes to registers.
struct Cell {
  ir::Type held;  ///< scalar or tile
  Layout layout;  ///< of a tile
  std::vector<llvm::AllocaInst*> slots;
};

/// An accumulator of wgmma. f16 accumulators have two elements a register.
struct Accumulator {
  ir::Type type;
  Layout layout;
  std::vector<llvm::AllocaInst*> slots;          ///< by register of the layout; f16: by pairs of them
  std::map<Coords, llvm::AllocaInst*> by_place;  ///< by the coordinates that lane 0 has there
  [[nodiscard]] llvm::AllocaInst* slot_at(std::int64_t row, std::int64_t column) const {
    const auto found = by_place.find({row, column});
    return found == by_place.end() ? nullptr : found->second;
  }
};

/// The memory behind refs: a parameter, an allocation, or a reshaped part of one.
struct Root {
  ir::Space space = ir::Space::gmem;
  ir::Dtype dtype = ir::Dtype::f32;
  ir::Value value;                           ///< the parameter or allocation
  int id = 0;                                ///< for telling accesses to different memory apart
  int param = -1;                            ///< number of the kernel parameter
  std::vector<llvm::Value*> extents;         ///< i64
  std::vector<std::int64_t> static_extents;  ///< -1: known at launch
  std::vector<std::int64_t> extent_divisors;
  llvm::Value* pointer = nullptr;        ///< gmem: of element 0
  llvm::Value* offset = nullptr;         ///< smem: i32, from the start of shared memory
  std::int64_t alignment = 16;           ///< of pointer or offset, in bytes
  SharedLayout layout;                   ///< smem
  const SharedBuffer* buffer = nullptr;  ///< smem, barriers, semaphores
  Accumulator* accumulator = nullptr;
  llvm::AllocaInst* phases = nullptr;  ///< barriers: a bit for each barrier's next phase
  int arrivals = 1;
  std::vector<std::int64_t> axes;  ///< cluster barriers: mesh axes
  bool whole = true;               ///< not reshaped: axes are those of the parameter
};

struct RefAxis {
  std::size_t root_axis = 0;
  std::int64_t extent = 0;        ///< -1: known at launch
  llvm::Value* length = nullptr;  ///< i64
};

struct Ref {
  const Root* root = nullptr;
  std::vector<RefAxis> axes;         ///< of the view, in its order
  std::vector<llvm::Value*> starts;  ///< i64, by root axis
  std::vector<std::int64_t> start_divisors;
  llvm::Value* peer = nullptr;  ///< i32 rank of the block whose memory it is; null: this block's
  [[nodiscard]] ir::Shape shape() const {
    ir::Shape result;
    for (const RefAxis& a : axes) result.push_back(a.extent);
    return result;
  }
};

}  // namespace pk::codegen
