// Pipelines become scopes, barriers, copies and loops. What the expansion of one pipeline looks like, for T steps and n
// stages, with P = n - 1 - d steps of prefetch (d: delay_release):
//
//   one thread                             a memory thread and compute threads
//     fetch steps 0 .. min(P, T)             memory: for t in 0 .. T
//     for t in 0 .. T                                  wait until slot t % n is empty (t >= n)
//       fetch step t + P                               fetch step t
//       wait for slot t % n                            at the end: wait until all slots are empty
//       step                                 compute: for t in 0 .. T
//       send what it stored                            wait for slot t % n; step; send what it stored
//                                                      give back the slot of step t - d
//
// In a kernel with threads but without roles, thread 0 does the memory thread's work between its own steps.
// Multicast slots are given back through a cluster barrier, since every block's copy writes into all of them.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "pk/frontend/diagnostics.h"
#include "pk/ir/builder.h"
#include "pk/ir/passes.h"

namespace pk::ir {
namespace {

using Operands = std::vector<Value>;

std::vector<Inst> expand_insts(Kernel& kernel, std::vector<Inst> insts);

/// How the block that a transfer stores from is used over the steps.
enum class StoreKind : std::uint8_t {
  every_step,  ///< written and sent in each step
  once,        ///< its place never changes: kept, and sent after the last step
  runs,        ///< blocked kernels: kept while its place stays the same, sent when it changes
};

struct Transfer {
  std::size_t number = 0;  ///< place in the pipeline's list
  std::string name;
  Value source;  ///< the view, in the transfer region
  Type block;    ///< of the block in shared memory, one slot
  Attrs attrs;
  Loc loc;
  bool store = false;
  bool invariant = false;  ///< the view does not depend on the loop variables
  bool load_back = false;
  StoreKind kind = StoreKind::every_step;
  Value slots;  ///< the allocation
  Value run;    ///< cell with the number of the current run (kind runs)
};

bool contains(const std::vector<Inst>& insts, Op op) {
  return std::ranges::any_of(insts, [op](const Inst& inst) {
    return inst.op == op || std::ranges::any_of(inst.regions, [op](const Region& r) { return contains(r.insts, op); });
  });
}

/// Expands one pipeline. `run` gives the scope that replaces it.
class Expansion {
 public:
  Expansion(Kernel& kernel, Inst pipeline) : kernel_(kernel), pipeline_(std::move(pipeline)) {
    stages_ = std::max<std::int64_t>(1, pipeline_.attrs.integer(Attr::stages, 1));
    delay_ = pipeline_.attrs.integer(Attr::delay_release);
    read_transfers();
    delay_ = std::min(delay_, stages_ - 1);
    roles_ = pipeline_.attrs.has(Attr::memory);
    threads_ = kernel_.thread_count();
    has_axis_ = kernel_.wg_axis() >= 0;
    memory_ = pipeline_.attrs.integer(Attr::memory);
    compute_ = pipeline_.attrs.integers(Attr::compute);
    if (!roles_) {
      for (std::int64_t t = 0; t < threads_; ++t) compute_.push_back(t);
    }
    alone_ = !roles_ && threads_ == 1;
    uses_mma_ = contains(pipeline_.regions[1].insts, Op::wgmma);
  }

  std::vector<Inst> run() {
    std::vector<Inst> out;
    Builder b(kernel_, out, pipeline_.loc);
    step_count(b);
    Region scope;
    Builder inner = b.into(scope);
    allocate(inner);
    if (roles_) {
      specialised(inner);
    } else {
      start_fetching(inner);
      body(inner);
    }
    Attrs attrs;
    attrs.set(Attr::collective, has_axis_);
    b.push(Op::scoped, {}, std::move(attrs)).regions.push_back(std::move(scope));
    return out;
  }

 private:
  // ---- what the pipeline says

