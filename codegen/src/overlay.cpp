#include "overlay.h"

#include <algorithm>

namespace pk::codegen {

using ir::Op;

ArmUses::ArmUses(const ir::Kernel& kernel, const RefRoots& roots) : kernel_(kernel), roots_(roots) {
  number(kernel.body);
  walk(kernel.body, {});
}

void ArmUses::number(const ir::Region& region) {
  for (const ir::Inst& inst : region.insts) {
    const std::int64_t first = next_++;
    for (const ir::Region& inner : inst.regions) number(inner);
    extents_[&inst] = {first, next_ - 1};
  }
}

void ArmUses::walk(const ir::Region& region, const Position& at) {
  for (const ir::Inst& inst : region.insts) {
    Position inside = at;
    if (at.arm != nullptr) inside.path.push_back(&inst);
    if (inst.op == Op::alloc) made_in_loops_[inst.results[0].id] = at.arm == nullptr ? at.loops : -1;
    if (ir::info(inst.op).cls != ir::OpClass::view) {
      for (const ir::Value v : inst.operands) {
        const ir::Type& type = kernel_.type(v);
        if (type.is_ref() && type.space == ir::Space::smem) use(roots_(v), inside);
      }
    }
    if (at.arm == nullptr && inst.op == Op::specialize) {
      const std::vector<std::int64_t>& arms = inst.attrs.integers(ir::Attr::arms);
      for (std::size_t a = 0; a < inst.regions.size(); ++a) {
        threads_[&inst.regions[a]] = static_cast<int>(std::count(arms.begin(), arms.end(), static_cast<int>(a)));
        walk(inst.regions[a], {&inst, &inst.regions[a], {}, at.loops});
      }
      continue;
    }
    if (at.arm == nullptr && (inst.op == Op::for_ || inst.op == Op::while_)) ++inside.loops;
    for (const ir::Region& inner : inst.regions) walk(inner, inside);
  }
}

void ArmUses::use(ir::Value root, const Position& at) {
  Buffer& buffer = buffers_[root.id];
  const auto made = made_in_loops_.find(root.id);
  const bool once = made != made_in_loops_.end() && made->second == at.loops;
  if (at.arm == nullptr || !once || (buffer.specialize != nullptr && buffer.specialize != at.specialize)) {
    buffer.anywhere_else = true;
    return;
  }
  buffer.specialize = at.specialize;
  // Scopes are entered once where they stand; whatever else holds the use counts as a whole.
  const auto whole = std::find_if(at.path.begin(), at.path.end(),
                                  [](const ir::Inst* i) { return i->op != Op::scoped && i->op != Op::block; });
  const auto [first, last] = extents_.at(*whole);
  const auto [entry, added] = buffer.arms.try_emplace(at.arm, ArmUse{first, last, *whole, *whole});
  if (added) return;
  ArmUse& known = entry->second;
  if (first < known.first) known.first = first, known.begin = *whole;
  if (last > known.last) known.last = last, known.end = *whole;
}

const std::map<const ir::Region*, ArmUse>& ArmUses::of(ir::Value buffer) const {
  static const std::map<const ir::Region*, ArmUse> nothing;
  const auto found = buffers_.find(buffer.id);
  return found == buffers_.end() ? nothing : found->second.arms;
}

bool ArmUses::may_follow(ir::Value earlier, ir::Value later) const {
  const auto a = buffers_.find(earlier.id), b = buffers_.find(later.id);
  if (a == buffers_.end() || b == buffers_.end()) return false;
  if (a->second.anywhere_else || b->second.anywhere_else || a->second.specialize != b->second.specialize) return false;
  for (const auto& [arm, use] : b->second.arms) {
    const auto before = a->second.arms.find(arm);
    if (before != a->second.arms.end() && before->second.last >= use.first) return false;
  }
  return true;
}

}  // namespace pk::codegen
