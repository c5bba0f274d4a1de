#include "barriers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "divergence.h"
#include "places.h"

namespace pk::sema::rules {
namespace {

using ir::Op;

// Loops with more rounds are not counted; an mbarrier counts to less.
constexpr std::int64_t most_rounds = std::int64_t{1} << 24;

/// How often something happens in each lane; nothing when that is not known.
using Times = std::vector<std::optional<std::int64_t>>;

/// What happens at one barrier object.
struct Uses {
  Times arrivals;
  Times waits;
  bool tested = false;
  const ir::Inst* copy = nullptr;
  const ir::Inst* arrive = nullptr;
  const ir::Inst* wait = nullptr;
};

/// The barriers of one allocation, by index; `counted` is lost when a use cannot be attributed to one of them.
struct BarrierArray {
  const ir::Inst* alloc = nullptr;
  bool counted = true;
  bool waited = false;  ///< some wait or test stands somewhere
  std::map<std::vector<std::int64_t>, Uses> uses;
};

class BarrierCheck {
 public:
  BarrierCheck(const ir::Kernel& kernel, const Uniformity& uniformity, Diagnostics& diags)
      : kernel_(kernel),
        uniformity_(uniformity),
        lanes_(uniformity.lanes()),
        places_(kernel, uniformity),
        diags_(diags) {}

  void run() {
    Times once(static_cast<std::size_t>(lanes_.count()), 1);
    region(kernel_.body, once);
  }

 private:
  [[nodiscard]] std::int64_t thread_of(int lane) const {
    const int axis = lanes_.thread_axis();
    return axis < 0 ? 0 : lanes_.coordinate(lane, axis);
  }

  /// Walks a region that runs `times` often; what stands behind a jump that may have been taken runs unknown times.
  void region(const ir::Region& r, Times times) {
    for (const ir::Inst& i : r.insts) {
      inst(i, times);
      if (jumps_out(i)) times.assign(times.size(), std::nullopt);
    }
  }

  /// Whether the instruction may leave the region it stands in.
  [[nodiscard]] static bool jumps_out(const ir::Inst& i, bool in_loop = false, bool in_block = false) {
    if (i.op == Op::exit_block) return !in_block;
    if (i.op == Op::break_ || i.op == Op::continue_) return !in_loop;
    const bool loop = in_loop || i.op == Op::for_ || i.op == Op::while_;
    const bool block = in_block || i.op == Op::block;
    return std::any_of(i.regions.begin(), i.regions.end(), [&](const ir::Region& r) {
      return std::any_of(r.insts.begin(), r.insts.end(),
                         [&](const ir::Inst& inner) { return jumps_out(inner, loop, block); });
    });
  }

  [[nodiscard]] Times masked(const Times& times, const Known& condition, bool sense) const {
    Times out = times;
    for (int lane = 0; lane < lanes_.count(); ++lane) {
      auto& n = out[static_cast<std::size_t>(lane)];
      const auto c = condition.at(lane);
      if (n == 0) continue;
      if (!c) {
        n.reset();
      } else if ((*c != 0) != sense) {
        n = 0;
      }
    }
    return out;
  }

  void inst(const ir::Inst& i, const Times& times) {
    if (i.op == Op::if_) {
      const Known& condition = uniformity_.value(i.operands[0]);
      region(i.regions[0], masked(times, condition, true));
      region(i.regions[1], masked(times, condition, false));
    } else if (i.op == Op::specialize) {
      specialize(i, times);
    } else if (i.op == Op::for_) {
      region(i.regions[0], repeated(i, times));
    } else if (i.op == Op::pipeline) {
      pipeline(i, times);
    } else if (i.op == Op::while_ || i.op == Op::step) {
      for (const ir::Region& r : i.regions) region(r, Times(times.size()));
    } else if (i.op == Op::scoped) {
      scope(i, times);
    } else if (i.op == Op::block) {
      region(i.regions[0], times);
    } else {
      use(i, times);
    }
  }