  void read_transfers() {
    const Region& region = pipeline_.regions[0];
    const std::vector<Value> varying = dependent_values(region);
    const bool blocked = pipeline_.attrs.flag(Attr::blocked);
    for (const Inst& inst : region.insts) {
      if (inst.op != Op::transfer) continue;
      Transfer t;
      t.number = transfers_.size();
      t.name = std::string(inst.attrs.text(Attr::name));
      t.source = inst.operands[0];
      const Type& view = kernel_.type(t.source);
      t.block = Type::ref(Space::smem, view.dtype, view.shape);
      t.attrs = inst.attrs;
      t.loc = inst.loc;
      t.store = inst.attrs.flag(Attr::store);
      t.load_back = inst.attrs.flag(Attr::load_back);
      t.invariant = !std::ranges::binary_search(varying, t.source);
      t.kind = t.invariant ? StoreKind::once : blocked ? StoreKind::runs : StoreKind::every_step;
      delay_ = std::max(delay_, inst.attrs.integer(Attr::delay_release));
      for (const std::int64_t axis : inst.attrs.integers(Attr::axes)) {
        if (std::ranges::find(cluster_axes_, axis) == cluster_axes_.end()) cluster_axes_.push_back(axis);
      }
      transfers_.push_back(std::move(t));
    }
  }

  /// The values of the transfer region that depend on the loop variables, sorted.
  [[nodiscard]] static std::vector<Value> dependent_values(const Region& region) {
    std::vector<Value> varying = region.args;
    std::ranges::sort(varying);
    for (const Inst& inst : region.insts) {
      const bool depends =
          std::ranges::any_of(inst.operands, [&](Value v) { return std::ranges::binary_search(varying, v); });
      if (!depends) continue;
      for (const Value v : inst.results) varying.insert(std::ranges::upper_bound(varying, v), v);
    }
    return varying;
  }

  template <class Use>
  void each(bool store, bool invariant, Use use) {
    for (Transfer& t : transfers_) {
      if (t.store == store && t.invariant == invariant) use(t);
    }
  }
  [[nodiscard]] std::int64_t count(bool store, bool invariant) const {
    return std::ranges::count_if(transfers_,
                                 [&](const Transfer& t) { return t.store == store && t.invariant == invariant; });
  }
  [[nodiscard]] std::int64_t count_stores(StoreKind kind) const {
    return std::ranges::count_if(transfers_, [&](const Transfer& t) { return t.store && t.kind == kind; });
  }
  [[nodiscard]] bool has_loads() const { return count(false, false) > 0; }
  [[nodiscard]] bool has_stores() const {
    return std::ranges::any_of(transfers_, [](const Transfer& t) { return t.store; });
  }
  [[nodiscard]] std::int64_t prefetch() const { return stages_ - 1 - delay_; }
  /// Whether slots are given back through barriers. One thread alone knows by itself when it is done.
  [[nodiscard]] bool hands_back() const { return has_loads() && (!alone_ || !cluster_axes_.empty()); }

  // ---- steps and places

  /// T, and the extent of each range.
  void step_count(Builder& b) {
    const Value zero = b.index(0);
    for (std::size_t i = 0; i + 1 < pipeline_.operands.size(); i += 2) {
      const Value extent =
          b.index_op(Op::max, b.index_op(Op::sub, pipeline_.operands[i + 1], pipeline_.operands[i]), zero);
      extents_.push_back(extent);
      steps_ = steps_.valid() ? b.index_op(Op::mul, steps_, extent) : extent;
    }
    kernel_.values[steps_.id].name = "steps";
  }

  /// The loop variables of step `t`; the last range varies fastest.
  [[nodiscard]] std::vector<Value> variables(Builder& b, Value t) {
    std::vector<Value> out(extents_.size());
    for (std::size_t i = extents_.size(); i-- > 0;) {
      Value place = t;
      if (extents_.size() > 1) {
        place = b.index_op(Op::rem, t, extents_[i]);
        t = b.index_op(Op::div, t, extents_[i]);
      }
      const std::string& name = kernel_.values[pipeline_.regions[0].args[i].id].name;
      out[i] = b.index_op(Op::add, pipeline_.operands[2 * i], place, name);
    }
    return out;
  }

