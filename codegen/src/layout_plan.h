#pragma once
// Gives every tile of a kernel a layout. Tiles that elementwise operations, variables and masks tie together share one,
// so that nothing moves between them; MMAs decide first, the rest takes what fits its neighbours, or the layout that is
// good for memory.

#include <map>
#include <vector>

#include "layout.h"
#include "pk/ir/ir.h"

namespace pk::codegen {

class LayoutPlan {
 public:
  explicit LayoutPlan(const ir::Kernel& kernel);

  /// The layout of a tile, or of the tiles in a cell.
  [[nodiscard]] const Layout& operator[](ir::Value value) const { return classes_.at(find(value.id)).layout.value(); }

 private:
  struct Class {
    ir::Shape shape;
    std::optional<Layout> layout;
    int memory_bytes = 0;  ///< smallest element that is loaded or stored; 0: none is
    std::uint32_t first = 0;
  };
  enum class EdgeKind : std::uint8_t { reduction, broadcast, transpose, reshape };
  /// From an operand's class to a result's.
  struct Edge {
    EdgeKind kind;
    ir::Value operand, result;
    const ir::Inst* inst;
  };

  void collect(const ir::Region& region);
  void tie_operands(const ir::Inst& inst);
  void anchor(ir::Value value, Layout layout);
  void note_memory(ir::Value value);
  void propagate();
  bool hand_on(const Edge& edge);
  void settle(const ir::Kernel& kernel);

  [[nodiscard]] std::uint32_t find(std::uint32_t id) const;
  void tie(ir::Value a, ir::Value b);
  [[nodiscard]] bool is_tile(ir::Value v) const;
  Class& class_of(ir::Value v) { return classes_[find(v.id)]; }

  const ir::Kernel& kernel_;
  mutable std::vector<std::uint32_t> parents_;
  std::map<std::uint32_t, Class> classes_;
  std::vector<Edge> edges_;
  std::vector<std::pair<ir::Value, Layout>> anchors_;
  std::vector<std::pair<ir::Value, int>> memory_;
};

}  // namespace pk::codegen
