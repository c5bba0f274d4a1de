#pragma once
// Evaluates the launch region of a kernel: what `launch` needs to allocate outputs whose extents are computed, and what
// a device back end needs to size its grid.

#include <optional>
#include <vector>

#include "pk/ir/ir.h"
#include "pk/ir/numerics.h"

namespace pk::runtime {

/// The values of the region's final `yield`: extents of the mesh axes, then computed parameter extents. `dims` are the
/// run-time dimensions; `scalars` has an entry for each parameter, of which only those of scalar parameters are looked
/// at. Nothing when a division fails or a `require` is false: the launch itself reports both, and `failed` (may be
/// null) receives the `require`.
[[nodiscard]] std::optional<std::vector<std::int64_t>> evaluate_launch_region(const ir::Kernel& kernel,
                                                                              const std::vector<std::int64_t>& dims,
                                                                              const std::vector<ir::Scalar>& scalars,
                                                                              const ir::Inst** failed = nullptr);

}  // namespace pk::runtime
