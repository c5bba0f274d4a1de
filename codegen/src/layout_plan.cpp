#include "layout_plan.h"

#include <algorithm>

namespace pk::codegen {

using ir::Attr;
using ir::Op;

LayoutPlan::LayoutPlan(const ir::Kernel& kernel) : kernel_(kernel), parents_(kernel.values.size()) {
  for (std::uint32_t i = 0; i < parents_.size(); ++i) parents_[i] = i;
  collect(kernel.body);
  for (std::uint32_t i = 0; i < parents_.size(); ++i) {
    if (!is_tile({i})) continue;
    Class& c = classes_[find(i)];
    if (c.shape.empty()) c = {kernel.values[i].type.shape, std::nullopt, 0, i};
  }
  for (const auto& [value, bytes] : memory_) {
    int& least = class_of(value).memory_bytes;
    least = least == 0 ? bytes : std::min(least, bytes);
  }
  for (auto& [value, layout] : anchors_) {
    std::optional<Layout>& known = class_of(value).layout;
    if (!known) known = std::move(layout);
  }
  propagate();
  settle(kernel);
}

bool LayoutPlan::is_tile(ir::Value v) const {
  const ir::Type& type = kernel_.type(v);
  return type.is_tile() || (type.kind == ir::Type::Kind::cell && !type.shape.empty());
}

std::uint32_t LayoutPlan::find(std::uint32_t id) const {
  while (parents_[id] != id) {
    parents_[id] = parents_[parents_[id]];
    id = parents_[id];
  }
  return id;
}

void LayoutPlan::tie(ir::Value a, ir::Value b) {
  if (!is_tile(a) || !is_tile(b) || kernel_.type(a).shape != kernel_.type(b).shape) return;
  // The smaller number stays the name, so that the order of classes is that of the program.
  const std::uint32_t x = find(a.id), y = find(b.id);
  parents_[std::max(x, y)] = std::min(x, y);
}

void LayoutPlan::tie_operands(const ir::Inst& inst) {
  ir::Value first;
  const auto with_first = [&](ir::Value v) {
    if (!is_tile(v)) return;
    if (first.valid()) tie(first, v);
    first = first.valid() ? first : v;
  };
  for (const ir::Value v : inst.operands) with_first(v);
  for (const ir::Value v : inst.results) with_first(v);
}

void LayoutPlan::anchor(ir::Value value, Layout layout) { anchors_.emplace_back(value, std::move(layout)); }

void LayoutPlan::note_memory(ir::Value value) {
  if (is_tile(value)) memory_.emplace_back(value, ir::byte_size(kernel_.type(value).dtype));
}

void LayoutPlan::collect(const ir::Region& region) {
  for (const ir::Inst& inst : region.insts) {
    const auto edge = [&](EdgeKind kind) {
      if (is_tile(inst.results[0])) edges_.push_back({kind, inst.operands[0], inst.results[0], &inst});
    };
    switch (inst.op) {
      case Op::reduce_sum:
      case Op::reduce_prod:
      case Op::reduce_min:
      case Op::reduce_max:
      case Op::reduce_any:
      case Op::reduce_all:
        edge(EdgeKind::reduction);
        break;
      case Op::broadcast:
        edge(EdgeKind::broadcast);
        break;
      case Op::transpose:
        edge(EdgeKind::transpose);
        break;
      case Op::reshape:
        edge(EdgeKind::reshape);
        break;
      case Op::load:
      case Op::acc_load:
        if (kernel_.type(inst.operands[0]).space == ir::Space::acc) {
          if (kernel_.type(inst.results[0]).shape.size() == 2)
            anchor(inst.results[0], accumulator(kernel_.type(inst.results[0]).shape));
        } else {
          note_memory(inst.results[0]);
        }
        break;
      case Op::wgmma:
        if (is_tile(inst.operands[1])) {
          const ir::Type& a = kernel_.type(inst.operands[1]);
          anchor(inst.operands[1], operand_a(a.shape, ir::byte_size(a.dtype)));
        }
        break;
      case Op::load_masked:
      case Op::store:
      case Op::store_masked:
      case Op::atomic:
        tie_operands(inst);
        for (const ir::Value v : inst.results) note_memory(v);
        if (inst.operands.size() > 1) note_memory(inst.operands[1]);
        break;
      case Op::var:
      case Op::var_get:
      case Op::var_set:
      case Op::cumsum:
      case Op::layout_cast:
        tie_operands(inst);
        break;
      default:  // the table decides for everything else
        if (ir::is_elementwise(inst.op)) tie_operands(inst);
        break;
    }
    for (const ir::Region& inner : inst.regions) collect(inner);
  }
}

bool LayoutPlan::hand_on(const Edge& edge) {
  std::optional<Layout>& operand = class_of(edge.operand).layout;
  std::optional<Layout>& result = class_of(edge.result).layout;
  if (operand.has_value() == result.has_value()) return false;
  switch (edge.kind) {
    case EdgeKind::reduction:
      if (operand) result = without_axis(*operand, static_cast<std::size_t>(edge.inst->attrs.integer(Attr::axis)));
      break;
    case EdgeKind::broadcast:
      if (result) operand = before_broadcast(*result, kernel_.type(edge.operand).shape);
      break;
    case EdgeKind::transpose: {
      const std::vector<std::int64_t>& perm = edge.inst->attrs.integers(Attr::perm);
      std::vector<std::int64_t> inverse(perm.size());
      for (std::size_t i = 0; i < perm.size(); ++i) inverse[static_cast<std::size_t>(perm[i])] = static_cast<int>(i);
      if (operand) {
        result = permuted(*operand, perm);
      } else {
        operand = permuted(*result, inverse);
      }
      break;
    }
    case EdgeKind::reshape:
      if (operand) {
        result = reshaped(*operand, kernel_.type(edge.result).shape);
      } else {
        operand = reshaped(*result, kernel_.type(edge.operand).shape);
      }
      break;
  }
  return operand.has_value() && result.has_value();
}

void LayoutPlan::propagate() {
  bool changed = true;
  while (changed) {
    changed = false;
    for (const Edge& edge : edges_) changed = hand_on(edge) || changed;
  }
}

void LayoutPlan::settle(const ir::Kernel&) {
  // Large tiles first: small ones (rows of sums, columns of maxima) follow them.
  std::vector<std::uint32_t> order;
  for (const auto& [id, c] : classes_) order.push_back(id);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return ir::element_count(classes_[a].shape) > ir::element_count(classes_[b].shape);
  });
  constexpr int vector_bytes = 16;
  for (const std::uint32_t id : order) {
    Class& c = classes_[id];
    if (c.layout) continue;
    std::int64_t vector = c.memory_bytes == 0 ? 4 : vector_bytes / c.memory_bytes;
    // Every lane gets something to do before any gets a vector.
    while (vector > 1 && vector * lane_count > ir::element_count(c.shape)) vector /= 2;
    c.layout = strided(c.shape, static_cast<int>(vector));
    propagate();
  }
}

}  // namespace pk::codegen
