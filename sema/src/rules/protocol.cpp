#include "protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "divergence.h"
#include "flight.h"

namespace pk::sema::rules {
namespace {

using ir::Op;

// A count that grows from round to round of a loop may be any number.
constexpr std::int64_t any_number = std::int64_t{1} << 30;
// Each loop around a loop multiplies the work; behind loops nested deeper than this nothing counts as certain.
constexpr std::size_t deepest_loop = 8;
// Slots kept for more steps than this are not followed.
constexpr std::int64_t longest_delay = 16;

/// Whether a count grew that had not grown before.
template <class T>
bool widen(std::vector<T>& now, const std::vector<T>& before) {
  bool grew = false;
  for (T& x : now) {
    const auto old = std::find_if(before.begin(), before.end(), [&x](const T& y) { return y.inst == x.inst; });
    if (old == before.end() || x.newer <= old->newer) continue;
    x.newer = any_number;
    grew = grew || old->newer < any_number;
  }
  return grew;
}

class ThreadWalk {
 public:
  ThreadWalk(const ir::Kernel& kernel, const Uniformity& uniformity, Places& places, std::int64_t thread,
             Diagnostics& diags)
      : kernel_(kernel), uniformity_(uniformity), places_(places), thread_(thread), diags_(diags) {}

  void run() { region(kernel_.body); }

 private:
  struct Target {
    const ir::Inst* inst;
    std::optional<Flight> breaks, continues;
    bool may_have_left = false;
  };

  [[nodiscard]] bool certain() const {
    return unknown_conditions_ == 0 &&
           std::none_of(targets_.begin(), targets_.end(), [](const Target& t) { return t.may_have_left; });
  }

  /// A report that is a warning unless this happens on every path.
  template <class D, class... Args>
  DiagnosticBuilder report(const ir::Loc& loc, const Args&... args) {
    if (quiet_ > 0) return DiagnosticBuilder(nullptr);
    Diagnostic d = make_diagnostic<D>(loc.span, args...);
    if (!certain()) d.severity = Severity::warning;
    DiagnosticBuilder builder = diags_.add(std::move(d));
    label_calls(kernel_, loc, builder);
    return builder;
  }

  void region(const ir::Region& r) {
    for (const ir::Inst& i : r.insts) {
      if (!flight_.live) return;
      inst(i);
    }
  }

  void inst(const ir::Inst& i) {
    using Walk = void (ThreadWalk::*)(const ir::Inst&);
    static constexpr std::pair<Op, Walk> walks[] = {
        {Op::if_, &ThreadWalk::if_inst},
        {Op::specialize, &ThreadWalk::specialize},
        {Op::for_, &ThreadWalk::for_inst},
        {Op::while_, &ThreadWalk::while_inst},
        {Op::block, &ThreadWalk::block},
        {Op::scoped, &ThreadWalk::scope},
        {Op::pipeline, &ThreadWalk::pipeline},
        {Op::step, &ThreadWalk::step},
        {Op::break_, &ThreadWalk::jump},
        {Op::continue_, &ThreadWalk::jump},
        {Op::exit_block, &ThreadWalk::jump},
        {Op::load, &ThreadWalk::load},
        {Op::load_masked, &ThreadWalk::load},
        {Op::acc_load, &ThreadWalk::wait_mmas},
        {Op::store, &ThreadWalk::store},
        {Op::copy_gmem_to_smem, &ThreadWalk::copy_in},
        {Op::copy_smem_to_gmem, &ThreadWalk::copy_out},
        {Op::commit_copies, &ThreadWalk::commit_copies},
        {Op::commit_smem, &ThreadWalk::commit_smem},
        {Op::wait_smem_to_gmem, &ThreadWalk::wait_copies},
        {Op::wgmma, &ThreadWalk::wgmma},
        {Op::wgmma_wait, &ThreadWalk::wait_mmas},
        {Op::atomic, &ThreadWalk::wait},
        {Op::barrier_wait, &ThreadWalk::wait},
        {Op::barrier_test, &ThreadWalk::wait},
        {Op::semaphore_wait, &ThreadWalk::wait},
        {Op::semaphore_read, &ThreadWalk::wait},
        {Op::sync, &ThreadWalk::wait},
    };
    for (const auto& [op, walk] : walks) {
      if (i.op == op) return (this->*walk)(i);
    }
  }

  // ---- control

  void if_inst(const ir::Inst& i) {
    const auto condition = places_.constant(i.operands[0], thread_);
    if (condition) return region(i.regions[*condition != 0 ? 0 : 1]);
    const Flight before = flight_;
    ++unknown_conditions_;
    region(i.regions[0]);
    const Flight then = std::exchange(flight_, before);
    region(i.regions[1]);
    --unknown_conditions_;
    flight_ = meet(then, flight_);
  }

