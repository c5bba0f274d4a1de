#include "divisors.h"

#include <algorithm>
#include <numeric>

namespace pk::codegen {
namespace {

using ir::Attr;
using ir::Op;

/// More is of no use, and products stay far from overflow.
constexpr std::int64_t largest = std::int64_t{1} << 20;

std::int64_t limit(std::int64_t d) { return d > largest ? std::gcd(d, largest) : d; }

}  // namespace

Divisors::Divisors(const ir::Kernel& kernel)
    : kernel_(kernel), known_(kernel.values.size(), 1), dims_(kernel.dims.size(), 1) {
  read_requirements();
  collect(kernel.body);
}

// `require (eq (rem dim c) 0)`, also where `&&` joins several.
void Divisors::read_requirements() {
  std::map<std::uint32_t, const ir::Inst*> made_by;
  const auto made = [&](ir::Value v) { return made_by.contains(v.id) ? made_by[v.id] : nullptr; };
  const auto constant = [&](ir::Value v) {
    const ir::Inst* inst = made(v);
    return inst != nullptr && inst->op == Op::constant ? inst->attrs.integer(Attr::value_int, -1) : -1;
  };
  const auto learn = [&](const ir::Inst& equal) {
    const ir::Inst* remainder = made(equal.operands[0]);
    if (remainder == nullptr || (remainder->op != Op::rem && remainder->op != Op::mod)) return;
    const ir::Inst* dim = made(remainder->operands[0]);
    const std::int64_t by = constant(remainder->operands[1]);
    if (dim == nullptr || dim->op != Op::dim_value || by <= 0 || constant(equal.operands[1]) != 0) return;
    std::int64_t& known = dims_[static_cast<std::size_t>(dim->attrs.integer(Attr::dim))];
    known = limit(std::lcm(known, limit(by)));
  };
  for (const ir::Inst& inst : kernel_.launch.insts) {
    for (const ir::Value v : inst.results) made_by[v.id] = &inst;
    if (inst.op != Op::require) continue;
    std::vector<ir::Value> pending{inst.operands[0]};
    while (!pending.empty()) {
      const ir::Inst* condition = made(pending.back());
      pending.pop_back();
      if (condition == nullptr) continue;
      if (condition->op == Op::bit_and)
        pending.insert(pending.end(), condition->operands.begin(), condition->operands.end());
      if (condition->op == Op::eq) learn(*condition);
    }
  }
}

void Divisors::collect(const ir::Region& region) {
  for (const ir::Inst& inst : region.insts) {
    if (inst.results.size() == 1 && kernel_.type(inst.results[0]).is_scalar()) {
      known_[inst.results[0].id] = limit(compute(inst));
    }
    if (inst.op == Op::for_) {
      known_[inst.regions[0].args[0].id] = std::gcd(of(inst.operands[0]), of(inst.operands[2]));
    }
    for (const ir::Region& inner : inst.regions) collect(inner);
  }
}

std::int64_t Divisors::compute(const ir::Inst& inst) const {
  const ir::Dtype dtype = kernel_.type(inst.results[0]).dtype;
  if (dtype != ir::Dtype::index) return 1;  // narrower ones wrap
  const auto operand = [&](std::size_t i) { return of(inst.operands[i]); };
  switch (inst.op) {
    case Op::constant: {
      const std::int64_t value = inst.attrs.integer(Attr::value_int);
      return value == INT64_MIN ? largest : std::abs(value);
    }
    case Op::dim_value: {
      const std::int64_t dim = inst.attrs.integer(Attr::dim, -1);
      return dim < 0 ? 1 : of_dim(static_cast<std::size_t>(dim));
    }
    case Op::add:
    case Op::sub:
    case Op::min:
    case Op::max:
    case Op::rem:
    case Op::mod:
      return std::gcd(operand(0), operand(1));
    case Op::select:
      return std::gcd(operand(1), operand(2));
    case Op::mul:
      return operand(0) * operand(1);
    case Op::neg:
      return operand(0);
    default:  // nothing is known of what the other operations give
      return 1;
  }
}

}  // namespace pk::codegen
