// Folds scalar constants, computes equal scalars once, and drops what nothing uses.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_map>

#include "pk/ir/numerics.h"
#include "pk/ir/passes.h"
#include "pk/ir/text.h"

namespace pk::ir {
namespace {

class Simplifier {
 public:
  explicit Simplifier(Kernel& kernel)
      : kernel_(kernel), constants_(kernel.values.size()), uses_(kernel.values.size(), 0) {}

  void run() {
    for (Region* region : {&kernel_.launch, &kernel_.body}) {
      fold(*region);
      ValueMap same;
      share(*region, same);
      known_.clear();
    }
    count_uses(kernel_.launch);
    count_uses(kernel_.body);
    drop_unused(kernel_.launch);
    drop_unused(kernel_.body);
  }

 private:
  void fold(Region& region) {
    std::vector<Inst> out;
    out.reserve(region.insts.size());
    for (Inst& inst : region.insts) {
      for (Region& inner : inst.regions) fold(inner);
      fold(inst);
      if (!splice_known_branch(inst, out)) out.push_back(std::move(inst));
    }
    region.insts = std::move(out);
  }

  /// `if` on a constant: the branch that is taken stands in its place.
  bool splice_known_branch(Inst& inst, std::vector<Inst>& out) {
    if (inst.op != Op::if_) return false;
    const auto& condition = constants_[inst.operands[0].id];
    if (!condition) return false;
    const std::size_t taken = condition->as_bool() ? 0 : 1;
    if (taken >= inst.regions.size()) return true;
    const bool leaves =
        !inst.regions[taken].insts.empty() && info(inst.regions[taken].insts.back().op).cls == OpClass::terminator;
    if (leaves) return false;  // what follows would be unreachable
    for (Inst& inner : inst.regions[taken].insts) out.push_back(std::move(inner));
    return true;
  }

  void fold(Inst& inst) {
    if (inst.op == Op::constant) {
      const Type& type = kernel_.type(inst.results[0]);
      constants_[inst.results[0].id] = is_floating(type.dtype)
                                           ? Scalar::of_double(type.dtype, inst.attrs.real(Attr::value_float))
                                           : Scalar::of_int(type.dtype, inst.attrs.integer(Attr::value_int));
      return;
    }
    if (!is_elementwise(inst.op) || inst.results.size() != 1 || !kernel_.type(inst.results[0]).is_scalar()) return;
    std::vector<Scalar> operands;
    for (const Value v : inst.operands) {
      if (!kernel_.type(v).is_scalar() || !constants_[v.id]) return;
      operands.push_back(*constants_[v.id]);
    }
    const Dtype dtype = kernel_.type(inst.results[0]).dtype;
    std::optional<Scalar> value;
    if (inst.op == Op::cast) {
      value = convert(operands[0], dtype);
    } else if (inst.op == Op::bitcast) {
      value = bitcast(operands[0], dtype);
    } else {
      NumError error{};
      value = evaluate(inst.op, operands, error);
    }
    if (!value) return;  // a division by zero stays, to fail where it stands
    constants_[inst.results[0].id] = value;
    inst.op = Op::constant;
    inst.operands.clear();
    inst.attrs = {};
    if (is_floating(dtype)) {
      inst.attrs.set(Attr::value_float, value->as_double());
    } else {
      inst.attrs.set(Attr::value_int, value->as_int());
    }
  }

