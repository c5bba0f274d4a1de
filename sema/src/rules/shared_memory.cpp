#include "shared_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "divergence.h"
#include "lifetimes.h"

namespace pk::sema::rules {
namespace {

using ir::Op;

/// One thing that takes shared memory, with the bytes that aligning it cost.
struct Item {
  std::string name;
  std::string what;  ///< "f32[64, 1024]", "4 stages of bf16[128, 64]"
  ir::Loc loc;
  std::int64_t bytes = 0;
  std::int64_t padding = 0;
  std::int64_t part_bytes = 0;  ///< of one row of the first axis, or of one stage
  std::string part;             ///< "row", "stage"
  ir::Value buffer;             ///< not valid for barriers
};

std::int64_t align(std::int64_t offset, std::int64_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

std::string type_text(const ir::Type& type) {
  if (type.space == ir::Space::smem)
    return fmt::format("{}[{}]", ir::spelling(type.dtype), fmt::join(type.shape, ", "));
  if (type.shape.empty()) return std::string(ir::spelling(type.space));
  return fmt::format("{}[{}]", ir::spelling(type.space), fmt::join(type.shape, ", "));
}

bool is_static(const ir::Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](std::int64_t d) { return d >= 0; });
}

/// Number of elements, or a number far over every limit.
std::int64_t element_count(const ir::Shape& shape) {
  constexpr std::int64_t too_many = std::int64_t{1} << 40;
  std::int64_t n = 1;
  for (const std::int64_t d : shape) n = d > 0 && n > too_many / d ? too_many : std::min(n * d, too_many);
  return n;
}

/// Bytes of an allocation; 0 when they are not known or not in shared memory.
std::int64_t bytes_of(const ir::Type& type, const ir::Attrs& attrs) {
  if (!is_static(type.shape)) return 0;
  const std::int64_t n = element_count(type.shape);
  switch (type.space) {
    case ir::Space::smem:
      return n * ir::byte_size(type.dtype);
    case ir::Space::barrier:
    case ir::Space::cluster_barrier:
      return n * ir::barrier_bytes;
    case ir::Space::semaphore:
      return attrs.flag(ir::Attr::global) ? 0 : n * ir::byte_size(ir::Dtype::index);
    case ir::Space::gmem:
    case ir::Space::acc:
    case ir::Space::tmem:
      break;
  }
  return 0;
}

class MemoryCheck {
 public:
  MemoryCheck(const ir::Kernel& kernel, const Uniformity& uniformity, const ir::Target& target, Diagnostics& diags)
      : kernel_(kernel), lifetimes_(kernel, uniformity), target_(target), diags_(diags) {}

  void region(const ir::Region& r) {
    for (const ir::Inst& i : r.insts) {
      if (i.op == Op::scoped || i.op == Op::pipeline) {
        enter(i);
      } else {
        for (const ir::Region& inner : i.regions) region(inner);
      }
    }
  }

 private:
  void enter(const ir::Inst& i) {
    const std::size_t items = items_.size();
    const std::int64_t offset = offset_;
    if (i.op == Op::scoped) {
      add_allocs(i.regions[0]);
    } else {
      add_transfers(i);
    }
    const bool fits = offset_ <= target_.shared_memory_bytes || shares(i);
    if (fits) {
      for (const ir::Region& inner : i.regions) region(inner);
    } else {
      report(items);
    }
    items_.resize(items);
    offset_ = offset;
  }

  /// Whether buffers that specialised code uses one after the other can share storage, so that all fit.
  [[nodiscard]] bool shares(const ir::Inst& i) const {
    const Lifetime inside = lifetimes_.extent(i);
    std::int64_t always = 0;
    std::vector<const Item*> movable;
    for (const Item& item : items_) {
      if (item.buffer.valid() && lifetimes_.only_in_roles(item.buffer)) {
        movable.push_back(&item);
      } else {
        always += align(item.bytes, item.buffer.valid() ? ir::shared_alignment : ir::barrier_bytes);
      }
    }
    for (std::int64_t thread = 0; thread < std::max<std::int64_t>(1, kernel_.thread_count()); ++thread) {
      for (const Item* start : movable) {
        const auto life = lifetimes_.uses(start->buffer, thread);
        if (!life) continue;
        const std::int64_t position = std::max(life->first, inside.first);
        std::int64_t live = always;
        for (const Item* item : movable) {
          const auto other = lifetimes_.uses(item->buffer, thread);
          if (other && other->holds(position)) live += align(item->bytes, ir::shared_alignment);
        }
        if (live > target_.shared_memory_bytes) return false;
      }
    }
    return always <= target_.shared_memory_bytes;
  }

  void place(Item item, std::int64_t alignment) {
    const std::int64_t start = align(offset_, alignment);
    item.padding = start - offset_;
    offset_ = start + item.bytes;
    items_.push_back(std::move(item));
  }