  void specialize(const ir::Inst& i) {
    const std::vector<std::int64_t>& arms = i.attrs.integers(ir::Attr::arms);
    const auto arm = static_cast<std::size_t>(thread_) < arms.size() ? arms[static_cast<std::size_t>(thread_)] : -1;
    if (arm >= 0 && static_cast<std::size_t>(arm) < i.regions.size()) region(i.regions[static_cast<std::size_t>(arm)]);
  }

  /// The rounds of a loop behind the first, until what is certain at its head settles.
  template <class Body>
  Flight settle(Flight head, const Body& body) {
    if (targets_.size() > deepest_loop) return flight_ = Flight{};
    ++quiet_;
    for (;;) {
      flight_ = head;
      body();
      Flight next = meet(head, flight_);
      const bool copies_grew = widen(next.outgoing, head.outgoing);
      const bool mmas_grew = widen(next.mmas, head.mmas);
      const bool settled = same_things(next, head) && !copies_grew && !mmas_grew;
      head = std::move(next);
      if (settled) break;
    }
    --quiet_;
    return head;
  }

  /// One round: the body, and what `continue` brings along.
  void round(const ir::Region& body) {
    region(body);
    Target& target = targets_.back();
    if (target.continues) flight_ = meet(flight_, *target.continues);
    target.continues.reset();
  }

  void for_inst(const ir::Inst& i) {
    const auto rounds = constant_rounds(i);
    if (rounds == 0) return;
    const Flight before = flight_;
    targets_.push_back({&i, std::nullopt, std::nullopt, false});
    if (!rounds) ++unknown_conditions_;
    round(i.regions[0]);
    const Flight first_end = flight_;
    Flight after = first_end;
    if (rounds != 1) {
      const Flight head = settle(meet(before, first_end), [&] { round(i.regions[0]); });
      after = rounds ? meet(first_end, flight_) : meet(meet(before, first_end), head);
    }
    if (!rounds) --unknown_conditions_;
    leave_loop(after);
  }

  void leave_loop(Flight after) {
    const Target target = std::move(targets_.back());
    targets_.pop_back();
    if (target.breaks) after = meet(after, *target.breaks);
    flight_ = std::move(after);
  }

  void while_inst(const ir::Inst& i) {
    const Flight before = flight_;
    targets_.push_back({&i, std::nullopt, std::nullopt, false});
    region(i.regions[0]);
    const Flight tested = flight_;
    ++unknown_conditions_;
    round(i.regions[1]);
    const Flight head = settle(meet(before, flight_), [&] {
      region(i.regions[0]);
      round(i.regions[1]);
    });
    flight_ = head;
    ++quiet_;
    region(i.regions[0]);
    --quiet_;
    --unknown_conditions_;
    leave_loop(meet(tested, flight_));
  }

  void block(const ir::Inst& i) {
    targets_.push_back({&i, std::nullopt, std::nullopt, false});
    region(i.regions[0]);
    leave_loop(flight_);
  }

  void jump(const ir::Inst& i) {
    const bool to_block = i.op == Op::exit_block;
    for (auto target = targets_.rbegin(); target != targets_.rend(); ++target) {
      if ((target->inst->op == Op::block) != to_block) continue;
      std::optional<Flight>& to = i.op == Op::continue_ ? target->continues : target->breaks;
      to = to ? meet(*to, flight_) : flight_;
      target->may_have_left = target->may_have_left || unknown_conditions_ > 0;
      break;
    }
    flight_.live = false;
  }

  [[nodiscard]] std::optional<std::int64_t> constant_rounds(const ir::Inst& i) const {
    const auto low = places_.constant(i.operands[0], thread_);
    const auto high = places_.constant(i.operands[1], thread_);
    const auto step_size = places_.constant(i.operands[2], thread_);
    return low && high && step_size ? loop_rounds(*low, *high, *step_size) : std::nullopt;
  }

  // ---- scopes

  void scope(const ir::Inst& i) {
    if (i.attrs.flag(ir::Attr::collective)) flight_.incoming.clear();
    std::vector<ir::Value> roots;
    for (const ir::Inst& alloc : i.regions[0].insts) {
      if (alloc.op != Op::alloc) break;
      roots.push_back(alloc.results[0]);
    }
    region(i.regions[0]);
    if (flight_.live) check_scope_end(roots);
    flight_.forget(roots);
  }