  /// Repeats the computations of the transfer region for step `t`; gives the view of each transfer.
  [[nodiscard]] std::vector<Value> views(Builder& b, Value t) {
    const Region& region = pipeline_.regions[0];
    ValueMap map;
    const std::vector<Value> vars = variables(b, t);
    for (std::size_t i = 0; i < vars.size(); ++i) map.set(region.args[i], vars[i]);
    std::vector<Inst> pure;
    for (const Inst& inst : region.insts) {
      if (inst.op != Op::transfer) pure.push_back(inst);
    }
    b.append(clone_insts(kernel_, pure, map));
    std::vector<Value> out;
    for (const Transfer& transfer : transfers_) out.push_back(map(transfer.source));
    return out;
  }

  [[nodiscard]] Value slot_number(Builder& b, Value t) { return b.index_op(Op::rem, t, b.index(stages_), "slot"); }

  // ---- allocation

  void allocate(Builder& b) {
    for (Transfer& t : transfers_) {
      Shape shape = t.block.shape;
      if (!single_slot(t)) shape.insert(shape.begin(), stages_);
      Attrs attrs;
      attrs.set(Attr::name, t.name);
      for (const Attr pinned : {Attr::tiled, Attr::swizzle}) {
        if (const AttrValue* value = t.attrs.find(pinned)) attrs.set(pinned, *value);
      }
      t.slots =
          b.emit(Op::alloc, {}, Type::ref(Space::smem, t.block.dtype, std::move(shape)), std::move(attrs), t.name);
    }
    if (has_loads()) full_ = barrier(b, "full", {stages_}, count(false, false));
    if (count(false, true) > 0) once_ = barrier(b, "fetched", {}, count(false, true));
    if (std::ranges::any_of(transfers_, [](const Transfer& t) { return t.load_back; }))
      back_ = barrier(b, "loaded", {}, 1);
    if (!hands_back()) return;
    const auto consumers = static_cast<std::int64_t>(compute_.size());
    if (cluster_axes_.empty()) {
      empty_ = barrier(b, "empty", {stages_}, consumers);
      return;
    }
    Attrs attrs;
    attrs.set(Attr::name, std::string("empty"));
    attrs.set(Attr::axes, cluster_axes_);
    attrs.set(Attr::arrivals, consumers);
    empty_ = b.emit(Op::alloc, {}, Type::ref(Space::cluster_barrier, Dtype::f32, {stages_}), std::move(attrs), "empty");
  }
  [[nodiscard]] static bool single_slot(const Transfer& t) { return t.invariant; }
  Value barrier(Builder& b, const std::string& name, Shape shape, std::int64_t arrivals) {
    Attrs attrs;
    attrs.set(Attr::name, name);
    attrs.set(Attr::arrivals, arrivals);
    return b.emit(Op::alloc, {}, Type::ref(Space::barrier, Dtype::f32, std::move(shape)), std::move(attrs), name);
  }

  // ---- fetching

  void copy_in(Builder& b, const Transfer& t, Value view, Value block, Value barrier) {
    Attrs attrs;
    if (const AttrValue* axes = t.attrs.find(Attr::axes)) attrs.set(Attr::axes, *axes);
    if (const AttrValue* oob = t.attrs.find(Attr::oob)) attrs.set(Attr::oob, *oob);
    Inst& inst = b.push(Op::copy_gmem_to_smem, {view, block, barrier}, std::move(attrs));
    inst.loc = t.loc;
  }
  /// Starts the copies of step `t` into its slot.
  void fetch(Builder& b, Value t) {
    const Value slot = slot_number(b, t);
    const std::vector<Value> sources = views(b, t);
    const Value full = b.element(full_, slot);
    each(false, false,
         [&](Transfer& load) { copy_in(b, load, sources[load.number], b.element(load.slots, slot), full); });
  }
  /// Starts the copies that do not depend on the step, if there is any step.
  void fetch_invariants(Builder& b) {
    if (!once_.valid()) return;
    b.if_then(b.compare(Op::gt, steps_, b.index(0)), [&](Builder& then) {
      const std::vector<Value> sources = views(then, then.index(0));
      each(false, true, [&](Transfer& load) { copy_in(then, load, sources[load.number], load.slots, once_); });
    });
  }
  void await_invariants(Builder& b) {
    if (!once_.valid()) return;
    b.if_then(b.compare(Op::gt, steps_, b.index(0)), [&](Builder& then) { then.push(Op::barrier_wait, {once_}); });
  }
  /// Only in the thread that fetches: everything, or what stands under `if w == 0`.
  template <class Fill>
  void in_fetching_thread(Builder& b, Fill fill) {
    if (threads_ == 1) {
      fill(b);
      return;
    }
    b.if_then(is_thread(b, 0), fill);
  }
  [[nodiscard]] Value is_thread(Builder& b, std::int64_t t) {
    Attrs attrs;
    attrs.set(Attr::axis, static_cast<std::int64_t>(kernel_.wg_axis()));
    const Value w = b.emit(Op::coord, {}, Type::scalar(Dtype::index), std::move(attrs),
                           kernel_.axes[static_cast<std::size_t>(kernel_.wg_axis())].name);
    return b.compare(Op::eq, w, b.index(t));
  }

