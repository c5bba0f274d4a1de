#include "emit_ptx.h"

namespace pk::tools {

Result<std::string> emit_device_code(const ir::Kernel& /*kernel*/, const DeviceCodeOptions& options) {
  return Error{0, fmt::format("this build of pkc has no code generator, which --emit={} needs", options.form)};
}

}  // namespace pk::tools
