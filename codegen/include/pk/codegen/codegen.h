#pragma once
// From kernel IR to PTX for Hopper: what `pkc build --emit=llvm|ptx` prints and what the CUDA runtime loads. LLVM stays
// behind this header.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pk/frontend/diagnostics.h"
#include "pk/ir/ir.h"
#include "pk/ir/target.h"

namespace pk::codegen {

struct Options {
  ir::Target target = ir::sm_90a;
  /// Kernel parameters whose row pitch or address breaks the rules of the copy engine: their copies are made by the
  /// lanes. Numbers of parameters, in order.
  std::vector<int> without_tma;
  /// For line numbers in the PTX; may be null.
  const Sources* lines = nullptr;
};

/// How a tensor map is encoded at launch. Axes are in the order of the parameter: the last is the innermost.
struct TensorMap {
  int param = 0;                  ///< whose memory it describes
  std::vector<std::int64_t> box;  ///< elements along each axis; 1 where the view has a single coordinate
  int swizzle = 0;                ///< 128, 64 or 32 bytes; 0 for none
  bool fill_nan = false;          ///< what stands outside the array
  friend bool operator==(const TensorMap&, const TensorMap&) = default;
};

/// One parameter of the PTX entry, in order.
struct EntryParam {
  enum class Kind : std::uint8_t {
    pointer,     ///< address of kernel parameter `index`
    scalar,      ///< value of kernel parameter `index`, as wide as its dtype
    dim,         ///< run-time dimension `index`, 64 bits
    extent,      ///< extent of mesh axis `index`, 64 bits
    computed,    ///< number `index` of the launch region's yield, 64 bits
    tensor_map,  ///< number `index` of `Manifest::tensor_maps`, 128 bytes
    semaphores,  ///< address of `Manifest::semaphore_bytes` bytes of zeros
    report,      ///< address of host memory that receives a record when a check fails
  };
  Kind kind = Kind::pointer;
  int index = 0;
};

/// A check that can stop the kernel: what the record's number stands for.
struct Check {
  std::string text;
  Span span;
  bool is_trap = false;
};

/// What a launch has to know about the code.
struct Manifest {
  std::string entry;
  std::string target;
  std::vector<EntryParam> params;
  std::vector<TensorMap> tensor_maps;
  std::vector<Check> checks;
  std::int64_t shared_bytes = 0;  ///< dynamic shared memory
  int lanes_per_block = 128;
  int cluster_size = 1;
  std::int64_t semaphore_bytes = 0;
  int pointer_alignment = 16;  ///< that the code counts on, of every array argument
};

struct Ptx {
  std::string text;
  Manifest manifest;
};

/// `kernel` has been through the shared passes. What cannot be lowered is an error (PK0803) at the operation.
[[nodiscard]] std::optional<Ptx> emit(const ir::Kernel& kernel, const Options& options, Diagnostics& diags);

/// The LLVM IR before optimisation, as text.
[[nodiscard]] std::optional<std::string> emit_llvm(const ir::Kernel& kernel, const Options& options,
                                                   Diagnostics& diags);

/// The manifest as JSON, for people and other programs.
[[nodiscard]] std::string to_json(const ir::Kernel& kernel, const Manifest& manifest);

}  // namespace pk::codegen
