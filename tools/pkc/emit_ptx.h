#pragma once
// What `pkc build` asks of the code generator; a build without LLVM answers with an error that says so.

#include <string>

#include "pk/frontend/diagnostics.h"
#include "pk/ir/ir.h"
#include "pk/ir/target.h"

namespace pk::tools {

struct DeviceCodeOptions {
  std::string form;  ///< "llvm" or "ptx"
  ir::Target target;
  int optimise = 3;
  bool debug = false;
};

/// Device code of a kernel after the shared passes.
[[nodiscard]] Result<std::string> emit_device_code(const ir::Kernel& kernel, const DeviceCodeOptions& options);

}  // namespace pk::tools
