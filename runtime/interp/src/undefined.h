#pragma once
// Elements without a result: an integer division by zero (or one that overflows) is an error only if somebody uses the
// element. So its place is remembered and followed through arithmetic until `select`, `&&`, `||` or a mask drops it, or
// an operation with effects uses it. Kept apart from the values: almost every thread has none.

#include <cstdint>
#include <map>
#include <vector>

#include "pk/ir/numerics.h"
#include "program.h"

namespace pk::interp {

/// Of one value: which elements are undefined (a byte each), and the division that made the first of them.
struct Undefined {
  std::vector<std::uint8_t> elements;
  const ir::Inst* division = nullptr;
  ir::NumError error = ir::NumError::none;
  [[nodiscard]] bool any() const;
};

using UndefinedValues = std::map<std::uint32_t, Undefined>;  // by value

/// Called before an instruction of a thread that has undefined values: works out which elements of its result are
/// undefined. Returns the one that it uses although it must not, or null.
const Undefined* follow_undefined(const Program& program, Thread& thread, const Instr& at);

}  // namespace pk::interp
