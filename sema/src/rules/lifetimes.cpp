#include "lifetimes.h"

#include <algorithm>

namespace pk::sema::rules {

using ir::Op;

Lifetimes::Lifetimes(const ir::Kernel& kernel, const Uniformity& uniformity)
    : kernel_(kernel), places_(kernel, uniformity), last_uses_(kernel.values.size(), -1) {
  number(kernel.body);
  find_last_uses(kernel.body);
  std::vector<std::int64_t> threads;
  for (std::int64_t t = 0; t < std::max<std::int64_t>(1, kernel.thread_count()); ++t) threads.push_back(t);
  walk(kernel.body, threads, false);
}

std::optional<Lifetime> Lifetimes::uses(ir::Value buffer, std::int64_t thread) const {
  const auto found = lifetimes_.find({buffer, thread});
  return found == lifetimes_.end() ? std::nullopt : std::optional(found->second);
}

void Lifetimes::number(const ir::Region& region) {
  for (const ir::Inst& i : region.insts) {
    Lifetime& extent = extents_[&i];
    extent.first = next_++;
    for (const ir::Region& inner : i.regions) number(inner);
    extent.last = next_ - 1;
  }
}

// Backwards, so that the uses of a result are known before those of the operands it is computed from.
void Lifetimes::find_last_uses(const ir::Region& region) {
  for (auto i = region.insts.rbegin(); i != region.insts.rend(); ++i) {
    for (auto inner = i->regions.rbegin(); inner != i->regions.rend(); ++inner) find_last_uses(*inner);
    std::int64_t last = extents_.at(&*i).first;
    if (ir::info(i->op).effects == ir::effect::none) {
      for (const ir::Value v : i->results) last = std::max(last, last_uses_[v.id]);
    }
    for (const ir::Value v : i->operands) last_uses_[v.id] = std::max(last_uses_[v.id], last);
  }
}

void Lifetimes::walk(const ir::Region& region, const std::vector<std::int64_t>& threads, bool in_roles) {
  for (const ir::Inst& i : region.insts) {
    use(i, threads, in_roles);
    const bool repeats = i.op == Op::for_ || i.op == Op::while_ || i.op == Op::step;
    if (repeats) loops_.push_back(&i);
    if (i.op == Op::alloc) made_.emplace(i.results[0], loops_.size());
    if (i.op == Op::specialize) {
      const std::vector<std::int64_t>& arms = i.attrs.integers(ir::Attr::arms);
      for (std::size_t a = 0; a < i.regions.size(); ++a) {
        std::vector<std::int64_t> mine;
        for (const std::int64_t t : threads) {
          if (static_cast<std::size_t>(t) < arms.size() &&
              arms[static_cast<std::size_t>(t)] == static_cast<std::int64_t>(a))
            mine.push_back(t);
        }
        walk(i.regions[a], mine, true);
      }
    } else if (i.op == Op::pipeline) {
      for (const ir::Value block : i.regions[1].args) made_.emplace(block, loops_.size());
      const bool roles = i.attrs.has(ir::Attr::compute);
      walk(i.regions[1], roles ? i.attrs.integers(ir::Attr::compute) : threads, in_roles || roles);
    } else {
      for (const ir::Region& inner : i.regions) walk(inner, threads, in_roles);
    }
    if (repeats) loops_.pop_back();
  }
}

void Lifetimes::use(const ir::Inst& inst, const std::vector<std::int64_t>& threads, bool in_roles) {
  if (ir::info(inst.op).cls == ir::OpClass::view) return;
  for (const ir::Value operand : inst.operands) {
    if (!kernel_.type(operand).is_ref() || kernel_.type(operand).space != ir::Space::smem) continue;
    const ir::Value buffer = places_.root(operand);
    used_.insert(buffer);
    if (!in_roles) outside_roles_.insert(buffer);
    Lifetime now{extents_.at(&inst).first, extents_.at(&inst).first};
    // What is loaded may be read when it is used.
    for (const ir::Value v : inst.results) now.last = std::max(now.last, last_uses_[v.id]);
    const auto depth = made_.find(buffer);
    if (depth != made_.end() && depth->second < loops_.size()) {
      const Lifetime loop = extents_.at(loops_[depth->second]);
      now = {std::min(now.first, loop.first), std::max(now.last, loop.last)};
    }
    for (const std::int64_t t : threads) {
      const auto [entry, added] = lifetimes_.try_emplace({buffer, t}, now);
      if (added) continue;
      entry->second.first = std::min(entry->second.first, now.first);
      entry->second.last = std::max(entry->second.last, now.last);
    }
  }
}

}  // namespace pk::sema::rules
