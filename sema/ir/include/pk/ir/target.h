#pragma once
// Facts about the machines pk compiles for, each with its source. Nothing else names a GPU limit.

#include <cstdint>
#include <optional>
#include <string_view>

namespace pk::ir {

struct Target {
  std::string_view name;             ///< "sm_90a"
  int sm;                            ///< 90
  std::int64_t shared_memory_bytes;  ///< most shared memory a block can opt in to (CUDA C Programming Guide, compute
                                     ///< capabilities)
  int register_pool;                 ///< 32-bit registers a block's multiprocessor has
  int max_warpgroups = 8;            ///< 1024 lanes a block
  int max_cluster = 8;               ///< portable cluster size (PTX ISA, .reqnctapercluster); 16 with `nonportable`
  int max_nonportable_cluster = 16;
  int named_barriers = 16;  ///< PTX ISA, bar: barriers 0..15
};

inline constexpr Target sm_90a{"sm_90a", 90, 232448, 65536};
inline constexpr Target sm_80{"sm_80", 80, 166912, 65536};
[[nodiscard]] constexpr std::optional<Target> find_target(std::string_view name) {
  if (name == "sm_90a" || name == "sm_90") return sm_90a;
  if (name == "sm_80") return sm_80;
  return std::nullopt;
}

/// Shared-memory allocations start at multiples of this many bytes (TMA's and the 128-byte swizzle's alignment, PTX ISA
/// "Shared memory address alignment for swizzle").
inline constexpr std::int64_t shared_alignment = 1024;
/// Size of an mbarrier object in shared memory (PTX ISA, mbarrier).
inline constexpr std::int64_t barrier_bytes = 8;
inline constexpr int lanes_per_thread = 128;

}  // namespace pk::ir
