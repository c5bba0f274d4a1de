#pragma once
// Bytes from the start of a buffer in shared memory to an element, before the swizzle: see SharedLayout.

#include "lowering.h"

namespace pk::codegen {

class SharedOffsets {
 public:
  explicit SharedOffsets(const Root& root);
  [[nodiscard]] std::int64_t of(const Coords& coords) const;
  /// The same for coordinates (i32) that are known when the kernel runs.
  llvm::Value* of(Lowering& lowering, const std::vector<llvm::Value*>& coords) const;
  /// Of a view's first element.
  llvm::Value* start(Lowering& lowering, const Ref& ref) const;
  /// Whether the view's first column begins a panel, so that offsets within the view can be added to its start's.
  [[nodiscard]] bool starts_panel(const Ref& ref) const;
  /// A number that divides the offset of the view's start, if it begins a panel.
  [[nodiscard]] std::int64_t start_divisor(const Ref& ref) const;

 private:
  const Root& root_;
  std::size_t rank_;
  std::int64_t element_bytes_, panel_;
  std::vector<std::int64_t> strides_;  ///< bytes, of plain rows
};

}  // namespace pk::codegen