  /// Without roles: what is fetched before the first step.
  void start_fetching(Builder& b) {
    in_fetching_thread(b, [&](Builder& inner) {
      fetch_invariants(inner);
      if (!has_loads() || prefetch() == 0) return;
      const Value ahead = inner.index_op(Op::min, inner.index(prefetch()), steps_);
      inner.for_loop("t", inner.index(0), ahead, [&](Builder& loop, Value t) { fetch(loop, t); });
    });
  }
  /// Without roles, in step `t`: fetches step t + P into the slot that step t - 1 - d has given back.
  void fetch_ahead(Builder& b, Value t) {
    if (!has_loads()) return;
    in_fetching_thread(b, [&](Builder& inner) {
      const Value next = prefetch() == 0 ? t : inner.index_op(Op::add, t, inner.index(prefetch()), "next");
      const auto body = [&](Builder& then) {
        if (hands_back()) await_empty(then, next);
        fetch(then, next);
      };
      if (prefetch() == 0) {
        body(inner);
      } else {
        inner.if_then(inner.compare(Op::lt, next, steps_), body);
      }
    });
  }
  /// Waits until the slot of step `t` was given back, if it was used before.
  void await_empty(Builder& b, Value t) {
    b.if_then(b.compare(Op::ge, t, b.index(stages_)),
              [&](Builder& then) { then.push(Op::barrier_wait, {then.element(empty_, slot_number(then, t))}); });
  }
  /// Waits for the last use of each slot: every completion of a barrier is awaited.
  void drain_empty(Builder& b) {
    if (!hands_back()) return;
    const Value first = b.index_op(Op::max, b.index_op(Op::sub, steps_, b.index(stages_)), b.index(0));
    b.for_loop("t", first, steps_, [&](Builder& loop, Value t) {
      loop.push(Op::barrier_wait, {loop.element(empty_, slot_number(loop, t))});
    });
  }

  // ---- roles

  void specialised(Builder& b) {
    std::vector<std::int64_t> arms(static_cast<std::size_t>(threads_), 2);
    if (memory_ >= 0 && memory_ < threads_) arms[static_cast<std::size_t>(memory_)] = 0;
    for (const std::int64_t t : compute_) {
      if (t >= 0 && t < threads_) arms[static_cast<std::size_t>(t)] = 1;
    }
    const bool others = std::ranges::find(arms, 2) != arms.end();
    std::vector<Region> regions(others ? 3 : 2);
    Builder memory = b.into(regions[0]);
    fetch_invariants(memory);
    if (has_loads()) {
      memory.for_loop("t", memory.index(0), steps_, [&](Builder& loop, Value t) {
        await_empty(loop, t);
        fetch(loop, t);
      });
      drain_empty(memory);
    }
    Builder compute = b.into(regions[1]);
    body(compute);
    std::vector<std::int64_t> registers{pipeline_.attrs.integer(Attr::memory_registers),
                                        pipeline_.attrs.integer(Attr::compute_registers)};
    if (others) registers.push_back(0);
    Attrs attrs;
    attrs.set(Attr::arms, arms);
    attrs.set(Attr::registers, registers);
    b.push(Op::specialize, {}, std::move(attrs)).regions = std::move(regions);
  }

