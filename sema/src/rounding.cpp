#include "rounding.h"

#include "pk/ir/numerics.h"

namespace pk::sema {
double round_to(ir::Dtype dtype, double value) { return ir::Scalar::of_double(dtype, value).as_double(); }

bool fits(ir::Dtype dtype, std::int64_t value) {
  const ir::DtypeInfo& row = ir::info(dtype);
  if (row.cls == ir::DtypeClass::uint) return value >= 0 && (row.bits == 64 || value < (std::int64_t{1} << row.bits));
  if (row.cls != ir::DtypeClass::sint || row.bits == 64) return true;
  const std::int64_t limit = std::int64_t{1} << (row.bits - 1);
  return value >= -limit && value < limit;
}

}  // namespace pk::sema