  void specialize(const ir::Inst& i, const Times& times) {
    const std::vector<std::int64_t>& arms = i.attrs.integers(ir::Attr::arms);
    for (std::size_t a = 0; a < i.regions.size(); ++a) {
      Times mine = times;
      for (int lane = 0; lane < lanes_.count(); ++lane) {
        const auto thread = static_cast<std::size_t>(thread_of(lane));
        if (thread >= arms.size()) {
          mine[static_cast<std::size_t>(lane)].reset();
        } else if (arms[thread] != static_cast<std::int64_t>(a)) {
          mine[static_cast<std::size_t>(lane)] = 0;
        }
      }
      region(i.regions[a], mine);
    }
  }

  [[nodiscard]] Times repeated(const ir::Inst& loop, const Times& times) const {
    const Known rounds = uniformity_.trip_count(loop);
    const bool jumps = std::any_of(loop.regions[0].insts.begin(), loop.regions[0].insts.end(),
                                   [](const ir::Inst& i) { return jumps_out(i); });
    Times out = times;
    for (int lane = 0; lane < lanes_.count(); ++lane) {
      auto& n = out[static_cast<std::size_t>(lane)];
      const auto r = rounds.at(lane);
      if (n == 0 || r == 0) {
        n = 0;
      } else if (!r || !n || jumps || *r > most_rounds || *n > most_rounds) {
        n.reset();
      } else {
        n = *n * *r;
      }
    }
    return out;
  }

  void pipeline(const ir::Inst& i, const Times& times) {
    Times mine = times;
    if (i.attrs.has(ir::Attr::compute))
      mine = masked(times, lanes_.threads_in(i.attrs.integers(ir::Attr::compute)), true);
    region(i.regions[1], mine);
  }

  /// Counts the uses of the scope's barriers in one entry of it.
  void scope(const ir::Inst& i, const Times& times) {
    std::vector<ir::Value> mine;
    for (const ir::Inst& alloc : i.regions[0].insts) {
      if (alloc.op != Op::alloc) break;
      const ir::Space space = kernel_.type(alloc.results[0]).space;
      if (space != ir::Space::barrier && space != ir::Space::cluster_barrier) continue;
      arrays_[alloc.results[0]] = {&alloc, true, false, {}};
      mine.push_back(alloc.results[0]);
    }
    // Barriers of this scope are counted for one entry, those of scopes around it for all.
    if (mine.empty()) return region(i.regions[0], times);
    Times entered = times;
    for (auto& n : entered) {
      if (n != 0) n = 1;
    }
    const bool entered_once = times == entered;
    if (!entered_once) {
      for (auto& [root, array] : arrays_) {
        if (std::find(mine.begin(), mine.end(), root) == mine.end())
          array.counted = array.counted && !used_inside(i, root);
      }
    }
    region(i.regions[0], entered);
    const bool every_path = std::all_of(times.begin(), times.end(), [](const auto& n) { return n.has_value(); });
    for (const ir::Value root : mine) {
      judge(arrays_.at(root), every_path);
      arrays_.erase(root);
    }
  }

  [[nodiscard]] bool used_inside(const ir::Inst& i, ir::Value root) const {
    if (std::any_of(i.operands.begin(), i.operands.end(),
                    [&](ir::Value v) { return kernel_.type(v).is_ref() && places_.root(v) == root; }))
      return true;
    return std::any_of(i.regions.begin(), i.regions.end(), [&](const ir::Region& r) {
      return std::any_of(r.insts.begin(), r.insts.end(),
                         [&](const ir::Inst& inner) { return used_inside(inner, root); });
    });
  }

  void use(const ir::Inst& i, const Times& times) {
    for (std::size_t o = 0; o < i.operands.size(); ++o) {
      if (!kernel_.type(i.operands[o]).is_ref()) continue;
      const auto array = arrays_.find(places_.root(i.operands[o]));
      if (array == arrays_.end()) continue;
      if (i.op == Op::peer) array->second.counted = false;
      if (ir::info(i.op).cls == ir::OpClass::view) continue;
      if (i.op == Op::barrier_wait || i.op == Op::barrier_test) array->second.waited = true;
      for (int lane = 0; lane < lanes_.count(); ++lane)
        count(array->second, i, i.operands[o], lane, times[static_cast<std::size_t>(lane)]);
    }
  }

