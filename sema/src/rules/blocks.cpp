#include "blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "divergence.h"
#include "places.h"

namespace pk::sema::rules {
namespace {

using ir::Op;

/// Position of the operand that an instruction writes to, or -1.
int written_operand(Op op) {
  constexpr std::array<std::pair<Op, int>, 5> writers{
      {{Op::store, 0}, {Op::store_masked, 0}, {Op::atomic, 0}, {Op::copy_gmem_to_smem, 1}, {Op::async_store, 1}}};
  const auto found = std::find_if(writers.begin(), writers.end(), [op](const auto& w) { return w.first == op; });
  return found == writers.end() ? -1 : found->second;
}

class BlockCheck {
 public:
  BlockCheck(const ir::Kernel& kernel, const Uniformity& uniformity, Diagnostics& diags)
      : kernel_(kernel), places_(kernel, uniformity), diags_(diags) {}

  void region(const ir::Region& r) {
    for (const ir::Inst& i : r.insts) {
      if (i.op == Op::pipeline) pipeline(i);
      for (const ir::Region& inner : i.regions) region(inner);
    }
  }

 private:
  void pipeline(const ir::Inst& i) {
    std::size_t number = 0;
    for (const ir::Inst& t : i.regions[0].insts) {
      if (t.op != Op::transfer || number >= i.regions[1].args.size()) continue;
      if (t.attrs.flag(ir::Attr::store) && !t.attrs.flag(ir::Attr::load_back)) check(i, t, i.regions[1].args[number]);
      ++number;
    }
  }

  /// Everything that may be written to the block, by any thread that runs the body; an unknown part counts as all of
  /// it.
  void collect(const ir::Region& r, ir::Value block, const std::vector<std::int64_t>& threads,
               std::vector<Place>& writes) {
    for (const ir::Inst& i : r.insts) {
      const int operand = written_operand(i.op);
      if (operand >= 0 && places_.root(i.operands[static_cast<std::size_t>(operand)]) == block) {
        for (const std::int64_t thread : threads)
          writes.push_back(places_.resolve(i.operands[static_cast<std::size_t>(operand)], thread));
      }
      for (const ir::Region& inner : i.regions) collect(inner, block, threads, writes);
    }
  }

  void check(const ir::Inst& pipeline_inst, const ir::Inst& transfer, ir::Value block) {
    const bool blocked = pipeline_inst.attrs.flag(ir::Attr::blocked);
    std::vector<std::int64_t> threads = pipeline_inst.attrs.integers(ir::Attr::compute);
    for (std::int64_t t = 0;
         threads.size() < static_cast<std::size_t>(std::max<std::int64_t>(1, kernel_.thread_count())) &&
         !pipeline_inst.attrs.has(ir::Attr::compute);
         ++t) {
      threads.push_back(t);
    }
    std::vector<Place> writes;
    collect(pipeline_inst.regions[1], block, threads, writes);
    const std::string_view name = transfer.attrs.text(ir::Attr::name);
    if (writes.empty()) {
      auto report = diags_.report<diag::unwritten_block>(
          transfer.loc.span, name, blocked ? "nothing in the kernel writes to it" : "nothing in a step writes to it");
      label_calls(kernel_, transfer.loc, report);
      report.help(fmt::format("write it: `{}[...] = …;`, or drop the {}", name, blocked ? "parameter" : "store"));
      return;
    }
    const auto gap = first_gap(writes, kernel_.type(block).shape);
    if (blocked || !gap) return;  // the blocks of a blocked kernel may be filled over several steps
    auto report = diags_.report<diag::unwritten_block>(
        transfer.loc.span, name, fmt::format("a step leaves its element [{}] unwritten", fmt::join(*gap, ", ")));
    label_calls(kernel_, transfer.loc, report);
    report.note("the whole block goes to global memory after each step")
        .help(fmt::format("write all of `{}` in each step, or store a smaller part", name));
  }

  /// The first element that no write can reach; nothing when the writes may cover the block.
  static std::optional<std::vector<std::int64_t>> first_gap(const std::vector<Place>& writes, const ir::Shape& shape) {
    std::vector<std::vector<std::int64_t>> cuts(shape.size(), std::vector<std::int64_t>{0});
    for (const Place& place : writes) {
      if (!place.known) return std::nullopt;
      for (std::size_t a = 0; a < shape.size(); ++a) {
        const Interval& interval = place.box[a];
        if (interval.whole) continue;
        if (!interval.start || interval.size < 0) return std::nullopt;
        cuts[a].push_back(*interval.start);
        cuts[a].push_back(*interval.start + interval.size);
      }
    }
    std::size_t cells = 1;
    for (std::size_t a = 0; a < shape.size(); ++a) {
      if (shape[a] < 0) return std::nullopt;
      std::erase_if(cuts[a], [&](std::int64_t c) { return c < 0 || c >= shape[a]; });
      std::sort(cuts[a].begin(), cuts[a].end());
      cuts[a].erase(std::unique(cuts[a].begin(), cuts[a].end()), cuts[a].end());
      cells *= cuts[a].size();
    }
    constexpr std::size_t most_cells = 100000;
    if (cells > most_cells || ir::element_count(shape) == 0) return std::nullopt;
    // Between two cuts all elements fare alike, so one of each cell is looked at.
    for (std::size_t cell = 0; cell < cells; ++cell) {
      std::vector<std::int64_t> element(shape.size());
      std::size_t rest = cell;
      for (std::size_t a = shape.size(); a > 0; --a) {
        element[a - 1] = cuts[a - 1][rest % cuts[a - 1].size()];
        rest /= cuts[a - 1].size();
      }
      const bool written = std::any_of(writes.begin(), writes.end(), [&element](const Place& place) {
        for (std::size_t a = 0; a < element.size(); ++a) {
          const Interval& interval = place.box[a];
          if (!interval.whole && (element[a] < *interval.start || element[a] >= *interval.start + interval.size))
            return false;
        }
        return true;
      });
      if (!written) return element;
    }
    return std::nullopt;
  }

  const ir::Kernel& kernel_;
  Places places_;
  Diagnostics& diags_;
};

}  // namespace

void check_store_blocks(const ir::Kernel& kernel, const Uniformity& uniformity, Diagnostics& diags) {
  BlockCheck(kernel, uniformity, diags).region(kernel.body);
}

}  // namespace pk::sema::rules