  void add_allocs(const ir::Region& scope) {
    std::map<std::int64_t, std::int64_t> unions;  // bytes a union has so far, which starts at the last placed item
    for (const ir::Inst& alloc : scope.insts) {
      if (alloc.op != Op::alloc) break;
      const ir::Type& type = kernel_.type(alloc.results[0]);
      Item item{std::string(alloc.attrs.text(ir::Attr::name)),
                type_text(type),
                alloc.loc,
                bytes_of(type, alloc.attrs),
                0,
                0,
                "row",
                {}};
      if (type.space == ir::Space::smem) item.buffer = alloc.results[0];
      if (item.bytes == 0) continue;
      if (type.space == ir::Space::smem && type.shape.size() > 1 && type.shape[0] > 0)
        item.part_bytes = item.bytes / type.shape[0];
      if (alloc.attrs.has(ir::Attr::union_group)) {
        const auto [known, first] = unions.emplace(alloc.attrs.integer(ir::Attr::union_group), item.bytes);
        if (!first) {
          const std::int64_t more = std::max<std::int64_t>(0, item.bytes - known->second);
          known->second += more;
          offset_ += more;
          item.what += " (shares the storage of a union)";
          item.bytes = more;
          items_.push_back(std::move(item));
          continue;
        }
      }
      place(std::move(item), type.space == ir::Space::smem ? ir::shared_alignment : ir::barrier_bytes);
    }
  }

  /// Whether the transfer's place depends on the loop variables; if not, it is fetched once.
  [[nodiscard]] static bool moves(const ir::Region& transfers, const ir::Inst& transfer) {
    std::set<ir::Value> varying(transfers.args.begin(), transfers.args.end());
    for (const ir::Inst& i : transfers.insts) {
      const bool uses =
          std::any_of(i.operands.begin(), i.operands.end(), [&](ir::Value v) { return varying.contains(v); });
      if (&i == &transfer) return uses;
      if (uses) varying.insert(i.results.begin(), i.results.end());
    }
    return true;
  }

  void add_transfers(const ir::Inst& pipeline) {
    constexpr std::int64_t most_stages = 1 << 16;  // whatever the size of a block, more do not fit
    const std::int64_t stages = std::clamp<std::int64_t>(pipeline.attrs.integer(ir::Attr::stages, 1), 1, most_stages);
    std::size_t number = 0;
    for (const ir::Inst& transfer : pipeline.regions[0].insts) {
      if (transfer.op != Op::transfer) continue;
      const ir::Value block = number < pipeline.regions[1].args.size() ? pipeline.regions[1].args[number] : ir::Value{};
      ++number;
      const ir::Type& type = kernel_.type(transfer.operands[0]);
      if (!is_static(type.shape)) continue;
      const bool staged = stages > 1 && moves(pipeline.regions[0], transfer);
      const std::int64_t slot = element_count(type.shape) * ir::byte_size(type.dtype);
      const ir::Type slot_type = ir::Type::ref(ir::Space::smem, type.dtype, type.shape);
      Item item{std::string(transfer.attrs.text(ir::Attr::name)),
                type_text(slot_type),
                transfer.loc,
                slot,
                0,
                0,
                "stage",
                block};
      if (staged) {
        item.bytes = slot * stages;
        item.part_bytes = slot;
        item.what = fmt::format("{} stages of {}", stages, item.what);
      }
      place(std::move(item), ir::shared_alignment);
    }
    // A slot has a barrier for "filled" and one for "free".
    place({"", "the pipeline's barriers", pipeline.loc, 2 * stages * ir::barrier_bytes, 0, 0, "", {}},
          ir::barrier_bytes);
  }

  void report(std::size_t innermost) {
    const auto first = items_.begin() + static_cast<std::ptrdiff_t>(innermost);
    const auto culprit =
        std::max_element(first, items_.end(), [](const Item& a, const Item& b) { return a.bytes < b.bytes; });
    const std::string name = culprit->name.empty() ? culprit->what : fmt::format("`{}`", culprit->name);
    auto report = diags_.report<diag::shared_memory_limit>(culprit->loc.span, name, offset_, target_.name,
                                                           target_.shared_memory_bytes);
    report.at(fmt::format("{} bytes", culprit->bytes));
    label_calls(kernel_, culprit->loc, report);
    std::int64_t padding = 0;
    for (const Item& item : items_) {
      padding += item.padding;
      if (&item != &*culprit && !item.name.empty() && item.loc.span.valid()) {
        report.label(item.loc.span, fmt::format("`{}` is live too: {} bytes", item.name, item.bytes));
      }
    }
    report.note("live here:");
    for (const Item& item : items_) {
      report.note(item.name.empty() ? fmt::format("{:>8} bytes  {}", item.bytes, item.what)
                                    : fmt::format("{:>8} bytes  `{}`: {}", item.bytes, item.name, item.what));
    }
    if (padding > 0)
      report.note(
          fmt::format("{:>8} bytes  padding: allocations start at multiples of {}", padding, ir::shared_alignment));
    const std::int64_t left = target_.shared_memory_bytes - (offset_ - culprit->bytes);
    if (left > 0 && culprit->part_bytes > 0 && left >= culprit->part_bytes) {
      report.help(fmt::format("{} bytes are left for {}, enough for {} {}{} of {} bytes", left, name,
                              left / culprit->part_bytes, culprit->part, left / culprit->part_bytes == 1 ? "" : "s",
                              culprit->part_bytes));
    } else {
      report.help(fmt::format("{} bytes are left for {}", std::max<std::int64_t>(left, 0), name));
    }
    if (items_.size() > 1)
      report.help("scopes that stand beside each other, instead of one inside the other, share their memory");
  }

  const ir::Kernel& kernel_;
  Lifetimes lifetimes_;
  const ir::Target& target_;
  Diagnostics& diags_;
  std::vector<Item> items_;
  std::int64_t offset_ = 0;
};

}  // namespace

void check_shared_memory(const ir::Kernel& kernel, const Uniformity& uniformity, const ir::Target& target,
                         Diagnostics& diags) {
  MemoryCheck(kernel, uniformity, target, diags).region(kernel.body);
}

}  // namespace pk::sema::rules