  void count(BarrierArray& array, const ir::Inst& i, ir::Value ref, int lane, std::optional<std::int64_t> times) {
    if (times == 0) return;
    const Place place = places_.resolve(ref, thread_of(lane));
    std::vector<std::int64_t> index;
    for (const Interval& interval : place.box) {
      if (!place.known || !interval.start || interval.size != 1) {
        array.counted = false;
        return;
      }
      index.push_back(*interval.start);
    }
    if (place.foreign || i.op == Op::async_store) {
      array.counted = false;
      return;
    }
    const auto [entry, added] = array.uses.try_emplace(std::move(index));
    Uses& uses = entry->second;
    if (added) {
      uses.arrivals.assign(static_cast<std::size_t>(lanes_.count()), 0);
      uses.waits.assign(static_cast<std::size_t>(lanes_.count()), 0);
    }
    const auto add = [&](Times& to) {
      auto& n = to[static_cast<std::size_t>(lane)];
      n = n && times ? std::optional(*n + *times) : std::nullopt;
    };
    if (i.op == Op::barrier_wait) {
      add(uses.waits);
      uses.wait = &i;
    } else if (i.op == Op::barrier_test) {
      uses.tested = true;
    } else {
      add(uses.arrivals);
      (i.op == Op::copy_gmem_to_smem ? uses.copy : uses.arrive) = &i;
    }
  }

  /// Sum over the threads of a block, if it is known and the same in every block.
  [[nodiscard]] std::optional<std::int64_t> per_block(const Times& times) const {
    std::map<int, std::int64_t> blocks;
    const int axis = lanes_.thread_axis();
    for (int lane = 0; lane < lanes_.count(); ++lane) {
      const auto n = times[static_cast<std::size_t>(lane)];
      if (!n) return std::nullopt;
      blocks[axis < 0 ? lane : lanes_.with_coordinate(lane, axis, 0)] += *n;
    }
    const std::int64_t first = blocks.begin()->second;
    return std::all_of(blocks.begin(), blocks.end(), [first](const auto& b) { return b.second == first; })
               ? std::optional(first)
               : std::nullopt;
  }

  void judge(const BarrierArray& array, bool every_path) {
    const ir::Type& type = kernel_.type(array.alloc->results[0]);
    const bool cluster = type.space == ir::Space::cluster_barrier;
    const std::int64_t needed = array.alloc->attrs.integer(ir::Attr::arrivals, cluster ? kernel_.thread_count() : 1);
    const bool sizes_known =
        std::none_of(lanes_.axes().begin(), lanes_.axes().end(), [](const auto& a) { return a.symbolic; });
    if (!array.counted || needed < 1 || !sizes_known) return;
    for (const auto& [index, uses] : array.uses) {
      const auto arrivals = per_block(uses.arrivals);
      const bool waits_known =
          std::all_of(uses.waits.begin(), uses.waits.end(), [](const auto& n) { return n.has_value(); });
      if (!arrivals || !waits_known) continue;
      std::string name = std::string(array.alloc->attrs.text(ir::Attr::name));
      if (!index.empty()) name += fmt::format(".at[{}]", fmt::join(index, ", "));
      judge_one(*array.alloc, name, uses, needed, *arrivals, every_path);
    }
  }

  template <class D, class... Args>
  DiagnosticBuilder report(const ir::Loc& loc, bool every_path, const Args&... args) {
    Diagnostic d = make_diagnostic<D>(loc.span, args...);
    if (!every_path) d.severity = Severity::warning;
    DiagnosticBuilder builder = diags_.add(std::move(d));
    label_calls(kernel_, loc, builder);
    return builder;
  }

  static std::string times_text(std::int64_t n) { return n == 1 ? "once" : fmt::format("{} times", n); }

