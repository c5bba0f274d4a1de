#include "pk/ir/passes.h"

#include <fmt/format.h>

namespace pk::ir {
namespace {

// Pipelines first: what they expand to has constants to fold.
constexpr Pass pipeline_passes[] = {{"expand_pipelines", expand_pipelines}, {"simplify", simplify}};

void require_valid(const Kernel& kernel, std::string_view after) {
  const std::vector<std::string> problems = verify(kernel);
  if (problems.empty()) return;
  PK_CHECK(false, fmt::format("kernel `{}` is malformed after {}: {}", kernel.name, after, problems.front()));
}

}  // namespace

std::span<const Pass> shared_passes() { return pipeline_passes; }

Kernel run_shared_passes(Kernel kernel, const std::function<void(std::string_view pass, const Kernel&)>& after) {
  require_valid(kernel, "elaboration");
  for (const Pass& pass : shared_passes()) {
    kernel = pass.run(std::move(kernel));
    require_valid(kernel, pass.name);
    if (after) after(pass.name, kernel);
  }
  return kernel;
}

}  // namespace pk::ir
