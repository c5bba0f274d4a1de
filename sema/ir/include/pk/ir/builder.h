#pragma once
// Appends instructions to a list: for passes, and for tests that make IR by hand.

#include <string>
#include <utility>
#include <vector>

#include "pk/ir/ir.h"

namespace pk::ir {

class Builder {
 public:
  Builder(Kernel& kernel, std::vector<Inst>& out, Loc loc) : kernel_(kernel), out_(&out), loc_(loc) {}

  [[nodiscard]] Kernel& kernel() { return kernel_; }
  [[nodiscard]] Loc loc() const { return loc_; }
  /// A builder for a region of an instruction that is being made.
  [[nodiscard]] Builder into(Region& region) const { return {kernel_, region.insts, loc_}; }

  /// Appends an instruction without results.
  Inst& push(Op op, std::vector<Value> operands = {}, Attrs attrs = {}) {
    out_->push_back({op, loc_, std::move(operands), {}, std::move(attrs), {}});
    return out_->back();
  }
  /// Appends an instruction with one result.
  Value emit(Op op, std::vector<Value> operands, Type type, Attrs attrs = {}, std::string hint = {}) {
    const Value result = kernel_.new_value(std::move(type), std::move(hint));
    push(op, std::move(operands), std::move(attrs)).results.push_back(result);
    return result;
  }
  /// The instruction of this list that defines `value`; null when it stands elsewhere.
  [[nodiscard]] const Inst* find(Value value) const {
    for (const Inst& inst : *out_) {
      for (const Value v : inst.results) {
        if (v == value) return &inst;
      }
    }
    return nullptr;
  }
  void append(std::vector<Inst> insts) {
    for (Inst& inst : insts) out_->push_back(std::move(inst));
  }

  Value index(std::int64_t value) {
    Attrs attrs;
    attrs.set(Attr::value_int, value);
    return emit(Op::constant, {}, Type::scalar(Dtype::index), std::move(attrs));
  }
  /// An operation on two index values.
  Value index_op(Op op, Value a, Value b, std::string hint = {}) {
    return emit(op, {a, b}, Type::scalar(Dtype::index), {}, std::move(hint));
  }
  Value compare(Op op, Value a, Value b) { return emit(op, {a, b}, Type::scalar(Dtype::boolean)); }

  /// `if condition { fill(then) }`
  template <class Fill>
  void if_then(Value condition, Fill fill) {
    Region then;
    Builder inner = into(then);
    fill(inner);
    Inst& inst = push(Op::if_, {condition});
    inst.regions.push_back(std::move(then));
    inst.regions.emplace_back();
  }
  /// `for name in low .. high { fill(body, name) }`
  template <class Fill>
  void for_loop(std::string name, Value low, Value high, Fill fill) {
    Region body;
    body.args.push_back(kernel_.new_value(Type::scalar(Dtype::index), std::move(name)));
    Builder inner = into(body);
    fill(inner, body.args[0]);
    const Value one = index(1);
    push(Op::for_, {low, high, one}).regions.push_back(std::move(body));
  }
  /// `ref.at[i]`: one place of the first axis, which vanishes.
  Value element(Value ref, Value i) {
    const Type type = kernel_.type(ref);
    std::vector<Value> operands{ref, i};
    Shape rest(type.shape.begin() + 1, type.shape.end());
    std::vector<std::int64_t> sizes{1};
    for (const std::int64_t extent : rest) {
      operands.push_back(index(0));
      sizes.push_back(extent);
    }
    Attrs attrs;
    attrs.set(Attr::sizes, sizes);
    attrs.set(Attr::squeeze, std::vector<std::int64_t>{0});
    return emit(Op::subview, std::move(operands), Type::ref(type.space, type.dtype, std::move(rest)), std::move(attrs));
  }

 private:
  Kernel& kernel_;
  std::vector<Inst>* out_;
  Loc loc_;
};

}  // namespace pk::ir
