#include "shared_plan.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "overlay.h"

namespace pk::codegen {
namespace {

using ir::Attr;
using ir::Op;
using ir::Space;

std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

/// The widest panel whose rows fit the buffer's; 0 when none does. Views begin at multiples of `step` elements.
int widest_panel(const ir::Type& type, int smallest, std::int64_t step) {
  if (type.shape.size() < 2) return 0;
  const std::int64_t row_bytes = std::gcd(type.shape.back(), step) * ir::byte_size(type.dtype);
  for (const int panel : {128, 64, 32, 16}) {
    if (panel >= smallest && row_bytes % panel == 0) return panel;
  }
  return 0;
}

/// Whether lanes of one warp are at different rows, so that plain rows would meet in the same banks.
bool spreads_over_rows(const Layout& layout) {
  if (layout.shape.size() < 2) return false;
  for (int bit = 0; bit < warp_lane_bits; ++bit) {
    const Coords& basis = layout.lanes[static_cast<std::size_t>(bit)];
    if (std::any_of(basis.begin(), basis.end() - 1, [](std::int64_t c) { return c != 0; })) return true;
  }
  return false;
}

}  // namespace

SharedPlan::SharedPlan(const ir::Kernel& kernel, const RefRoots& roots, const Divisors& divisors,
                       const LayoutPlan& layouts, const ir::Target& target, int first_free_barrier)
    : kernel_(kernel), roots_(roots), divisors_(divisors), layouts_(layouts), next_barrier_(first_free_barrier) {
  collect(kernel.body, nullptr);
  choose_layouts();
  place(false);
  if (bytes_ > target.shared_memory_bytes) {
    place(true);
    add_meetings();
  }
}

const SharedBuffer* SharedPlan::find(ir::Value alloc) const {
  const auto found =
      std::find_if(buffers_.begin(), buffers_.end(), [&](const SharedBuffer& b) { return b.value == alloc; });
  return found == buffers_.end() ? nullptr : &*found;
}

const std::vector<Meeting>& SharedPlan::lookup(const Points& points, const ir::Inst& inst) {
  static const std::vector<Meeting> none;
  const auto found = points.find(&inst);
  return found == points.end() ? none : found->second;
}

void SharedPlan::collect(const ir::Region& region, const ir::Inst* scope) {
  std::map<std::int64_t, int> unions;
  for (const ir::Inst& inst : region.insts) {
    if (inst.op == Op::scoped) outer_scopes_[&inst] = scope;
    for (const ir::Region& inner : inst.regions) collect(inner, inst.op == Op::scoped ? &inst : scope);
    if (inst.op != Op::alloc) continue;
    const ir::Type& type = kernel_.type(inst.results[0]);
    const bool global = inst.attrs.flag(Attr::global);
    const bool synchronises =
        type.space == Space::barrier || type.space == Space::cluster_barrier || type.space == Space::semaphore;
    if (type.space != Space::smem && (!synchronises || global)) continue;
    SharedBuffer buffer{&inst, scope, inst.results[0], 0, 0, {}, static_cast<int>(buffers_.size()), false};
    buffer.bytes =
        ir::element_count(type.shape) * (synchronises ? ir::barrier_bytes : std::int64_t{ir::byte_size(type.dtype)});
    if (inst.attrs.has(Attr::union_group)) {
      buffer.storage = unions.emplace(inst.attrs.integer(Attr::union_group), buffer.storage).first->second;
    }
    buffers_.push_back(buffer);
  }
  // Members of a union are placed as one: each has the size of the largest.
  for (SharedBuffer& a : buffers_) {
    for (const SharedBuffer& b : buffers_) {
      if (a.storage == b.storage) a.bytes = std::max(a.bytes, b.bytes);
    }
  }
}

void SharedPlan::choose_layouts() {
  std::set<ir::Value> mma, across_sum, copied, spread;
  std::map<ir::Value, std::int64_t> steps;  // what divides the columns at which views begin
  for_each_inst(kernel_.body, [&](const ir::Inst& inst) {
    const auto smem = [&](std::size_t i) {
      return i < inst.operands.size() && kernel_.type(inst.operands[i]).is_ref() &&
             kernel_.type(inst.operands[i]).space == Space::smem;
    };
    if (inst.op == Op::wgmma) {
      for (const std::size_t i : {1, 2}) {
        if (!smem(i)) continue;
        mma.insert(roots_(inst.operands[i]));
        // Along the sum an operand may begin within a panel, at steps of one MMA; across it only where a panel does.
        const bool along_sum = roots_.contiguous_axis(inst.operands[i]) == (i == 1 ? 1 : 0);
        if (!along_sum) across_sum.insert(roots_(inst.operands[i]));
      }
    }
    if (inst.op == Op::subview && smem(0)) {
      const int axis = roots_.contiguous_axis(inst.operands[0]);
      std::int64_t& step = steps[roots_(inst.operands[0])];
      if (axis >= 0) step = std::gcd(step, divisors_.of(inst.operands[static_cast<std::size_t>(axis) + 1]));
    }
    if (inst.op == Op::copy_gmem_to_smem) copied.insert(roots_(inst.operands[1]));
    if (inst.op == Op::copy_smem_to_gmem) copied.insert(roots_(inst.operands[0]));
    const bool loads = inst.op == Op::load && smem(0) && kernel_.type(inst.results[0]).is_tile();
    const bool stores = inst.op == Op::store && smem(0) && kernel_.type(inst.operands[1]).is_tile();
    if (loads && spreads_over_rows(layouts_[inst.results[0]])) spread.insert(roots_(inst.operands[0]));
    if (stores && spreads_over_rows(layouts_[inst.operands[1]])) spread.insert(roots_(inst.operands[0]));
  });
  for (SharedBuffer& buffer : buffers_) {
    const ir::Type& type = kernel_.type(buffer.value);
    if (type.space != Space::smem) continue;
    buffer.by_engine = mma.contains(buffer.value) || copied.contains(buffer.value);
    if (roots_.is_reshaped(buffer.value)) continue;
    const bool pinned = buffer.alloc->attrs.has(Attr::swizzle);
    const int wanted = static_cast<int>(buffer.alloc->attrs.integer(Attr::swizzle));
    int panel = 0;
    if (mma.contains(buffer.value)) {
      const bool any_step =
          steps[buffer.value] * ir::byte_size(type.dtype) % 32 == 0 && !across_sum.contains(buffer.value);
      panel = widest_panel(type, 16, any_step ? 0 : steps[buffer.value]);
    } else if (spread.contains(buffer.value) && type.shape.size() > 1 && type.shape[type.shape.size() - 2] % 8 == 0) {
      panel = widest_panel(type, 32, 0);
    }
    if (pinned) panel = wanted > 0 ? wanted : (mma.contains(buffer.value) ? 16 : 0);
    if (panel > 0 && type.shape.back() * ir::byte_size(type.dtype) % panel != 0) panel = 0;
    buffer.layout = {panel, panel > 16 ? panel : 0};
  }
}

bool SharedPlan::nested(const ir::Inst* a, const ir::Inst* b) const {
  const auto holds = [&](const ir::Inst* outer, const ir::Inst* inner) {
    for (const ir::Inst* s = inner; s != nullptr; s = outer_scopes_.at(s)) {
      if (s == outer) return true;
    }
    return false;
  };
  return holds(a, b) || holds(b, a);
}

void SharedPlan::place(bool overlay) {
  const ArmUses uses(kernel_, roots_);
  overlaid_.clear();
  bytes_ = 0;
  const auto in_memory = [&](const SharedBuffer& b) { return kernel_.type(b.value).space == Space::smem; };
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (in_memory(buffers_[i])) order.push_back(i);
  }
  // Outer scopes come later in the list than inner ones; without sharing, an outer buffer has to be placed first.
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto depth = [&](const ir::Inst* s) {
      int n = 0;
      for (; s != nullptr; s = outer_scopes_.at(s)) ++n;
      return n;
    };
    return depth(buffers_[a].scope) < depth(buffers_[b].scope);
  });
  if (overlay) {
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return buffers_[a].bytes > buffers_[b].bytes; });
  }
  std::vector<std::size_t> placed;
  for (const std::size_t i : order) {
    SharedBuffer& mine = buffers_[i];
    const auto conflicts = [&](const SharedBuffer& other) {
      if (other.storage == mine.storage || !nested(mine.scope, other.scope)) return false;
      return !overlay || (!uses.may_follow(mine.value, other.value) && !uses.may_follow(other.value, mine.value));
    };
    mine.offset = 0;
    const auto sibling =
        std::find_if(placed.begin(), placed.end(), [&](std::size_t j) { return buffers_[j].storage == mine.storage; });
    if (sibling != placed.end()) {
      mine.offset = buffers_[*sibling].offset;
      continue;
    }
    for (bool moved = true; moved;) {
      moved = false;
      for (const std::size_t j : placed) {
        const SharedBuffer& other = buffers_[j];
        const bool overlaps = mine.offset < other.offset + other.bytes && other.offset < mine.offset + mine.bytes;
        if (!overlaps || !conflicts(other)) continue;
        mine.offset = round_up(other.offset + other.bytes, ir::shared_alignment);
        moved = true;
      }
    }
    for (const std::size_t j : placed) {
      const SharedBuffer& other = buffers_[j];
      const bool overlaps = mine.offset < other.offset + other.bytes && other.offset < mine.offset + mine.bytes;
      if (!overlaps || other.storage == mine.storage || !nested(mine.scope, other.scope)) continue;
      if (uses.may_follow(other.value, mine.value)) {
        overlaid_.emplace_back(i, j);
      } else {
        overlaid_.emplace_back(j, i);
      }
    }
    placed.push_back(i);
    bytes_ = std::max(bytes_, mine.offset + mine.bytes);
  }
  // Barriers are few and small: each has a place of its own for the whole kernel.
  bytes_ = round_up(bytes_, ir::barrier_bytes);
  for (SharedBuffer& buffer : buffers_) {
    if (in_memory(buffer)) continue;
    buffer.offset = bytes_;
    bytes_ += buffer.bytes;
  }
}

void SharedPlan::add_meetings() {
  const ArmUses uses(kernel_, roots_);
  std::map<std::size_t, std::set<std::size_t>> olds;
  for (const auto& [later, earlier] : overlaid_) olds[later].insert(earlier);
  for (const auto& [later, earlier] : olds) {
    const std::map<const ir::Region*, ArmUse>& mine = uses.of(buffers_[later].value);
    std::map<const ir::Region*, const ArmUse*> last_uses;
    for (const std::size_t e : earlier) {
      for (const auto& [arm, use] : uses.of(buffers_[e].value)) {
        const ArmUse*& known = last_uses[arm];
        if (known == nullptr || use.last > known->last) known = &use;
      }
    }
    Meeting meeting{next_barrier_++, 0, true};
    for (const auto& [arm, use] : mine) meeting.threads += uses.threads_of(arm);
    for (const auto& [arm, use] : last_uses) meeting.threads += mine.contains(arm) ? 0 : uses.threads_of(arm);
    for (const auto& [arm, use] : mine) before_[use.begin].push_back(meeting);
    meeting.waits = false;
    for (const auto& [arm, use] : last_uses) {
      if (!mine.contains(arm)) after_[use->end].push_back(meeting);
    }
  }
}

}  // namespace pk::codegen
