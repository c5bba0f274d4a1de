#pragma once
// The part of the CUDA driver API that pk uses: declarations of its own (names, order of arguments and values are those
// of the documented API), and the table of entry points of the library that is found at run time.

#include <cstddef>
#include <cstdint>
#include <string>

namespace pk::cuda {

using Status = int;
using DevicePointer = std::uint64_t;
using Context = struct ContextTag*;
using Module = struct ModuleTag*;
using Function = struct FunctionTag*;
using Stream = struct StreamTag*;

inline constexpr Status success = 0;

struct LaunchAttribute {
  int id;
  char padding[4];
  union {
    char bytes[64];
    struct {
      unsigned x, y, z;
    } cluster;
  } value;
};
inline constexpr int cluster_dimension_attribute = 4;

struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  Stream stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

inline constexpr int capability_major = 75, capability_minor = 76;                          // device attributes
inline constexpr int max_dynamic_shared_bytes = 8;                                          // function attribute
inline constexpr int info_log = 3, info_log_bytes = 4, error_log = 5, error_log_bytes = 6;  // options of load_module

/// The driver's functions; loaded once for the process.
struct Driver {
#define PK_DRIVER(name, symbol, parameters) Status(*name) parameters = nullptr;
#include "driver_functions.def"
  std::string problem;  ///< why there is no driver; empty when all functions are there
};
[[nodiscard]] const Driver& driver();

/// "CUDA_ERROR_INVALID_PTX: a PTX JIT compilation failed"
[[nodiscard]] std::string describe(Status status);

}  // namespace pk::cuda