  /// Uses the first of several equal scalar computations for all that it dominates. Views and memory keep their own
  /// instructions, so that what is reported about them stands where the program says it.
  void share(Region& region, ValueMap& same) {
    std::vector<std::string> added;
    for (Inst& inst : region.insts) {
      for (Value& v : inst.operands) v = same(v);
      for (Region& inner : inst.regions) share(inner, same);
      if (const Value operand = unchanged_operand(inst); operand.valid()) {
        same.set(inst.results[0], operand);
        continue;
      }
      if (!shareable(inst)) continue;
      std::string key = fmt::format("{} {}", static_cast<int>(inst.op), print(kernel_.type(inst.results[0])));
      for (const Value v : inst.operands) key += fmt::format(" {}", v.id);
      for (const auto& [attr, value] : inst.attrs.all()) {
        if (const auto* integer = std::get_if<std::int64_t>(&value))
          key += fmt::format(" {}={}", static_cast<int>(attr), *integer);
        if (const auto* real = std::get_if<double>(&value))
          key += fmt::format(" {}={:a}", static_cast<int>(attr), *real);
      }
      const auto [at, fresh] = known_.emplace(key, inst.results[0]);
      if (fresh) {
        added.push_back(std::move(key));
      } else {
        same.set(inst.results[0], at->second);
      }
    }
    for (const std::string& key : added) known_.erase(key);
  }
  /// The operand that an integer scalar `x + 0`, `0 + x`, `x - 0`, `x * 1` or `1 * x` is, if it is one.
  [[nodiscard]] Value unchanged_operand(const Inst& inst) const {
    const bool add = inst.op == Op::add, mul = inst.op == Op::mul;
    if ((!add && !mul && inst.op != Op::sub) || !kernel_.type(inst.results[0]).is_scalar() ||
        !is_integer(kernel_.type(inst.results[0]).dtype))
      return {};
    const std::int64_t neutral = mul ? 1 : 0;
    const auto is_neutral = [&](Value v) { return constants_[v.id] && constants_[v.id]->as_int() == neutral; };
    if (is_neutral(inst.operands[1])) return inst.operands[0];
    return (add || mul) && is_neutral(inst.operands[0]) ? inst.operands[1] : Value{};
  }
  [[nodiscard]] bool shareable(const Inst& inst) const {
    const bool scalar = inst.results.size() == 1 && kernel_.type(inst.results[0]).is_scalar();
    return scalar && droppable(inst) && (info(inst.op).cls == OpClass::constant || is_elementwise(inst.op));
  }

  void count_uses(const Region& region) {
    for (const Inst& inst : region.insts) {
      for (const Value v : inst.operands) ++uses_[v.id];
      for (const Region& inner : inst.regions) count_uses(inner);
    }
  }

  /// Whether an unused instruction may go: it has no effects and cannot fail.
  [[nodiscard]] bool droppable(const Inst& inst) const {
    const OpInfo& row = info(inst.op);
    if (row.effects != effect::none || !inst.regions.empty() || inst.results.empty()) return false;
    switch (row.cls) {
      case OpClass::binary: {
        const bool divides = inst.op == Op::div || inst.op == Op::rem || inst.op == Op::floordiv ||
                             inst.op == Op::mod || inst.op == Op::cdiv;
        const auto& divisor = constants_[inst.operands[1].id];
        return !divides || is_floating(kernel_.type(inst.results[0]).dtype) || (divisor && divisor->as_int() > 0);
      }
      case OpClass::constant:
      case OpClass::unary:
      case OpClass::predicate:
      case OpClass::comparison:
      case OpClass::ternary:
      case OpClass::conversion:
      case OpClass::shape:
      case OpClass::reduction:
      case OpClass::scan:
      case OpClass::view:
        return true;
      case OpClass::memory:
      case OpClass::scope:
      case OpClass::async:
      case OpClass::sync:
      case OpClass::mma:
      case OpClass::control:
      case OpClass::terminator:
      case OpClass::pipeline:
      case OpClass::debug:
      case OpClass::launch:
        return false;
    }
    return false;
  }

  void drop_unused(Region& region) {
    for (std::size_t i = region.insts.size(); i-- > 0;) {
      Inst& inst = region.insts[i];
      for (std::size_t r = inst.regions.size(); r-- > 0;) drop_unused(inst.regions[r]);
      const bool unused = std::ranges::all_of(inst.results, [&](Value v) { return uses_[v.id] == 0; });
      if (!unused || !droppable(inst)) continue;
      for (const Value v : inst.operands) --uses_[v.id];
      inst.op = Op::constant;  // a constant without result marks what goes
      inst.results.clear();
    }
    std::erase_if(region.insts, [](const Inst& inst) { return inst.op == Op::constant && inst.results.empty(); });
  }

  Kernel& kernel_;
  std::vector<std::optional<Scalar>> constants_;  // by value
  std::vector<int> uses_;                         // by value
  std::unordered_map<std::string, Value> known_;  // what share() has seen and is visible
};

}  // namespace

Kernel simplify(Kernel kernel) {
  Simplifier(kernel).run();
  return kernel;
}

}  // namespace pk::ir
