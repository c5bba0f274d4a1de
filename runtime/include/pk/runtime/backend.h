#pragma once
// What the runtime needs of a device: to run one kernel over host memory. The interpreter is built in; a GPU back end
// implements this and is passed in RunOptions.

#include <string>
#include <vector>

#include "pk/frontend/diagnostics.h"
#include "pk/interp/interp.h"
#include "pk/ir/ir.h"

namespace pk::runtime {

class Backend {
 public:
  Backend() = default;
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  /// Why nothing can run here (no driver, no device), or empty.
  [[nodiscard]] virtual std::string unavailable_reason() const = 0;
  /// Runs `kernel` (after the shared passes) with one argument for each parameter, in order; arrays are in host memory
  /// and hold the results afterwards. Returns whether it ended without error; errors are in `diags`. May be called
  /// from several threads.
  virtual bool launch(const ir::Kernel& kernel, const std::vector<interp::Argument>& args, Span launch_span,
                      Diagnostics& diags) = 0;
};

}  // namespace pk::runtime
