#pragma once
// The CUDA back end of launches: kernels become PTX, the driver's compiler loads it, and arrays travel to the device
// and back. The driver is opened with dlopen, so that pk builds and starts without a GPU.

#include <memory>
#include <string>

#include "pk/runtime/backend.h"

namespace pk::cuda {

/// Why kernels cannot run here: no driver, no device, or one that is too old. Empty when they can.
[[nodiscard]] std::string unavailable_reason();

/// Runs kernels on the first device; compiled kernels are kept. May be used from several threads.
[[nodiscard]] std::unique_ptr<runtime::Backend> make_backend();

}  // namespace pk::cuda
