#pragma once
// The verifier and the passes that both back ends share. Passes are functions; `shared_passes` lists them in order.

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "pk/frontend/diagnostics.h"
#include "pk/ir/ir.h"
#include "pk/ir/target.h"

namespace pk::ir {

/// What is wrong with a kernel, one line each; empty when it is well formed. Checks operand counts and types against
/// the operation table, dominance, regions and terminators, and again the allocation rules PK0301-PK0305 and PK0314, so
/// that IR made by hand or by a broken pass is caught.
[[nodiscard]] std::vector<std::string> verify(const Kernel& kernel);

/// Replaces every `pipeline` by scopes, barriers, copies and loops (see docs/design.md, "Pipelines").
/// Needs: a checked kernel. Leaves: no pipeline, transfer or step.
[[nodiscard]] Kernel expand_pipelines(Kernel kernel);

/// Folds scalar constants, computes equal scalars once, and drops values that nothing uses. Keeps everything that has
/// effects or can fail.
[[nodiscard]] Kernel simplify(Kernel kernel);

struct Pass {
  std::string_view name;
  Kernel (*run)(Kernel);
};
[[nodiscard]] std::span<const Pass> shared_passes();

/// Runs the shared passes, verifying after each; `after` (may be empty) sees each result. A kernel that does not verify
/// is an internal error that names the pass.
[[nodiscard]] Kernel run_shared_passes(Kernel kernel,
                                       const std::function<void(std::string_view pass, const Kernel&)>& after);

}  // namespace pk::ir
