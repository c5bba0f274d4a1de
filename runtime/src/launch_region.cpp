#include "launch_region.h"

#include <unordered_map>

#include "pk/frontend/diagnostics.h"

namespace pk::runtime {
namespace {

using ir::Op;
using ir::Scalar;

std::optional<Scalar> evaluate(const ir::Kernel& kernel, const ir::Inst& inst, const std::vector<Scalar>& operands,
                               const std::vector<std::int64_t>& dims) {
  const ir::Dtype dtype = kernel.type(inst.results[0]).dtype;
  switch (inst.op) {
    case Op::constant:
      if (ir::is_floating(dtype)) return Scalar::of_double(dtype, inst.attrs.real(ir::Attr::value_float));
      return Scalar::of_int(dtype, inst.attrs.integer(ir::Attr::value_int));
    case Op::dim_value: {
      const std::int64_t dim = inst.attrs.integer(ir::Attr::dim, -1);
      PK_CHECK(dim >= 0 && dim < static_cast<std::int64_t>(dims.size()),
               "launch region: dim_value of an unknown dimension");
      return Scalar::of_int(dtype, dims[static_cast<std::size_t>(dim)]);
    }
    case Op::cast:
      return ir::convert(operands[0], dtype);
    case Op::bitcast:
      return ir::bitcast(operands[0], dtype);
    default:
      break;  // the elementwise rows of the table
  }
  PK_CHECK(ir::is_elementwise(inst.op), "launch region: operation without a meaning before the launch");
  ir::NumError error = ir::NumError::none;
  const std::optional<Scalar> result = ir::evaluate(inst.op, operands, error);
  PK_CHECK(result || error != ir::NumError::none, "launch region: operands do not fit");
  return result;
}

}  // namespace

std::optional<std::vector<std::int64_t>> evaluate_launch_region(const ir::Kernel& kernel,
                                                                const std::vector<std::int64_t>& dims,
                                                                const std::vector<Scalar>& scalars) {
  std::unordered_map<std::uint32_t, Scalar> values;
  for (std::size_t i = 0; i < kernel.launch.args.size() && i < scalars.size(); ++i)
    values[kernel.launch.args[i].id] = scalars[i];
  for (const ir::Inst& inst : kernel.launch.insts) {
    if (inst.op == Op::require) continue;  // the launch itself checks and reports it
    std::vector<Scalar> operands;
    for (const ir::Value operand : inst.operands) operands.push_back(values[operand.id]);
    if (inst.op == Op::yield) {
      std::vector<std::int64_t> extents;
      for (const Scalar& operand : operands) extents.push_back(operand.as_int());
      return extents;
    }
    const std::optional<Scalar> result = evaluate(kernel, inst, operands, dims);
    if (!result) return std::nullopt;
    values[inst.results[0].id] = *result;
  }
  return std::vector<std::int64_t>{};
}

}  // namespace pk::runtime