  // ---- steps

  /// The body with the loop in the place of `step`.
  void body(Builder& b) {
    make_run_cells(b);
    std::vector<Inst> insts = std::move(pipeline_.regions[1].insts);
    place_loop(insts);
    b.append(std::move(insts));
  }
  bool place_loop(std::vector<Inst>& insts) {
    for (std::size_t i = 0; i < insts.size(); ++i) {
      if (insts[i].op == Op::step) {
        Region step = std::move(insts[i].regions[0]);
        std::vector<Inst> loop;
        Builder b(kernel_, loop, insts[i].loc);
        steps_loop(b, std::move(step));
        insts.erase(insts.begin() + static_cast<std::ptrdiff_t>(i));
        insts.insert(insts.begin() + static_cast<std::ptrdiff_t>(i), std::make_move_iterator(loop.begin()),
                     std::make_move_iterator(loop.end()));
        return true;
      }
      for (Region& region : insts[i].regions) {
        if (place_loop(region.insts)) return true;
      }
    }
    return false;
  }

  void steps_loop(Builder& b, Region step) {
    await_invariants(b);
    once_loads_back(b);
    b.for_loop("t", b.index(0), steps_, [&](Builder& loop, Value t) {
      if (!roles_) fetch_ahead(loop, t);
      if (has_loads()) loop.push(Op::barrier_wait, {loop.element(full_, slot_number(loop, t))});
      begin_stores(loop, t);
      run_step(loop, t, step);
      end_stores(loop, t);
      give_back_earlier(loop, t);
    });
    if (uses_mma_) {
      Attrs attrs;
      attrs.set(Attr::count, std::int64_t{0});
      b.push(Op::wgmma_wait, {}, std::move(attrs));
    }
    give_back_last(b);
    if (!roles_ && hands_back()) in_fetching_thread(b, [&](Builder& inner) { drain_empty(inner); });
    finish_stores(b);
  }

  /// The user's step with its blocks and variables in place.
  void run_step(Builder& b, Value t, Region& step) {
    const std::vector<Value> vars = variables(b, t);
    ValueMap map;
    for (std::size_t i = 0; i < step.args.size(); ++i) map.set(step.args[i], vars[i]);
    const Region& blocks = pipeline_.regions[1];
    for (Transfer& transfer : transfers_) map.set(blocks.args[transfer.number], block_of(b, transfer, t));
    b.append(clone_insts(kernel_, step.insts, map));
  }
  [[nodiscard]] Value block_of(Builder& b, const Transfer& transfer, Value t) {
    if (single_slot(transfer)) return transfer.slots;
    Value number = t;
    if (transfer.store && transfer.kind == StoreKind::runs)
      number = b.emit(Op::var_get, {transfer.run}, Type::scalar(Dtype::index));
    const Value block = b.element(transfer.slots, slot_number(b, number));
    kernel_.values[block.id].name = transfer.name;
    return block;
  }

  // ---- giving slots back

  /// In step `t`: the slot of step t - d.
  void give_back_earlier(Builder& b, Value t) {
    if (!hands_back()) return;
    if (delay_ == 0) {
      b.push(Op::barrier_arrive, {b.element(empty_, slot_number(b, t))});
      return;
    }
    b.if_then(b.compare(Op::ge, t, b.index(delay_)), [&](Builder& then) {
      const Value earlier = then.index_op(Op::sub, t, then.index(delay_));
      then.push(Op::barrier_arrive, {then.element(empty_, slot_number(then, earlier))});
    });
  }
  /// After the last step: the d slots that are still held.
  void give_back_last(Builder& b) {
    if (!hands_back() || delay_ == 0) return;
    const Value first = b.index_op(Op::max, b.index_op(Op::sub, steps_, b.index(delay_)), b.index(0));
    b.for_loop("t", first, steps_, [&](Builder& loop, Value t) {
      loop.push(Op::barrier_arrive, {loop.element(empty_, slot_number(loop, t))});
    });
  }

