#pragma once
// PK0310: the shared memory that is live at once against what a block has.

#include "pk/frontend/diagnostics.h"
#include "pk/ir/ir.h"
#include "pk/ir/target.h"
#include "uniformity.h"

namespace pk::sema::rules {

/// Nested scopes add up, siblings share. So do buffers that specialised code uses one after the other, since no scope
/// for all threads can be opened there. Extents that are not known yet count as nothing.
void check_shared_memory(const ir::Kernel& kernel, const Uniformity& uniformity, const ir::Target& target,
                         Diagnostics& diags);

}  // namespace pk::sema::rules
