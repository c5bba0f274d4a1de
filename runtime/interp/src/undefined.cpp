#include "undefined.h"

#include <algorithm>

#include "machine.h"
#include "pk/interp/tile_kernels.h"

namespace pk::interp {

namespace {

class Follower {
 public:
  Follower(const Program& program, Thread& thread, const Instr& at)
      : program_(program), thread_(thread), inst_(*at.inst) {}

  const Undefined* follow() {
    Undefined result;
    const Undefined* misused = nullptr;
    if (std::ranges::any_of(inst_.operands, [&](ir::Value v) { return find(v) != nullptr; }))
      misused = work_out(result);
    for (const ir::Value v : inst_.results) thread_.undefined.erase(v.id);
    if (misused != nullptr) return misused;
    const ir::Value target = inst_.op == ir::Op::var_set ? inst_.operands[0]
                             : inst_.results.empty()     ? ir::Value{}
                                                         : inst_.results[0];
    if (inst_.op == ir::Op::var_set) thread_.undefined.erase(target.id);
    if (target.valid() && result.any()) thread_.undefined[target.id] = std::move(result);
    return nullptr;
  }

 private:
  [[nodiscard]] const Undefined* find(ir::Value v) const {
    const auto found = thread_.undefined.find(v.id);
    return found == thread_.undefined.end() ? nullptr : &found->second;
  }
  [[nodiscard]] std::size_t count(ir::Value v) const {
    const Slot& slot = program_.slot(v);
    return slot.kind == Slot::Kind::tile ? static_cast<std::size_t>(slot.count) : 1;
  }
  [[nodiscard]] const ir::Shape& shape(ir::Value v) const { return program_.kernel.type(v).shape; }
  /// Whether element `i` of an operand (a scalar is repeated) is undefined.
  [[nodiscard]] bool is_undefined(ir::Value v, std::size_t i) const {
    const Undefined* u = find(v);
    return u != nullptr && u->elements[u->elements.size() == 1 ? 0 : i] != 0;
  }
  [[nodiscard]] bool is_true(ir::Value v, std::size_t i) const {
    const Slot& slot = program_.slot(v);
    return slot.kind == Slot::Kind::tile ? thread_.tile(slot)[i] != std::byte{0} : thread_.scalar(slot) != 0;
  }

  template <class F>
  void each(Undefined& result, std::size_t n, const F& f) {
    result.elements.assign(n, 0);
    for (std::size_t i = 0; i < n; ++i) result.elements[i] = f(i) ? 1 : 0;
    for (const ir::Value v : inst_.operands) {
      const Undefined* u = find(v);
      if (u == nullptr) continue;
      result.division = u->division;
      result.error = u->error;
      break;
    }
  }
  /// The first undefined operand with an undefined element for which `used` is true.
  template <class F>
  const Undefined* misuse(std::size_t n, const F& used) const {
    for (const ir::Value v : inst_.operands) {
      for (std::size_t i = 0; find(v) != nullptr && i < n; ++i) {
        if (is_undefined(v, i) && used(i)) return find(v);
      }
    }
    return nullptr;
  }

  const Undefined* work_out(Undefined& result) {
    const auto& in = inst_.operands;
    switch (inst_.op) {
      case ir::Op::select:
        each(result, count(inst_.results[0]), [&](std::size_t i) {
          return is_undefined(in[0], i) || is_undefined(is_true(in[0], i) ? in[1] : in[2], i);
        });
        return nullptr;
      case ir::Op::bit_and:
      case ir::Op::bit_or: {
        // A defined false (true) decides `&&` (`||`) whatever the other side is.
        const bool decides = inst_.op == ir::Op::bit_or;
        const bool logical = program_.slot(in[0]).dtype == ir::Dtype::boolean;
        each(result, count(inst_.results[0]), [&](std::size_t i) {
          const auto decided = [&](ir::Value v) { return logical && !is_undefined(v, i) && is_true(v, i) == decides; };
          return (is_undefined(in[0], i) || is_undefined(in[1], i)) && !decided(in[0]) && !decided(in[1]);
        });
        return nullptr;
      }
      case ir::Op::splat:
      case ir::Op::reshape:
      case ir::Op::layout_cast:
      case ir::Op::var:
      case ir::Op::var_get:
        each(result, count(inst_.results[0]), [&](std::size_t i) { return is_undefined(in[0], i); });
        return nullptr;
      case ir::Op::var_set:
        each(result, count(in[0]), [&](std::size_t i) { return is_undefined(in[1], i); });
        return nullptr;
      case ir::Op::broadcast:
        each(result, count(inst_.results[0]), [](std::size_t) { return false; });
        if (program_.slot(in[0]).kind != Slot::Kind::tile) {
          std::ranges::fill(result.elements, std::uint8_t{1});
        } else {
          tile::broadcast(1, bytes(result), shape(inst_.results[0]), bytes(*find(in[0])), shape(in[0]));
        }
        return nullptr;
      case ir::Op::transpose:
        each(result, count(inst_.results[0]), [](std::size_t) { return false; });
        tile::transpose(1, bytes(result), bytes(*find(in[0])), shape(in[0]), inst_.attrs.integers(ir::Attr::perm));
        return nullptr;
      case ir::Op::store_masked:
        return misuse(count(in[2]), [&](std::size_t i) { return is_true(in[2], i) || is_undefined(in[2], i); });
      case ir::Op::load_masked:
        each(result, count(inst_.results[0]),
             [&](std::size_t i) { return !is_true(in[1], i) && is_undefined(in[2], i); });
        return find(in[1]);
      default:
        break;  // other arithmetic hands undefined elements on, everything else must not see them
    }
    if (ir::is_elementwise(inst_.op)) {
      each(result, count(inst_.results[0]),
           [&](std::size_t i) { return std::ranges::any_of(in, [&](ir::Value v) { return is_undefined(v, i); }); });
      return nullptr;
    }
    for (const ir::Value v : in) {
      if (find(v) != nullptr) return find(v);
    }
    return nullptr;
  }

  static std::byte* bytes(Undefined& u) { return reinterpret_cast<std::byte*>(u.elements.data()); }
  static const std::byte* bytes(const Undefined& u) { return reinterpret_cast<const std::byte*>(u.elements.data()); }

  const Program& program_;
  Thread& thread_;
  const ir::Inst& inst_;
};

}  // namespace

bool Undefined::any() const {
  return std::ranges::any_of(elements, [](std::uint8_t e) { return e != 0; });
}

const Undefined* follow_undefined(const Program& program, Thread& thread, const Instr& at) {
  return Follower(program, thread, at).follow();
}

}  // namespace pk::interp
