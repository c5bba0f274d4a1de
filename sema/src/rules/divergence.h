#pragma once
// PK0307: operations that all threads (or all blocks along a cluster axis) have to reach, and do not.

#include "pk/frontend/diagnostics.h"
#include "uniformity.h"

namespace pk::sema::rules {

/// Reports for one instruction, given who gets to it; true if it did.
bool check_arrivals(const ir::Kernel& kernel, const Uniformity& uniformity, const ir::Inst& inst,
                    const Arrivals& arrivals, Diagnostics& diags);

/// The first words of a statement with a body: what a person would point at.
[[nodiscard]] Span head_span(const Uniformity& uniformity, const ir::Inst& inst);

/// Adds a label for each call that was inlined to get to `loc`.
void label_calls(const ir::Kernel& kernel, const ir::Loc& loc, DiagnosticBuilder& report);

}  // namespace pk::sema::rules
