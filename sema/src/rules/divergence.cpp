#include "divergence.h"

#include <fmt/format.h>

#include <algorithm>

namespace pk::sema::rules {

using ir::Op;

void label_calls(const ir::Kernel& kernel, const ir::Loc& loc, DiagnosticBuilder& report) {
  for (ir::CallId c = loc.call; c.valid(); c = kernel.calls[c.raw].parent) {
    report.label(kernel.calls[c.raw].span, fmt::format("in this call of `{}`", kernel.calls[c.raw].function));
  }
}

Span head_span(const Uniformity& uniformity, const ir::Inst& inst) {
  const Span whole = inst.loc.span;
  constexpr std::pair<Op, std::uint32_t> keywords[] = {
      {Op::if_, 2}, {Op::for_, 3}, {Op::while_, 5}, {Op::specialize, 10}, {Op::pipeline, 8}};
  const auto* keyword =
      std::find_if(std::begin(keywords), std::end(keywords), [&inst](const auto& k) { return k.first == inst.op; });
  if (keyword == std::end(keywords)) return whole;
  Span head{whole.file, whole.begin, std::min(whole.end, whole.begin + keyword->second)};
  if (inst.op == Op::pipeline) return head;
  const auto extend = [&](Span part) {
    if (part.file == whole.file && whole.begin <= part.begin && part.end <= whole.end) head = cover(head, part);
  };
  for (const ir::Value v : inst.operands) {
    if (const ir::Inst* definition = uniformity.definition(v)) extend(definition->loc.span);
  }
  if (inst.op == Op::while_ && !inst.regions[0].insts.empty()) extend(inst.regions[0].insts.back().loc.span);
  return head;
}

namespace {

/// "0", "0 and 1", "0, 1 and 2"
std::string number_list(const std::vector<std::int64_t>& numbers) {
  std::string out;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    out += fmt::format("{}{}", i == 0 ? "" : i + 1 == numbers.size() ? " and " : ", ", numbers[i]);
  }
  return out;
}

/// "thread 0", "blocks 0 and 1"
std::string named(const LaneSpace::Axis& axis, const std::vector<std::int64_t>& numbers) {
  return fmt::format("{}{} {}", axis.threads ? "thread" : "block", numbers.size() == 1 ? "" : "s",
                     number_list(numbers));
}

/// What the lanes along one axis do, at the first place where they are not alike.
struct Split {
  std::vector<std::int64_t> yes, no, open;
  [[nodiscard]] bool exact() const { return open.empty(); }
};

/// One operation and who has to get to it along one axis.
struct Need {
  const ir::Inst* at;  ///< primary place
  std::string what;    ///< "this collective scope"
  int axis;
  std::vector<std::int64_t> threads;  ///< exactly these; empty: all
  std::string note;
};

class ArrivalCheck {
 public:
  ArrivalCheck(const ir::Kernel& kernel, const Uniformity& uniformity, const Arrivals& arrivals, Diagnostics& diags)
      : kernel_(kernel), uniformity_(uniformity), lanes_(uniformity.lanes()), arrivals_(arrivals), diags_(diags) {}

  bool run(const ir::Inst& inst) {
    for (const Need& need : needs(inst)) {
      if (need.axis >= 0 && check(need)) return true;
    }
    return false;
  }

 private:
  [[nodiscard]] const LaneSpace::Axis& axis(int number) const {
    return lanes_.axes()[static_cast<std::size_t>(number)];
  }