  void check_scope_end(const std::vector<ir::Value>& roots) {
    const auto ends = [&roots](ir::Value root) { return std::find(roots.begin(), roots.end(), root) != roots.end(); };
    for (const OutgoingCopy& copy : flight_.outgoing) {
      if (!ends(copy.source.root) || copy.source_read) continue;
      auto builder = report<diag::copy_in_flight>(copy.inst->loc, name(copy.source.root));
      builder.note(
          "the copy engine reads the buffer later; by then its memory may belong to another scope, or the block may be "
          "gone");
      if (!copy.closed) builder.help("close the copy's group with `commit_copies();`, since it says `commit = false`");
      builder.help(
          "write `wait_smem_to_gmem(0);` before the scope ends (`wait_smem_to_gmem(0, read_only)` if nobody reads the "
          "result here)");
    }
    for (const OpenMma& mma : flight_.mmas) {
      const auto operand =
          std::find_if(mma.operands.begin(), mma.operands.end(), [&](const Place& p) { return ends(p.root); });
      if (!ends(mma.accumulator) && operand == mma.operands.end()) continue;
      const ir::Value ending = ends(mma.accumulator) ? mma.accumulator : operand->root;
      report<diag::mma_in_flight>(mma.inst->loc, name(ending))
          .note(ends(mma.accumulator) ? "its result would go to registers that belong to something else by then"
                                      : "it would read memory that belongs to something else by then")
          .help("write `wgmma_wait(0);` before the scope ends, or read the accumulator, which waits");
    }
  }

  // ---- pipelines

  void pipeline(const ir::Inst& i) {
    const std::vector<std::int64_t>& compute = i.attrs.integers(ir::Attr::compute);
    const bool roles = i.attrs.has(ir::Attr::compute);
    if (roles && std::find(compute.begin(), compute.end(), thread_) == compute.end()) return;
    const ir::Inst* outer = std::exchange(pipeline_, &i);
    const std::int64_t outer_step = std::exchange(step_, 0);
    region(i.regions[1]);
    flight_.forget(i.regions[1].args);
    pipeline_ = outer;
    step_ = outer_step;
  }

  struct Load {
    ir::Value block;
    std::int64_t delay;
  };
  /// The loaded blocks of the pipeline, with the steps that their slots are kept.
  [[nodiscard]] std::vector<Load> loads() const {
    std::vector<Load> list;
    std::size_t number = 0;
    for (const ir::Inst& t : pipeline_->regions[0].insts) {
      if (t.op != Op::transfer || number >= pipeline_->regions[1].args.size()) continue;
      const std::int64_t delay =
          t.attrs.integer(ir::Attr::delay_release, pipeline_->attrs.integer(ir::Attr::delay_release));
      if (!t.attrs.flag(ir::Attr::store)) list.push_back({pipeline_->regions[1].args[number], delay});
      ++number;
    }
    return list;
  }

  void step(const ir::Inst& i) {
    if (pipeline_ == nullptr) return;
    const std::vector<Load> blocks = loads();
    std::int64_t longest = 0;
    for (const Load& load : blocks) longest = std::max(longest, std::min(load.delay, longest_delay));
    const Flight before = flight_;
    for (step_ = 0; step_ <= longest && flight_.live; ++step_) {
      round_of_step(i);
      check_releases(i, blocks);
    }
    if (!pipeline_runs()) flight_ = meet(before, flight_);
  }

  void round_of_step(const ir::Inst& i) {
    region(i.regions[0]);
    // What was stored to the blocks is the pipeline's business now, and the next step has other slots.
    std::erase_if(flight_.stores, [this](const OpenStore& s) { return is_block(s.place.root); });
    std::erase_if(flight_.outgoing, [this](const OutgoingCopy& c) { return is_block(c.source.root); });
    std::erase_if(flight_.incoming, [this](const IncomingCopy& c) { return is_block(c.target.root); });
  }
  [[nodiscard]] bool is_block(ir::Value root) const {
    if (pipeline_ == nullptr) return false;
    const std::vector<ir::Value>& blocks = pipeline_->regions[1].args;
    return std::find(blocks.begin(), blocks.end(), root) != blocks.end();
  }

  /// Whether the pipeline certainly has steps.
  [[nodiscard]] bool pipeline_runs() const {
    for (std::size_t o = 0; o + 1 < pipeline_->operands.size(); o += 2) {
      const auto low = places_.constant(pipeline_->operands[o], thread_);
      const auto high = places_.constant(pipeline_->operands[o + 1], thread_);
      if (!low || !high || *high <= *low) return false;
    }
    return true;
  }

