#pragma once
// The address of each element of a tile in global or shared memory, as each lane sees it: computed once for what does
// not depend on the register, with the rest folded into constant offsets where the arithmetic allows.

#include <optional>

#include "lowering.h"

namespace pk::codegen {

class ElementPointers {
 public:
  ElementPointers(Lowering& lowering, const Ref& ref, const Layout& layout);

  /// Address of a register's element: a pointer, or for a peer's memory an i32 address.
  llvm::Value* operator()(int reg);
  /// How many registers from a multiple of it lie side by side and aligned: 1, or a power of two.
  [[nodiscard]] int vector() const { return vector_; }
  [[nodiscard]] int alignment(int elements) const { return elements * element_bytes_; }
  /// Whether the element lies inside the array behind the ref, for clipped copies; null when it must.
  llvm::Value* in_bounds(int reg);

 private:
  void prepare_global();
  void prepare_shared();
  void find_vector();
  [[nodiscard]] std::int64_t stride_divisor(std::size_t root_axis) const;
  /// Coordinates of a bit along the root's axes.
  [[nodiscard]] Coords to_root(const Coords& view) const;
  llvm::Value* lane_part(std::size_t root_axis);

  Lowering& l_;
  const Ref& ref_;
  const Layout& layout_;
  int element_bytes_;
  int vector_ = 1;
  llvm::Value* base_ = nullptr;        ///< gmem: pointer; smem: i32 offset without the registers' part
  llvm::Value* low_ = nullptr;         ///< smem, swizzled: the lanes' part within 1024 bytes, exchanged
  bool split_ = false;                 ///< smem: the registers' part can be added to the rest
  std::vector<llvm::Value*> strides_;  ///< gmem: bytes, i64
};

}  // namespace pk::codegen
