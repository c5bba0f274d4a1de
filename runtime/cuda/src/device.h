#pragma once
// One device: its context, memory and loaded modules.

#include <memory>
#include <string>

#include "driver.h"
#include "pk/frontend/diagnostics.h"

namespace pk::cuda {

/// Device memory, freed with the object.
class Memory {
 public:
  Memory() = default;
  explicit Memory(DevicePointer pointer) : pointer_(pointer) {}
  Memory(Memory&& other) noexcept : pointer_(other.pointer_) { other.pointer_ = 0; }
  Memory& operator=(Memory&& other) noexcept;
  ~Memory();
  [[nodiscard]] DevicePointer pointer() const { return pointer_; }

 private:
  DevicePointer pointer_ = 0;
};

/// Host memory that the device sees, for what a kernel reports before it stops.
class ReportMemory {
 public:
  ReportMemory() = default;
  ReportMemory(std::uint32_t* host, DevicePointer device) : host_(host), device_(device) {}
  ReportMemory(ReportMemory&& other) noexcept : host_(other.host_), device_(other.device_) { other.host_ = nullptr; }
  ReportMemory& operator=(ReportMemory&& other) noexcept;
  ~ReportMemory();
  [[nodiscard]] DevicePointer device() const { return device_; }
  [[nodiscard]] std::uint32_t value() const {
    return host_ == nullptr ? 0 : *static_cast<volatile std::uint32_t*>(host_);
  }

 private:
  std::uint32_t* host_ = nullptr;
  DevicePointer device_ = 0;
};

class Device {
 public:
  /// The first device of the machine, with its primary context. Errors: no driver, no device, an older one than sm_90.
  static Result<Device> open();

  /// Makes the context current on this thread; a new one after `lose`.
  [[nodiscard]] std::string enter();
  /// A kernel has failed: the driver refuses everything in this context from now on.
  void lose();
  [[nodiscard]] unsigned generation() const { return generation_; }  ///< counts contexts: modules belong to one

  [[nodiscard]] Result<Memory> allocate(std::size_t bytes) const;
  [[nodiscard]] Result<ReportMemory> allocate_report() const;
  /// Loads PTX; an error has what the driver's compiler says.
  [[nodiscard]] Result<Module> load(const std::string& ptx) const;

 private:
  int number_ = 0;
  Context context_ = nullptr;
  bool lost_ = false;
  unsigned generation_ = 0;
};

/// An error for a call that did not succeed.
[[nodiscard]] Error failure(const std::string& what, Status status);

}  // namespace pk::cuda