  void check_releases(const ir::Inst& step_inst, const std::vector<Load>& blocks) {
    const std::vector<OpenMma> open = flight_.mmas;
    for (const OpenMma& mma : open) {
      for (const Load& load : blocks) {
        const bool reads =
            std::any_of(mma.operands.begin(), mma.operands.end(), [&](const Place& p) { return p.root == load.block; });
        if (!reads || load.delay < 0 || mma.step != step_ - load.delay) continue;
        const std::string kept = load.delay == 0
                                     ? "for its own step only"
                                     : fmt::format("for {} more step{}", load.delay, load.delay == 1 ? "" : "s");
        auto builder = report<diag::slot_released_early>(mma.inst->loc, name(load.block), load.delay, kept);
        builder.label(head_span(uniformity_, *pipeline_), "slots are given back at the end of a step");
        const auto needed = needed_delay(step_inst, mma);
        const std::int64_t stages = pipeline_->attrs.integer(ir::Attr::stages, 1);
        if (needed && *needed < stages) {
          builder.help(fmt::format("write `delay_release({})`, since the MMA is waited for {} step{} later", *needed,
                                   *needed, *needed == 1 ? "" : "s"));
        } else if (needed) {
          builder.help(fmt::format("write `stages({}) delay_release({})`: the MMA is waited for {} steps later",
                                   *needed + 1, *needed, *needed));
        }
        builder.help("or end the step with `wgmma_wait(0);`");
        std::erase_if(flight_.mmas, [&mma](const OpenMma& m) { return m.inst == mma.inst; });
        break;
      }
    }
  }

  /// How many steps after its own the MMA is waited for, if that is soon.
  std::optional<std::int64_t> needed_delay(const ir::Inst& step_inst, const OpenMma& mma) {
    constexpr std::int64_t most_steps = 8;
    const Flight saved = flight_;
    const std::int64_t saved_step = step_;
    std::optional<std::int64_t> needed;
    ++quiet_;
    while (!needed && step_ - mma.step < most_steps) {
      ++step_;
      round_of_step(step_inst);
      const bool open = std::any_of(flight_.mmas.begin(), flight_.mmas.end(),
                                    [&mma](const OpenMma& m) { return m.inst == mma.inst && m.step == mma.step; });
      if (!open) needed = step_ - mma.step;
    }
    --quiet_;
    flight_ = saved;
    step_ = saved_step;
    return needed;
  }

  // ---- memory

  [[nodiscard]] std::string_view name(ir::Value root) const { return kernel_.values[root.id].name; }
  [[nodiscard]] bool in_shared_memory(ir::Value ref) const {
    return kernel_.type(ref).is_ref() && kernel_.type(ref).space == ir::Space::smem;
  }

  void load(const ir::Inst& i) {
    const ir::Type& type = kernel_.type(i.operands[0]);
    if (type.space == ir::Space::acc) {
      // Reading an accumulator waits for its MMAs and all before them; which others are left is not certain.
      flight_.mmas.clear();
    } else if (type.space == ir::Space::smem) {
      check_arrived(i, places_.resolve(i.operands[0], thread_));
    }
  }

  void store(const ir::Inst& i) {
    if (kernel_.type(i.operands[0]).space == ir::Space::acc) {
      const ir::Value accumulator = places_.root(i.operands[0]);
      std::erase_if(flight_.mmas, [accumulator](const OpenMma& m) { return m.accumulator == accumulator; });
    }
    if (!in_shared_memory(i.operands[0])) return;
    const Place place = places_.resolve(i.operands[0], thread_);
    check_overwrite(i, place, "this store overwrites");
    std::erase_if(flight_.stores, [&i](const OpenStore& s) { return s.inst == &i; });
    if (!place.foreign) flight_.stores.push_back({&i, place});
  }

  void copy_in(const ir::Inst& i) {
    const Place target = places_.resolve(i.operands[1], thread_);
    check_committed(i, target, "copy engine writes");
    check_overwrite(i, target, "this copy overwrites");
    std::erase_if(flight_.incoming, [&i](const IncomingCopy& c) { return c.inst == &i; });
    flight_.incoming.push_back({&i, target});
  }

  void copy_out(const ir::Inst& i) {
    const Place source = places_.resolve(i.operands[0], thread_);
    check_arrived(i, source);
    check_committed(i, source, "copy engine reads");
    std::erase_if(flight_.outgoing, [&i](const OutgoingCopy& c) { return c.inst == &i; });
    flight_.outgoing.push_back({&i, source, false, 0, false});
    const bool closes = !i.attrs.has(ir::Attr::commit) || i.attrs.flag(ir::Attr::commit);
    if (closes) flight_.close_group();
  }

