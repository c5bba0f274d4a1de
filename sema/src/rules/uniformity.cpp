#include "uniformity.h"

#include <algorithm>

namespace pk::sema::rules {

using ir::Op;

namespace {
// Facts only grow, so the passes end by themselves; this many would be a mistake in the analysis.
constexpr int most_passes = 200;
}  // namespace

Uniformity::Uniformity(const ir::Kernel& kernel)
    : kernel_(kernel), lanes_(kernel), definitions_(kernel.values.size(), nullptr), values_(kernel.values.size()) {
  define(kernel.body);
}

void Uniformity::define(const ir::Region& r) {
  for (const ir::Inst& i : r.insts) {
    for (const ir::Value v : i.results) definitions_[v.id] = &i;
    for (const ir::Region& inner : i.regions) define(inner);
  }
}

void Uniformity::run(const Visit& visit) {
  for (int pass = 0; pass < most_passes; ++pass) {
    changed_ = false;
    guards_.clear();
    cells_.clear();
    (void)region(kernel_.body, all_lanes());
    if (!changed_) break;
  }
  visit_ = &visit;
  (void)region(kernel_.body, all_lanes());
  visit_ = nullptr;
}

Arrivals Uniformity::region(const ir::Region& r, Arrivals in) {
  for (const ir::Inst& i : r.insts) in = inst(i, in);
  return in;
}

Arrivals Uniformity::inst(const ir::Inst& i, const Arrivals& in) {
  using Walk = Arrivals (Uniformity::*)(const ir::Inst&, const Arrivals&);
  constexpr std::pair<Op, Walk> control[] = {
      {Op::if_, &Uniformity::if_inst},       {Op::specialize, &Uniformity::specialize},
      {Op::for_, &Uniformity::loop},         {Op::while_, &Uniformity::loop},
      {Op::block, &Uniformity::block},       {Op::scoped, &Uniformity::scope},
      {Op::pipeline, &Uniformity::pipeline}, {Op::step, &Uniformity::step},
      {Op::break_, &Uniformity::jump},       {Op::continue_, &Uniformity::jump},
      {Op::exit_block, &Uniformity::jump},
  };
  for (const auto& [op, walk] : control) {
    if (i.op == op) return (this->*walk)(i, in);
  }
  if (visit_ != nullptr) (void)(*visit_)(i, in);
  compute(i);
  return in;
}

void Uniformity::compute(const ir::Inst& i) {
  if (i.op == Op::var_set) {
    if (const auto cell = cell_numbers_.find(i.operands[0].id); cell != cell_numbers_.end())
      cells_[cell->second] = values_[i.operands[1].id];
    return;
  }
  if (i.results.empty()) return;
  Known& result = values_[i.results[0].id];
  if (i.op == Op::var) {
    const auto [cell, added] = cell_numbers_.emplace(i.results[0].id, static_cast<std::uint32_t>(cell_numbers_.size()));
    cells_.resize(std::max(cells_.size(), cell_numbers_.size()));
    cells_[cell->second] = values_[i.operands[0].id];
  } else if (i.op == Op::var_get) {
    const auto cell = cell_numbers_.find(i.operands[0].id);
    result = cell == cell_numbers_.end() ? LaneSpace::unknown(0) : cells_[cell->second];
  } else if ((ir::info(i.op).effects & ir::effect::reads) != 0) {
    result = loaded(i);
  } else if (ir::info(i.op).cls == ir::OpClass::constant) {
    result = constant(i);
  } else {
    result = calculated(i);
  }
}

Known Uniformity::constant(const ir::Inst& i) const {
  const ir::Type& type = kernel_.type(i.results[0]);
  if (i.op == Op::constant && type.is_scalar() && !ir::is_floating(type.dtype)) {
    return lanes_.constant(i.attrs.integer(ir::Attr::value_int));
  }
  if (i.op == Op::dim_value && i.attrs.integer(ir::Attr::dim) < 0) return LaneSpace::unknown(unresolved_bit);
  const int axis =
      i.op == Op::coord || i.op == Op::axis_size ? lanes_.find(static_cast<int>(i.attrs.integer(ir::Attr::axis))) : -1;
  if (axis < 0) return LaneSpace::unknown(0);
  if (i.op == Op::coord) return lanes_.coord(axis);
  const LaneSpace::Axis& of = lanes_.axes()[static_cast<std::size_t>(axis)];
  return of.symbolic ? LaneSpace::unknown(unresolved_bit) : lanes_.constant(of.size);
}

Known Uniformity::calculated(const ir::Inst& i) const {
  const auto is_tracked = [this](ir::Value v) {
    const ir::Type& type = kernel_.type(v);
    return type.is_scalar() && !ir::is_floating(type.dtype);
  };
  const bool tracked = ir::is_elementwise(i.op) && i.op != Op::bitcast && is_tracked(i.results[0]) &&
                       std::all_of(i.operands.begin(), i.operands.end(), is_tracked);
  if (!tracked) return LaneSpace::unknown(operand_variance(i));
  std::vector<ir::Dtype> types;
  std::vector<const Known*> operands;
  for (const ir::Value v : i.operands) {
    types.push_back(kernel_.type(v).dtype);
    operands.push_back(&values_[v.id]);
  }
  return lanes_.apply(i.op, kernel_.type(i.results[0]).dtype, types, operands);
}

// What memory holds: global memory is the same for all threads that read the same place. Shared memory counts as the
// same, which is checked at run time. What an accumulator, an atomic operation or a test gives is a thread's own.
Known Uniformity::loaded(const ir::Inst& i) const {
  const AxisMask everything = (AxisMask{1} << lanes_.axes().size()) - 1;
  AxisMask varies = operand_variance(i);
  if (i.op == Op::atomic || i.op == Op::barrier_test || i.op == Op::semaphore_read)
    return LaneSpace::unknown(everything);
  switch (kernel_.type(i.operands[0]).space) {
    case ir::Space::gmem:
      return LaneSpace::unknown(varies);
    case ir::Space::smem: {
      // Only a mask and what replaces masked-off elements can still differ.
      varies = 0;
      for (std::size_t o = 1; o < i.operands.size(); ++o) varies |= lanes_.variance(values_[i.operands[o].id]);
      return LaneSpace::unknown(varies);
    }
    case ir::Space::acc:
    case ir::Space::tmem:
      return LaneSpace::unknown(everything);
    case ir::Space::barrier:
    case ir::Space::cluster_barrier:
    case ir::Space::semaphore:
      break;
  }
  return LaneSpace::unknown(everything);
}

// A condition that is the same for all threads keeps them together, whatever it is.
Arrivals Uniformity::narrow(const Arrivals& in, const Known& condition, Guard::Kind kind, const ir::Inst& i) {
  const AxisMask variance = lanes_.variance(condition);
  const bool known = !condition.lanes.empty() && std::all_of(condition.lanes.begin(), condition.lanes.end(),
                                                             [](const auto& lane) { return lane.has_value(); });
  if (variance == 0 && !known) return in;
  Arrivals out{lanes_.both(in.reach, condition), in.guard};
  if (variance == 0) return out;
  guards_.push_back(std::make_unique<Guard>(Guard{kind, &i, in.guard, condition, variance}));
  out.guard = guards_.back().get();
  return out;
}

// Behind something that some lanes may have left by a jump.
Arrivals Uniformity::after(const Arrivals& in, const Known& reach) {
  const AxisMask variance = lanes_.variance(reach);
  if (variance == 0 && !lanes_.is_zero(reach)) return in;
  Arrivals out{lanes_.both(in.reach, reach), in.guard};
  if (variance == 0) return out;
  guards_.push_back(std::make_unique<Guard>(Guard{Guard::Kind::left, last_jump_, in.guard, reach, variance}));
  out.guard = guards_.back().get();
  return out;
}

Arrivals Uniformity::if_inst(const ir::Inst& i, const Arrivals& in) {
  const Known condition = values_[i.operands[0].id];
  const std::size_t jumps = jumps_;
  const std::vector<Known> before = cells_;
  const Arrivals then = region(i.regions[0], narrow(in, condition, Guard::Kind::then_branch, i));
  std::vector<Known> then_cells = std::move(cells_);
  cells_ = before;
  const Arrivals otherwise = region(i.regions[1], narrow(in, lanes_.negate(condition), Guard::Kind::else_branch, i));
  if (lanes_.is_zero(otherwise.reach)) {
    cells_ = std::move(then_cells);
  } else if (!lanes_.is_zero(then.reach)) {
    then_cells.resize(cells_.size());
    for (std::size_t c = 0; c < cells_.size(); ++c) cells_[c] = lanes_.choose(condition, then_cells[c], cells_[c]);
  }
  return jumps_ == jumps ? in : after(in, lanes_.either(then.reach, otherwise.reach));
}

Arrivals Uniformity::specialize(const ir::Inst& i, const Arrivals& in) {
  const std::size_t jumps = jumps_;
  const std::vector<std::int64_t>& arms = i.attrs.integers(ir::Attr::arms);
  const bool known = !arms.empty() && std::none_of(arms.begin(), arms.end(), [](std::int64_t arm) { return arm < 0; });
  const std::vector<Known> before = cells_;
  std::optional<std::vector<Known>> cells;
  Known reach = lanes_.constant(0);
  for (std::size_t a = 0; a < i.regions.size(); ++a) {
    std::vector<std::int64_t> threads;
    for (std::size_t t = 0; t < arms.size(); ++t) {
      if (arms[t] == static_cast<std::int64_t>(a)) threads.push_back(static_cast<std::int64_t>(t));
    }
    const Known mine = known ? lanes_.threads_in(threads) : LaneSpace::unknown(unresolved_bit);
    cells_ = before;
    const Arrivals end = region(i.regions[a], narrow(in, mine, Guard::Kind::arm, i));
    reach = lanes_.either(reach, end.reach);
    if (lanes_.is_zero(end.reach)) continue;
    if (!cells) {
      cells = cells_;
      continue;
    }
    cells->resize(std::max(cells->size(), cells_.size()));
    cells_.resize(cells->size());
    for (std::size_t c = 0; c < cells_.size(); ++c) (*cells)[c] = lanes_.choose(mine, cells_[c], (*cells)[c]);
  }
  cells_ = cells.value_or(before);
  return jumps_ == jumps ? in : after(in, reach);
}

std::vector<Known> Uniformity::join_cells(const std::vector<Known>& a, const std::vector<Known>& b) const {
  std::vector<Known> out = a.size() >= b.size() ? a : b;
  for (std::size_t c = 0; c < std::min(a.size(), b.size()); ++c) out[c] = lanes_.join(a[c], b[c]);
  return out;
}

void Uniformity::spread(const std::vector<std::uint32_t>& cells, AxisMask varies) {
  if (varies == 0) return;
  for (const std::uint32_t v : cells) {
    const auto number = cell_numbers_.find(v);
    if (number == cell_numbers_.end() || number->second >= cells_.size()) continue;
    Known& cell = cells_[number->second];
    cell = LaneSpace::unknown(lanes_.variance(cell) | varies);
  }
}

namespace {
void collect_assigned(const ir::Inst& i, std::vector<std::uint32_t>& cells) {
  if (i.op == Op::var_set) cells.push_back(i.operands[0].id);
  for (const ir::Region& r : i.regions) {
    for (const ir::Inst& inner : r.insts) collect_assigned(inner, cells);
  }
}
}  // namespace

const std::vector<std::uint32_t>& Uniformity::assigned_cells(const ir::Inst& i) {
  const auto [entry, added] = assigned_.try_emplace(&i);
  if (added) {
    collect_assigned(i, entry->second);
    std::sort(entry->second.begin(), entry->second.end());
    entry->second.erase(std::unique(entry->second.begin(), entry->second.end()), entry->second.end());
  }
  return entry->second;
}

AxisMask Uniformity::operand_variance(const ir::Inst& i) const {
  AxisMask varies = 0;
  for (const ir::Value v : i.operands) varies |= lanes_.variance(values_[v.id]);
  return varies;
}

Known Uniformity::trip_count(const ir::Inst& loop) const {
  const Known& low = values_[loop.operands[0].id];
  const Known& high = values_[loop.operands[1].id];
  const Known& step = values_[loop.operands[2].id];
  Known rounds{std::vector<std::optional<std::int64_t>>(static_cast<std::size_t>(lanes_.count())),
               operand_variance(loop)};
  for (int lane = 0; lane < lanes_.count(); ++lane) {
    const auto l = low.at(lane), h = high.at(lane), s = step.at(lane);
    if (l && h && s) rounds.lanes[static_cast<std::size_t>(lane)] = loop_rounds(*l, *h, *s);
  }
  return rounds;
}

Arrivals Uniformity::loop(const ir::Inst& i, const Arrivals& in) {
  const bool counted = i.op == Op::for_;
  const std::size_t jumps = jumps_;
  std::vector<std::size_t> jumps_before;
  for (const Target& t : targets_) jumps_before.push_back(t.jumps);
  const Known rounds = counted ? trip_count(i) : LaneSpace::unknown(0);
  const AxisMask rounds_variance = lanes_.variance(rounds);
  const LoopFacts facts = loops_[&i];
  if (facts.entered) cells_ = join_cells(cells_, facts.cells);
  spread(assigned_cells(i), rounds_variance | facts.variance);
  const std::vector<Known> head_cells = cells_;

  Arrivals head = in;
  Known enters = LaneSpace::unknown(rounds_variance | facts.variance);
  if (counted) {
    enters.lanes.resize(static_cast<std::size_t>(lanes_.count()));
    for (int lane = 0; lane < lanes_.count(); ++lane) {
      if (rounds.at(lane) == 0) enters.lanes[static_cast<std::size_t>(lane)] = 0;
    }
    values_[i.regions[0].args[0].id] =
        LaneSpace::unknown(lanes_.variance(values_[i.operands[0].id]) | lanes_.variance(values_[i.operands[2].id]));
  }
  if (lanes_.variance(enters) != 0 || lanes_.is_zero(enters)) {
    head = narrow(in, enters, Guard::Kind::rounds, i);
    if (head.guard != in.guard) {
      guards_.back()->taken = rounds;
      if (facts.jump != nullptr && rounds_variance == 0) {
        guards_.back()->kind = Guard::Kind::left;
        guards_.back()->inst = facts.jump;
        guards_.back()->taken = enters;
      }
    }
  }

  targets_.push_back({&i, std::nullopt, nullptr, std::nullopt, 0});
  AxisMask variance = facts.variance;
  Arrivals body = head;
  if (!counted) {
    body = region(i.regions[0], head);
    const Known condition = values_[i.regions[0].insts.back().operands[0].id];
    variance |= lanes_.variance(condition);
    const std::vector<Known> exit_cells = cells_;
    body = region(i.regions[1], narrow(body, condition, Guard::Kind::then_branch, i));
    cells_ = join_cells(cells_, exit_cells);
  } else {
    body = region(i.regions[0], head);
  }
  const Target target = std::move(targets_.back());
  targets_.pop_back();
  if (target.left) variance |= lanes_.variance(*target.left);

  LoopFacts& kept = loops_[&i];
  const std::vector<Known> joined = kept.entered ? join_cells(kept.cells, cells_) : cells_;
  const std::vector<Known> with_head = join_cells(joined, head_cells);
  if (!kept.entered || with_head != kept.cells || variance != kept.variance) changed_ = true;
  kept.entered = true;
  kept.cells = with_head;
  kept.variance = variance;
  if (target.left && lanes_.variance(*target.left) != 0) kept.jump = target.jump;

  cells_ = with_head;
  if (target.cells) cells_ = join_cells(cells_, *target.cells);
  spread(assigned_cells(i), variance | rounds_variance);
  if (jumps_ == jumps) return in;
  AxisMask leaving = 0;
  for (std::size_t t = 0; t < targets_.size(); ++t) {
    if (targets_[t].jumps != jumps_before[t]) leaving |= lanes_.variance(*targets_[t].left);
  }
  return after(in, LaneSpace::unknown(leaving));
}

Arrivals Uniformity::block(const ir::Inst& i, const Arrivals& in) {
  const std::size_t jumps = jumps_;
  targets_.push_back({&i, std::nullopt, nullptr, std::nullopt, 0});
  const Arrivals end = region(i.regions[0], in);
  const Target target = std::move(targets_.back());
  targets_.pop_back();
  if (jumps_ == jumps) return in;
  if (target.cells) cells_ = lanes_.is_zero(end.reach) ? *target.cells : join_cells(cells_, *target.cells);
  if (target.left) spread(assigned_cells(i), lanes_.variance(*target.left));
  const bool leaves_further =
      std::any_of(targets_.begin(), targets_.end(), [](const Target& t) { return t.jumps > 0; });
  if (!leaves_further) return in;
  return after(in, target.left ? lanes_.either(end.reach, *target.left) : end.reach);
}

Arrivals Uniformity::jump(const ir::Inst& i, const Arrivals& in) {
  ++jumps_;
  last_jump_ = &i;
  const bool to_block = i.op == Op::exit_block;
  for (std::size_t t = targets_.size(); t > 0; --t) {
    Target& target = targets_[t - 1];
    const bool is_block = target.inst->op == Op::block;
    const bool reached = is_block == to_block;
    // A `break` that crosses a block leaves it unseen; an exit that crosses a loop ends that loop too.
    if (is_block && !reached) continue;
    if (i.op == Op::continue_) break;
    target.left = target.left ? lanes_.either(*target.left, in.reach) : in.reach;
    target.jump = &i;
    ++target.jumps;
    if (reached) {
      target.cells = target.cells ? join_cells(*target.cells, cells_) : cells_;
      break;
    }
  }
  if (visit_ != nullptr) (void)(*visit_)(i, in);
  return {lanes_.constant(0), in.guard};
}

Arrivals Uniformity::scope(const ir::Inst& i, const Arrivals& in) {
  const bool assume_all = visit_ != nullptr && (*visit_)(i, in);
  const std::size_t jumps = jumps_;
  const Arrivals end = region(i.regions[0], assume_all ? all_lanes() : in);
  return jumps_ == jumps || assume_all ? in : end;
}

Arrivals Uniformity::pipeline(const ir::Inst& i, const Arrivals& in) {
  const bool assume_all = visit_ != nullptr && (*visit_)(i, in);
  const Arrivals arrive = assume_all ? all_lanes() : in;
  const AxisMask outer_variance = pipeline_variance_;
  pipeline_variance_ = operand_variance(i);
  for (const ir::Value v : i.regions[0].args) values_[v.id] = LaneSpace::unknown(pipeline_variance_);
  (void)region(i.regions[0], arrive);
  Arrivals body = arrive;
  if (i.attrs.has(ir::Attr::compute)) {
    body = narrow(arrive, lanes_.threads_in(i.attrs.integers(ir::Attr::compute)), Guard::Kind::compute_threads, i);
  }
  for (const ir::Value v : i.regions[1].args) values_[v.id] = LaneSpace::unknown(0);
  (void)region(i.regions[1], body);
  pipeline_variance_ = outer_variance;
  return in;
}

// A pipeline's steps are a loop that nothing leaves early.
Arrivals Uniformity::step(const ir::Inst& i, const Arrivals& in) {
  const LoopFacts facts = loops_[&i];
  if (facts.entered) cells_ = join_cells(cells_, facts.cells);
  spread(assigned_cells(i), pipeline_variance_);
  const std::vector<Known> head_cells = cells_;
  for (const ir::Value v : i.regions[0].args) values_[v.id] = LaneSpace::unknown(pipeline_variance_);
  Arrivals head = in;
  if (pipeline_variance_ != 0) head = narrow(in, LaneSpace::unknown(pipeline_variance_), Guard::Kind::rounds, i);
  (void)region(i.regions[0], head);
  LoopFacts& kept = loops_[&i];
  const std::vector<Known> with_head = join_cells(kept.entered ? join_cells(kept.cells, cells_) : cells_, head_cells);
  if (!kept.entered || with_head != kept.cells) changed_ = true;
  kept.entered = true;
  kept.cells = with_head;
  cells_ = with_head;
  spread(assigned_cells(i), pipeline_variance_);
  return in;
}

}  // namespace pk::sema::rules
