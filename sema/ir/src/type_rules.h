#pragma once
// The type rules of single instructions, for the verifier.

#include <string>
#include <vector>

#include "pk/ir/ir.h"

namespace pk::ir {

/// What is wrong with the types of an instruction's operands and results, and with the attributes that go with them.
/// Needs: as many operands, results and regions as the operation table says, and operands that exist. Unresolved
/// extents agree with everything.
[[nodiscard]] std::vector<std::string> type_problems(const Kernel& kernel, const Inst& inst);

}  // namespace pk::ir