  void judge_one(const ir::Inst& alloc, const std::string& name, const Uses& uses, std::int64_t needed,
                 std::int64_t arrivals, bool every_path) {
    const std::int64_t completions = arrivals / needed;
    std::int64_t most = 0;
    std::int64_t fewest = completions;
    for (const auto& n : uses.waits) {
      most = std::max(most, *n);
      if (*n > 0) fewest = std::min(fewest, *n);
    }
    const std::string needs = fmt::format("{} arrival{}", needed, needed == 1 ? "" : "s");
    if (most > completions) {
      auto builder = report<diag::arrivals_do_not_add_up>(
          uses.wait->loc, every_path, name,
          arrivals == 0
              ? std::string("nobody arrives, so this wait never ends")
              : fmt::format("{} arrival{} make{} {} completion{}, and a thread waits {}, so a wait never ends",
                            arrivals, arrivals == 1 ? "" : "s", arrivals == 1 ? "s" : "",
                            completions == 0 ? "no" : std::to_string(completions), completions == 1 ? "" : "s",
                            times_text(most)));
      builder.label(alloc.loc.span, fmt::format("each completion takes {}", needs));
      label_arrivals(builder, uses);
      builder.note("a `barrier_arrive` of each thread that gets there counts as one arrival, and so does each copy");
      builder.help(
          needed > 1
              ? fmt::format("let {} more arrive, or declare the barrier with `arrivals({})`", needed * most - arrivals,
                            std::max<std::int64_t>(1, arrivals / most))
              : std::string("arrive once for each wait: `barrier_arrive(…)` in the thread that the others wait for"));
    } else if (most == 0 && completions > 0 && !uses.tested) {
      never_awaited(alloc, name, uses, completions, every_path);
    } else if (fewest < completions && !uses.tested) {
      auto builder =
          report<diag::arrivals_do_not_add_up>(uses.wait->loc, every_path, name,
                                               fmt::format("it completes {}, and a thread that waits does so {} only",
                                                           times_text(completions), times_text(fewest)));
      builder.label(alloc.loc.span, fmt::format("each completion takes {}", needs));
      label_arrivals(builder, uses);
      builder.note(
          "a thread that waits for a barrier waits for each of its completions, so that it never mistakes one for "
          "another");
      builder.help("wait as often as the barrier completes, or use one barrier for each event: `barrier[n]`");
    }
  }

  static void label_arrivals(DiagnosticBuilder& builder, const Uses& uses) {
    if (uses.arrive != nullptr) builder.label(uses.arrive->loc.span, "arrives here");
    if (uses.copy != nullptr) builder.label(uses.copy->loc.span, "this copy arrives when it is done");
  }

  void never_awaited(const ir::Inst& alloc, const std::string& name, const Uses& uses, std::int64_t completions,
                     bool every_path) {
    if (uses.copy != nullptr) {
      report<diag::copy_never_awaited>(uses.copy->loc, every_path,
                                       kernel_.values[places_.root(uses.copy->operands[1]).id].name, name)
          .note(
              "without a wait nobody knows when the data is there, and the copy may still write when the memory "
              "belongs to something else")
          .help(fmt::format("write `barrier_wait({});` before the data is used and before the scope ends", name));
      return;
    }
    report<diag::arrivals_do_not_add_up>(
        uses.arrive->loc, every_path, name,
        fmt::format("it completes {}, and nobody waits for it", times_text(completions)))
        .label(alloc.loc.span, "the barrier")
        .help(
            fmt::format("write `barrier_wait({});` where a thread depends on the arrival, or drop the barrier", name));
  }

  const ir::Kernel& kernel_;
  const Uniformity& uniformity_;
  const LaneSpace& lanes_;
  Places places_;
  Diagnostics& diags_;
  std::map<ir::Value, BarrierArray> arrays_;
};

}  // namespace

void check_barriers(const ir::Kernel& kernel, const Uniformity& uniformity, Diagnostics& diags) {
  BarrierCheck(kernel, uniformity, diags).run();
}

}  // namespace pk::sema::rules
