#include "places.h"

#include <algorithm>

namespace pk::sema::rules {

using ir::Op;

namespace {
/// The sum, if it fits.
std::optional<std::int64_t> add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::nullopt : std::optional(sum);
}

/// Whether `a` ends at or before the start of `b`; both are known.
bool ends_before(const Interval& a, const Interval& b) {
  const auto end = add(*a.start, a.size);
  return end && *end <= *b.start;
}
}  // namespace

bool Place::is_whole() const {
  return known && std::all_of(box.begin(), box.end(), [](const Interval& i) { return i.whole; });
}

bool certainly_overlap(const Place& a, const Place& b) {
  if (a.root != b.root || a.foreign || b.foreign) return false;
  if (a.is_whole() || b.is_whole()) return true;
  if (!a.known || !b.known) return false;
  for (std::size_t i = 0; i < a.box.size(); ++i) {
    const Interval& x = a.box[i];
    const Interval& y = b.box[i];
    if (x.whole || y.whole || x.number == y.number) continue;
    if (!x.start || !y.start || x.size < 0 || y.size < 0) return false;
    if (ends_before(x, y) || ends_before(y, x)) return false;
  }
  return true;
}

std::optional<std::int64_t> Places::constant(ir::Value v, std::int64_t thread) const {
  const LaneSpace& lanes = uniformity_.lanes();
  const Known& known = uniformity_.value(v);
  const int axis = lanes.thread_axis();
  std::optional<std::int64_t> found;
  for (int lane = 0; lane < lanes.count(); ++lane) {
    if (axis >= 0 && lanes.coordinate(lane, axis) != thread) continue;
    if (!known.at(lane) || (found && *found != *known.at(lane))) return std::nullopt;
    found = known.at(lane);
  }
  return found;
}

ir::Value Places::root(ir::Value ref) const {
  const ir::Inst* inst = uniformity_.definition(ref);
  while (inst != nullptr && ir::info(inst->op).cls == ir::OpClass::view) {
    ref = inst->operands[0];
    inst = uniformity_.definition(ref);
  }
  return ref;
}

Place Places::resolve(ir::Value ref, std::int64_t thread) { return view(ref, thread).place; }

Places::View Places::view(ir::Value ref, std::int64_t thread) {
  const ir::Inst* inst = uniformity_.definition(ref);
  if (inst == nullptr || ir::info(inst->op).cls != ir::OpClass::view) {
    View whole;
    whole.place.root = ref;
    const ir::Shape& shape = kernel_.type(ref).shape;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      whole.place.box.push_back({0, number(std::vector<std::int64_t>{-1, 0}), shape[i], true});
      whole.axes.push_back(static_cast<int>(i));
    }
    return whole;
  }
  if (inst->op == Op::subview) return subview(*inst, thread);
  View of = view(inst->operands[0], thread);
  if (inst->op == Op::ref_transpose) {
    std::reverse(of.axes.begin(), of.axes.end());
  } else if (inst->op == Op::peer) {
    of.place.foreign = true;
  } else if (!of.place.is_whole()) {
    of.place.known = false;  // reshaped: axes do not correspond any more
  } else {
    of.axes.assign(kernel_.type(ref).shape.size(), -1);
  }
  return of;
}

Places::View Places::subview(const ir::Inst& inst, std::int64_t thread) {
  View of = view(inst.operands[0], thread);
  const std::vector<std::int64_t>& sizes = inst.attrs.integers(ir::Attr::sizes);
  const std::vector<std::int64_t>& squeeze = inst.attrs.integers(ir::Attr::squeeze);
  const ir::Shape& shape = kernel_.type(inst.operands[0]).shape;
  std::vector<int> axes;
  for (std::size_t i = 0; i < sizes.size() && i < of.axes.size() && i + 1 < inst.operands.size(); ++i) {
    const int axis = of.axes[i];
    if (std::find(squeeze.begin(), squeeze.end(), static_cast<std::int64_t>(i)) == squeeze.end()) axes.push_back(axis);
    const ir::Value start = inst.operands[i + 1];
    const auto constant_start = constant(start, thread);
    const bool full =
        constant_start == 0 && (sizes[i] == ir::dynamic_extent || (sizes[i] >= 0 && sizes[i] == shape[i]));
    if (full || !of.place.known) continue;
    if (axis < 0) {
      of.place.known = false;
      continue;
    }
    Interval& interval = of.place.box[static_cast<std::size_t>(axis)];
    const std::uint32_t zero = number(std::vector<std::int64_t>{-1, 0});
    const std::uint32_t inner = constant_start ? number(std::vector<std::int64_t>{-1, *constant_start}) : number(start);
    const auto sum = interval.start && constant_start ? add(*interval.start, *constant_start) : std::nullopt;
    if (sum) {
      interval.number = number(std::vector<std::int64_t>{-1, *sum});
    } else if (interval.number == zero) {
      interval.number = inner;
    } else if (inner != zero) {
      interval.number = number(std::vector<std::int64_t>{-2, interval.number, inner});
    }
    interval.start = sum;
    interval.size = sizes[i] >= 0 ? sizes[i] : -1;
    interval.whole = false;
  }
  of.axes = std::move(axes);
  return of;
}

std::uint32_t Places::number(std::vector<std::int64_t> key) {
  return numbers_.emplace(std::move(key), static_cast<std::uint32_t>(numbers_.size())).first->second;
}

std::uint32_t Places::number(ir::Value v) {
  const auto known = value_numbers_.find(v);
  if (known != value_numbers_.end()) return known->second;
  const std::uint32_t n = fresh_number(v);
  value_numbers_.emplace(v, n);
  return n;
}

std::uint32_t Places::fresh_number(ir::Value v) {
  const ir::Inst* inst = uniformity_.definition(v);
  const bool pure =
      inst != nullptr && (ir::is_elementwise(inst->op) || ir::info(inst->op).cls == ir::OpClass::constant);
  if (!pure) return number(std::vector<std::int64_t>{-3, v.id});
  const bool unknown_generic = inst->op == Op::dim_value && inst->attrs.integer(ir::Attr::dim) < 0;
  if (unknown_generic) return number(std::vector<std::int64_t>{-3, v.id});
  std::vector<std::int64_t> key{static_cast<std::int64_t>(inst->op), static_cast<std::int64_t>(kernel_.type(v).dtype),
                                inst->attrs.integer(ir::Attr::value_int), inst->attrs.integer(ir::Attr::axis),
                                inst->attrs.integer(ir::Attr::dim)};
  if (inst->attrs.has(ir::Attr::value_float)) return number(std::vector<std::int64_t>{-3, v.id});
  for (const ir::Value operand : inst->operands) key.push_back(number(operand));
  return number(std::move(key));
}

}  // namespace pk::sema::rules