  void wgmma(const ir::Inst& i) {
    OpenMma mma{&i, places_.root(i.operands[0]), {}, step_, 0};
    for (std::size_t o = 1; o < i.operands.size(); ++o) {
      if (!in_shared_memory(i.operands[o])) continue;
      mma.operands.push_back(places_.resolve(i.operands[o], thread_));
      check_arrived(i, mma.operands.back());
      check_committed(i, mma.operands.back(), "`wgmma` reads");
    }
    for (OpenMma& older : flight_.mmas) ++older.newer;
    std::erase_if(flight_.mmas, [&](const OpenMma& m) { return m.inst == &i && m.step == step_; });
    flight_.mmas.push_back(std::move(mma));
  }

  void commit_copies(const ir::Inst&) { flight_.close_group(); }
  void commit_smem(const ir::Inst&) { flight_.commit_smem(); }
  void wait_copies(const ir::Inst& i) {
    flight_.wait_copies(i.attrs.integer(ir::Attr::count), i.attrs.flag(ir::Attr::read_only));
  }
  void wait_mmas(const ir::Inst& i) { flight_.wait_mmas(i.attrs.integer(ir::Attr::count)); }
  // Whatever this thread waited for may have told it that copies are done.
  void wait(const ir::Inst&) { flight_.incoming.clear(); }

  // ---- rules

  void check_committed(const ir::Inst& i, const Place& place, std::string_view access) {
    const auto open = std::find_if(flight_.stores.begin(), flight_.stores.end(),
                                   [&](const OpenStore& s) { return certainly_overlap(s.place, place); });
    if (open == flight_.stores.end()) return;
    const Span before{i.loc.span.file, i.loc.span.begin, i.loc.span.begin};
    report<diag::uncommitted_store>(i.loc, access, name(place.root))
        .label(open->inst->loc.span, "stored here")
        .note(
            "ordinary stores are not visible to the copy and MMA engines until the thread that made them commits them")
        .help("write `commit_smem();` between the two (one is enough for all stores before it)")
        .fix("insert `commit_smem();`", {{before, "commit_smem(); "}});
    flight_.commit_smem();
  }

  void check_overwrite(const ir::Inst& i, const Place& place, std::string_view access) {
    for (const OpenMma& mma : flight_.mmas) {
      const bool other_slot = is_block(place.root) && mma.step != step_;
      if (other_slot || std::none_of(mma.operands.begin(), mma.operands.end(),
                                     [&](const Place& p) { return certainly_overlap(p, place); }))
        continue;
      report<diag::overwrites_in_flight>(i.loc, access, name(place.root), "a `wgmma`")
          .label(mma.inst->loc.span, "in flight since here")
          .help("write `wgmma_wait(0);` before it");
      flight_.mmas.clear();
      break;
    }
    for (const OutgoingCopy& copy : flight_.outgoing) {
      if (copy.source_read || !certainly_overlap(copy.source, place)) continue;
      report<diag::overwrites_in_flight>(i.loc, access, name(place.root), "a copy out of it")
          .label(copy.inst->loc.span, "in flight since here")
          .help("write `wait_smem_to_gmem(0, read_only);` before it");
      break;
    }
  }

  void check_arrived(const ir::Inst& i, const Place& place) {
    for (const IncomingCopy& copy : flight_.incoming) {
      if (!certainly_overlap(copy.target, place)) continue;
      const std::string_view barrier = name(places_.root(copy.inst->operands[2]));
      report<diag::reads_before_arrival>(i.loc, name(place.root))
          .label(copy.inst->loc.span, "the copy is started here")
          .help(fmt::format("write `barrier_wait({});` before it", barrier));
      flight_.incoming.clear();
      return;
    }
  }

  const ir::Kernel& kernel_;
  const Uniformity& uniformity_;
  Places& places_;
  std::int64_t thread_;
  Diagnostics& diags_;
  Flight flight_;
  std::vector<Target> targets_;
  const ir::Inst* pipeline_ = nullptr;
  std::int64_t step_ = 0;
  int unknown_conditions_ = 0;
  int quiet_ = 0;
};

}  // namespace

void check_protocol(const ir::Kernel& kernel, const Uniformity& uniformity, Diagnostics& diags) {
  Places places(kernel, uniformity);
  const std::int64_t threads = std::max<std::int64_t>(1, kernel.thread_count());
  for (std::int64_t thread = 0; thread < threads; ++thread) ThreadWalk(kernel, uniformity, places, thread, diags).run();
}

}  // namespace pk::sema::rules
