#pragma once
// PK0601, PK0602, PK0604, PK0606-PK0608: mistakes with asynchronous work that one thread makes on its own, found by
// following it through the program. What happens only under a condition that is not known is a warning.

#include "pk/frontend/diagnostics.h"
#include "uniformity.h"

namespace pk::sema::rules {

void check_protocol(const ir::Kernel& kernel, const Uniformity& uniformity, Diagnostics& diags);

}  // namespace pk::sema::rules
