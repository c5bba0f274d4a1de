#include "device.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace pk::cuda {

Error failure(const std::string& what, Status status) { return {0, fmt::format("{}: {}", what, describe(status))}; }

Memory& Memory::operator=(Memory&& other) noexcept {
  std::swap(pointer_, other.pointer_);
  return *this;
}
Memory::~Memory() {
  // In a context that has failed this fails as well; its memory goes with it.
  if (pointer_ != 0) driver().release(pointer_);
}

ReportMemory& ReportMemory::operator=(ReportMemory&& other) noexcept {
  std::swap(host_, other.host_);
  std::swap(device_, other.device_);
  return *this;
}
ReportMemory::~ReportMemory() {
  if (host_ != nullptr) driver().release_host(host_);
}

Result<Device> Device::open() {
  const Driver& cuda = driver();
  if (!cuda.problem.empty()) return Error{0, cuda.problem};
  if (const Status status = cuda.init(0); status != success) return failure("the CUDA driver does not start", status);
  int count = 0;
  if (cuda.device_count(&count) != success || count == 0) return Error{0, "there is no CUDA device"};
  Device device;
  if (const Status status = cuda.device(&device.number_, 0); status != success)
    return failure("the first CUDA device", status);
  int major = 0, minor = 0;
  cuda.device_attribute(&major, capability_major, device.number_);
  cuda.device_attribute(&minor, capability_minor, device.number_);
  if (major != 9)
    return Error{0, fmt::format("the CUDA device is sm_{}{}; this back end makes code for sm_90a", major, minor)};
  return device;
}

std::string Device::enter() {
  const Driver& cuda = driver();
  if (lost_) {
    cuda.reset_context(number_);
    context_ = nullptr;
    lost_ = false;
  }
  if (context_ == nullptr) {
    if (const Status status = cuda.retain_context(&context_, number_); status != success)
      return failure("a context on the CUDA device", status).message;
    ++generation_;
  }
  const Status status = cuda.set_context(context_);
  return status == success ? std::string() : failure("the context of the CUDA device", status).message;
}

void Device::lose() { lost_ = true; }

Result<Memory> Device::allocate(std::size_t bytes) const {
  DevicePointer pointer = 0;
  // The driver gives no memory of no bytes.
  const Status status = driver().allocate(&pointer, bytes == 0 ? 1 : bytes);
  if (status != success) return failure(fmt::format("allocating {} bytes on the device", bytes), status);
  return Memory(pointer);
}

Result<ReportMemory> Device::allocate_report() const {
  void* host = nullptr;
  if (const Status status = driver().allocate_host(&host, sizeof(std::uint32_t)); status != success)
    return failure("allocating host memory", status);
  *static_cast<std::uint32_t*>(host) = 0;
  DevicePointer device = 0;
  const Status status = driver().device_address(&device, host, 0);
  ReportMemory memory(static_cast<std::uint32_t*>(host), device);
  if (status != success) return failure("the device's address of host memory", status);
  return memory;
}

Result<Module> Device::load(const std::string& ptx) const {
  std::array<char, 8192> log{};
  int options[] = {error_log, error_log_bytes};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
  Module module = nullptr;
  const Status status = driver().load_module(&module, ptx.c_str(), 2, options, values);
  if (status != success) return failure(fmt::format("the driver refuses the code ({})", log.data()), status);
  return module;
}

}  // namespace pk::cuda