  [[nodiscard]] std::vector<Need> needs(const ir::Inst& inst) const {
    const int threads = lanes_.thread_axis();
    std::vector<Need> list;
    if (inst.op == Op::scoped) {
      if (inst.attrs.flag(ir::Attr::collective)) {
        list.push_back({&inst,
                        "this collective scope",
                        threads,
                        {},
                        "its memory is made once for all threads, and entering it waits for every one of them"});
      }
      for (const ir::Inst& alloc : inst.regions[0].insts) {
        if (alloc.op != Op::alloc) break;
        if (kernel_.type(alloc.results[0]).space != ir::Space::cluster_barrier) continue;
        along_clusters(
            list, alloc, alloc.attrs,
            fmt::format("the scope of the cluster barrier `{}`", alloc.attrs.text(ir::Attr::name)),
            "each block of the cluster has its part of the barrier, and waits for the arrivals of the others");
      }
    } else if (inst.op == Op::sync) {
      const std::vector<std::int64_t>& set = inst.attrs.integers(ir::Attr::threads);
      list.push_back(
          {&inst, "this `sync`", threads, set, "a thread that gets here waits until the others have got here too"});
    } else if (inst.op == Op::copy_gmem_to_smem) {
      along_clusters(list, inst, inst.attrs, "this collective copy",
                     "every block along the axis issues the same copy, and each receives the data of all");
    } else if (inst.op == Op::pipeline) {
      if (threads >= 0) {
        list.push_back({&inst,
                        "this pipeline",
                        threads,
                        {},
                        "its slots are shared memory, made once for all threads of the block"});
      }
      for (const ir::Inst& transfer : inst.regions[0].insts) {
        if (transfer.op != Op::transfer) continue;
        along_clusters(list, transfer, transfer.attrs,
                       fmt::format("the collective load of `{}`", transfer.attrs.text(ir::Attr::name)),
                       "every block along the axis runs the same steps, and each receives what is loaded");
      }
    }
    return list;
  }

  void along_clusters(std::vector<Need>& list, const ir::Inst& at, const ir::Attrs& attrs, const std::string& what,
                      const std::string& note) const {
    for (const std::int64_t mesh_axis : attrs.integers(ir::Attr::axes)) {
      list.push_back({&at, what, lanes_.find(static_cast<int>(mesh_axis)), {}, note});
    }
  }

