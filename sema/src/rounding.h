#pragma once
// Literals are rounded to their type before anything is computed with them.

#include "pk/ir/dtype.h"

namespace pk::sema {

/// `value` as the nearest number of the floating type `dtype`, ties to even; fp8 types saturate.
[[nodiscard]] double round_to(ir::Dtype dtype, double value);

/// Whether the integer type can hold `value`.
[[nodiscard]] bool fits(ir::Dtype dtype, std::int64_t value);

}  // namespace pk::sema
