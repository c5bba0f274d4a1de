#pragma once
// PK0706: a store block of a pipeline is written completely in each step, since all of it goes to global memory.

#include "pk/frontend/diagnostics.h"
#include "uniformity.h"

namespace pk::sema::rules {

void check_store_blocks(const ir::Kernel& kernel, const Uniformity& uniformity, Diagnostics& diags);

}  // namespace pk::sema::rules