  /// Lanes along `a` that are not alike, or (with `set`) not exactly those of the set.
  [[nodiscard]] std::optional<Split> split(const Known& v, int a, const std::vector<std::int64_t>& set) const {
    for (int base = 0; base < lanes_.count(); ++base) {
      if (lanes_.coordinate(base, a) != 0) continue;
      Split s;
      bool wrong = false;
      std::optional<std::optional<std::int64_t>> member;
      for (std::int64_t c = 0; c < axis(a).size; ++c) {
        const auto state = v.at(lanes_.with_coordinate(base, a, c));
        (state ? (*state != 0 ? s.yes : s.no) : s.open).push_back(c);
        if (!set.empty() && std::find(set.begin(), set.end(), c) == set.end()) {
          wrong = wrong || state != 0;
        } else {
          wrong = wrong || (member && *member != state);
          member = state;
        }
      }
      const bool may_differ = !s.open.empty() && (v.varies & (AxisMask{1} << a)) != 0;
      // Nobody comes: dead code, which is nobody's mistake.
      if ((wrong || may_differ) && !(s.yes.empty() && s.open.empty())) return s;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::string kind_of_branch() const {
    for (const Guard* g = arrivals_.guard; g != nullptr; g = g->outer) {
      switch (g->kind) {
        case Guard::Kind::then_branch:
        case Guard::Kind::else_branch:
          return g->inst->op == Op::while_ ? "loop" : "`if`";
        case Guard::Kind::arm:
          return "`specialize`";
        case Guard::Kind::rounds:
          return "loop";
        case Guard::Kind::left:
          return g->inst->op == Op::exit_block ? "`return`" : g->inst->op == Op::break_ ? "`break`" : "`continue`";
        case Guard::Kind::compute_threads:
          return "pipeline";
      }
    }
    return "branch";
  }

  bool check(const Need& need) {
    const LaneSpace::Axis& a = axis(need.axis);
    const bool resolved = (lanes_.variance(arrivals_.reach) & unresolved_bit) == 0 && !a.symbolic &&
                          std::none_of(need.threads.begin(), need.threads.end(), [](std::int64_t t) { return t < 0; });
    if (!resolved) return false;
    const auto found = split(arrivals_.reach, need.axis, need.threads);
    if (!found) return false;
    const std::string all =
        need.threads.empty()
            ? fmt::format("every {} {} `{}`", a.threads ? "thread" : "block", a.threads ? "of" : "along", a.name)
            : fmt::format("{} of `{}`, and no other", named(a, need.threads), a.name);
    auto report =
        diags_.report<diag::divergent>(head_span(uniformity_, *need.at), need.what, all, who_comes(need, *found));
    int labels = 0;
    for (const Guard* g = arrivals_.guard; g != nullptr && labels < 3; g = g->outer) {
      if ((g->variance & (AxisMask{1} << need.axis)) == 0) continue;
      report.label(head_span(uniformity_, *g->inst), describe(*g, need.axis));
      label_origin(report, *g);
      ++labels;
    }
    label_calls(kernel_, need.at->loc, report);
    report.note(need.note);
    advise(report, need, *found);
    return true;
  }

  /// A condition that was computed before the branch is shown where it was.
  void label_origin(DiagnosticBuilder& report, const Guard& g) const {
    if (g.inst->op != Op::if_) return;
    const ir::Inst* origin = uniformity_.definition(g.inst->operands[0]);
    if (origin == nullptr || origin->op == Op::constant || origin->op == Op::var_get) return;
    const Span branch = g.inst->loc.span;
    const Span at = origin->loc.span;
    if (at.file == branch.file && branch.begin <= at.begin && at.end <= branch.end) return;
    report.label(at, "the condition is computed here");
  }

  [[nodiscard]] std::string who_comes(const Need& need, const Split& s) const {
    const LaneSpace::Axis& a = axis(need.axis);
    if (!s.exact() || a.symbolic) {
      return fmt::format("which {} get here depends on {}", a.threads ? "threads" : "blocks",
                         s.no.empty() ? fmt::format("`{}` or on data that it selects", a.name)
                                      : fmt::format("a condition on `{}`: {} cannot", a.name, named(a, s.no)));
    }
    std::vector<std::int64_t> strangers;
    for (const std::int64_t t : s.yes) {
      if (!need.threads.empty() && std::find(need.threads.begin(), need.threads.end(), t) == need.threads.end())
        strangers.push_back(t);
    }
    if (!strangers.empty())
      return fmt::format("{} also get{} here", named(a, strangers), strangers.size() == 1 ? "s" : "");
    return fmt::format("only {} get{} here", named(a, s.yes), s.yes.size() == 1 ? "s" : "");
  }

  [[nodiscard]] std::string describe(const Guard& g, int number) const {
    const LaneSpace::Axis& a = axis(number);
    if (g.kind == Guard::Kind::rounds) return describe_rounds(g, number);
    const auto s = split(g.taken, number, {});
    const bool exact = s && s->exact();
    const std::string yes = exact ? named(a, s->yes) : "";
    const std::string no = exact ? named(a, s->no) : "";
    const auto plural = [](const std::vector<std::int64_t>& list) { return list.size() == 1 ? "s" : ""; };
    switch (g.kind) {
      case Guard::Kind::then_branch:
        if (exact)
          return fmt::format("{} take{} this branch, {} do{} not", yes, plural(s->yes), no,
                             s->no.size() == 1 ? "es" : "");
        break;
      case Guard::Kind::else_branch:
        if (exact)
          return fmt::format("{} go{} to the `else` of this, {} do{} not", yes, s->yes.size() == 1 ? "es" : "", no,
                             s->no.size() == 1 ? "es" : "");
        break;
      case Guard::Kind::arm:
        if (exact) return fmt::format("this arm is for {}; {} take{} another", yes, no, plural(s->no));
        break;
      case Guard::Kind::left:
        if (exact) return fmt::format("{} leave{} here", no, plural(s->no));
        return fmt::format("some {} of `{}` may leave here while others go on", a.threads ? "threads" : "blocks",
                           a.name);
      case Guard::Kind::compute_threads:
        if (exact) return fmt::format("only the compute threads run the body of this pipeline: {}", yes);
        break;
      case Guard::Kind::rounds:
        break;
    }
    return fmt::format("the {} of `{}` may decide this differently", a.threads ? "threads" : "blocks", a.name);
  }

  [[nodiscard]] std::string describe_rounds(const Guard& g, int number) const {
    const LaneSpace::Axis& a = axis(number);
    constexpr std::int64_t most_listed = 4;
    std::string list;
    for (std::int64_t c = 0; c < std::min(a.size, most_listed); ++c) {
      const auto rounds = g.taken.at(lanes_.with_coordinate(0, number, c));
      if (!rounds)
        return fmt::format("the {} of `{}` may run this loop a different number of times",
                           a.threads ? "threads" : "blocks", a.name);
      list += fmt::format("{}{} {} runs this loop {} time{}", c == 0 ? "" : ", ", a.threads ? "thread" : "block", c,
                          *rounds, *rounds == 1 ? "" : "s");
    }
    return list + (a.size > most_listed ? ", …" : "");
  }

  void advise(DiagnosticBuilder& report, const Need& need, const Split& s) const {
    const LaneSpace::Axis& a = axis(need.axis);
    const std::string branch = kind_of_branch();
    if (need.at->op == Op::sync) {
      report.help(fmt::format("move the `sync` out of the {}, so that {} reach it", branch,
                              need.threads.empty() ? "all threads" : "these threads"));
      if (s.exact() && s.yes.size() > 1) {
        const std::string exact_sync = fmt::format("sync({}, {{{}}})", a.name, fmt::join(s.yes, ", "));
        report.help(fmt::format("or let only those that get here meet: `{}`", exact_sync))
            .fix(fmt::format("write `{}`", exact_sync), {{need.at->loc.span, exact_sync}});
      }
      return;
    }
    if (need.at->op == Op::copy_gmem_to_smem) {
      report.help(
          fmt::format("issue the copy in every block along `{}`: move it out of the {}; or leave `collective` away, so "
                      "that a block copies for itself",
                      a.name, branch));
      return;
    }
    if (need.at->op == Op::scoped) {
      report.help(fmt::format(
          "open the scope around the {}, where all threads pass, and keep inside the {} what only some threads do",
          branch, branch));
      return;
    }
    report.help(fmt::format("move it out of the {}, so that every {} gets there equally often", branch,
                            a.threads ? "thread" : "block"));
  }

  const ir::Kernel& kernel_;
  const Uniformity& uniformity_;
  const LaneSpace& lanes_;
  const Arrivals& arrivals_;
  Diagnostics& diags_;
};

}  // namespace

bool check_arrivals(const ir::Kernel& kernel, const Uniformity& uniformity, const ir::Inst& inst,
                    const Arrivals& arrivals, Diagnostics& diags) {
  AxisMask bounds = 0;
  if (inst.op == Op::pipeline) {
    for (const ir::Value v : inst.operands) bounds |= uniformity.lanes().variance(uniformity.value(v));
  }
  if (bounds != 0) {
    // Who gets to the pipeline runs a number of steps of its own.
    const Known steps = LaneSpace::unknown(bounds);
    const Guard rounds{Guard::Kind::rounds, &inst, arrivals.guard, steps, bounds};
    const Arrivals at_steps{uniformity.lanes().both(arrivals.reach, steps), &rounds};
    return ArrivalCheck(kernel, uniformity, at_steps, diags).run(inst);
  }
  return ArrivalCheck(kernel, uniformity, arrivals, diags).run(inst);
}

}  // namespace pk::sema::rules