  // ---- stores

  /// All threads that write store blocks meet.
  void meet(Builder& b) {
    if (compute_.size() < 2) return;
    Attrs attrs;
    if (static_cast<std::int64_t>(compute_.size()) < threads_) attrs.set(Attr::threads, compute_);
    b.push(Op::sync, {}, std::move(attrs));
  }
  template <class Fill>
  void in_storing_thread(Builder& b, Fill fill) {
    if (compute_.size() < 2) {
      fill(b);
      return;
    }
    b.if_then(is_thread(b, compute_.front()), fill);
  }
  static void wait_stores(Builder& b, std::int64_t in_flight, bool read_only) {
    Attrs attrs;
    attrs.set(Attr::count, in_flight);
    if (read_only) attrs.set(Attr::read_only, true);
    b.push(Op::wait_smem_to_gmem, {}, std::move(attrs));
  }
  void copy_out(Builder& b, const Transfer& t, Value block, Value view, bool commit) {
    Attrs attrs;
    attrs.set(Attr::commit, commit);
    if (const AttrValue* oob = t.attrs.find(Attr::oob)) attrs.set(Attr::oob, *oob);
    Inst& inst = b.push(Op::copy_smem_to_gmem, {block, view}, std::move(attrs));
    inst.loc = t.loc;
  }

  void make_run_cells(Builder& b) {
    for (Transfer& t : transfers_) {
      if (!t.store || t.kind != StoreKind::runs) continue;
      t.run = b.emit(Op::var, {b.index(-1)}, Type::cell(Type::scalar(Dtype::index)), {}, fmt::format("{}_run", t.name));
    }
  }

  /// Before step `t`: the slots that it writes have been sent by their last user.
  void begin_stores(Builder& b, Value t) {
    if (count_stores(StoreKind::every_step) > 0) {
      b.if_then(b.compare(Op::ge, t, b.index(stages_)), [&](Builder& then) {
        in_storing_thread(then, [&](Builder& inner) { wait_stores(inner, stages_ - 1, true); });
        meet(then);
      });
    }
    if (count_stores(StoreKind::runs) == 0) return;
    const std::vector<Value> now = views(b, t);
    const Value before = b.index_op(Op::max, b.index_op(Op::sub, t, b.index(1)), b.index(0));
    const std::vector<Value> last = views(b, before);
    for (Transfer& store : transfers_) {
      if (!store.store || store.kind != StoreKind::runs) continue;
      const Value first = b.compare(Op::eq, t, b.index(0));
      const Value fresh =
          b.emit(Op::bit_or, {first, moved(b, now[store.number], last[store.number])}, Type::scalar(Dtype::boolean));
      b.if_then(fresh, [&](Builder& then) {
        const Value run = then.emit(Op::var_get, {store.run}, Type::scalar(Dtype::index));
        then.push(Op::var_set, {store.run, then.index_op(Op::add, run, then.index(1))});
        // Several blocks have groups of their own, so counting groups does not tell them apart.
        wait_stores(then, count_stores(StoreKind::runs) == 1 ? stages_ - 1 : 0, !store.load_back);
        if (store.load_back) load_back(then, store, now[store.number], block_of(then, store, t));
      });
    }
  }
  void once_loads_back(Builder& b) {
    for (Transfer& store : transfers_) {
      if (!store.store || store.kind != StoreKind::once || !store.load_back) continue;
      b.if_then(b.compare(Op::gt, steps_, b.index(0)),
                [&](Builder& then) { load_back(then, store, views(then, then.index(0))[store.number], store.slots); });
    }
  }
  void load_back(Builder& b, const Transfer& t, Value view, Value block) {
    wait_stores(b, 0, false);
    copy_in(b, t, view, block, back_);
    b.push(Op::barrier_wait, {back_});
  }

