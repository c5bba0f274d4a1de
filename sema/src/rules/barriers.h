#pragma once
// PK0603 and PK0605: arrivals and waits of the barriers of a scope, where all of them can be counted. A barrier
// completes with every `arrivals(n)`-th arrival, and a thread that ever waits on it waits for each completion.

#include "pk/frontend/diagnostics.h"
#include "uniformity.h"

namespace pk::sema::rules {

void check_barriers(const ir::Kernel& kernel, const Uniformity& uniformity, Diagnostics& diags);

}  // namespace pk::sema::rules