  /// Whether two views of one transfer, from the same computations, start at different places.
  [[nodiscard]] Value moved(Builder& b, Value view, Value other) {
    const Operands starts = definition(b, view);
    const Operands other_starts = definition(b, other);
    Value result;
    for (std::size_t i = 1; i < starts.size(); ++i) {
      const Value differs = b.compare(Op::ne, starts[i], other_starts[i]);
      result = result.valid() ? b.emit(Op::bit_or, {result, differs}, Type::scalar(Dtype::boolean)) : differs;
    }
    return result;
  }
  /// The operands of the subview that made `view`, which `views` has just appended.
  [[nodiscard]] static Operands definition(const Builder& b, Value view) {
    const Inst* inst = b.find(view);
    PK_CHECK(inst != nullptr && inst->op == Op::subview, "a block of a blocked kernel is a subview");
    return inst->operands;
  }

  /// After step `t`: sends what it completed.
  void end_stores(Builder& b, Value t) {
    const std::int64_t every = count_stores(StoreKind::every_step);
    if (every > 0) {
      b.push(Op::commit_smem);
      meet(b);
      in_storing_thread(b, [&](Builder& inner) {
        const std::vector<Value> targets = views(inner, t);
        std::int64_t left = every;
        for (Transfer& store : transfers_) {
          if (!store.store || store.kind != StoreKind::every_step) continue;
          copy_out(inner, store, block_of(inner, store, t), targets[store.number], --left == 0);
        }
      });
    }
    if (count_stores(StoreKind::runs) == 0) return;
    const Value next = b.index_op(Op::add, t, b.index(1));
    const Value last_step = b.compare(Op::eq, next, steps_);
    const std::vector<Value> now = views(b, t);
    const std::vector<Value> then_views = views(b, next);
    for (Transfer& store : transfers_) {
      if (!store.store || store.kind != StoreKind::runs) continue;
      const Value leaves = b.emit(Op::bit_or, {last_step, moved(b, now[store.number], then_views[store.number])},
                                  Type::scalar(Dtype::boolean));
      b.if_then(leaves, [&](Builder& then) {
        then.push(Op::commit_smem);
        copy_out(then, store, block_of(then, store, t), now[store.number], true);
      });
    }
  }
  /// After the last step: sends the blocks that were kept, and waits for everything.
  void finish_stores(Builder& b) {
    if (!has_stores()) return;
    if (count_stores(StoreKind::once) > 0) {
      b.if_then(b.compare(Op::gt, steps_, b.index(0)), [&](Builder& then) {
        then.push(Op::commit_smem);
        meet(then);
        in_storing_thread(then, [&](Builder& inner) {
          const std::vector<Value> targets = views(inner, inner.index(0));
          for (Transfer& store : transfers_) {
            if (store.store && store.kind == StoreKind::once)
              copy_out(inner, store, store.slots, targets[store.number], true);
          }
        });
      });
    }
    in_storing_thread(b, [&](Builder& inner) { wait_stores(inner, 0, false); });
  }

  Kernel& kernel_;
  Inst pipeline_;
  std::int64_t stages_ = 1;
  std::int64_t delay_ = 0;
  bool roles_ = false;
  bool alone_ = false;  // one thread does everything
  bool has_axis_ = false;
  bool uses_mma_ = false;
  std::int64_t threads_ = 1;
  std::int64_t memory_ = 0;
  std::vector<std::int64_t> compute_;       // the threads that run the steps
  std::vector<std::int64_t> cluster_axes_;  // of all multicast loads
  std::vector<Transfer> transfers_;
  std::vector<Value> extents_;
  Value steps_;
  Value full_, empty_, once_, back_;
};

std::vector<Inst> expand_insts(Kernel& kernel, std::vector<Inst> insts) {
  std::vector<Inst> out;
  for (Inst& inst : insts) {
    if (inst.op == Op::pipeline) {
      for (Inst& made : expand_insts(kernel, Expansion(kernel, std::move(inst)).run())) out.push_back(std::move(made));
      continue;
    }
    for (Region& region : inst.regions) region.insts = expand_insts(kernel, std::move(region.insts));
    out.push_back(std::move(inst));
  }
  return out;
}

}  // namespace

Kernel expand_pipelines(Kernel kernel) {
  kernel.body.insts = expand_insts(kernel, std::move(kernel.body.insts));
  return kernel;
}

}  // namespace pk::ir
