#include "pk/runtime/launch_region.h"

#include <unordered_map>

#include "pk/frontend/diagnostics.h"

namespace pk::runtime {
namespace {

using ir::Op;
using ir::Scalar;

std::optional<Scalar> evaluate(const ir::Kernel& kernel, const ir::Inst& inst, const std::vector<Scalar>& operands,
                               const std::vector<std::int64_t>& dims) {
  const ir::Dtype dtype = kernel.type(inst.results[0]).dtype;
  if (inst.op == Op::constant && ir::is_floating(dtype)) {
    return Scalar::of_double(dtype, inst.attrs.real(ir::Attr::value_float));
  }
  if (inst.op == Op::constant) return Scalar::of_int(dtype, inst.attrs.integer(ir::Attr::value_int));
  if (inst.op == Op::dim_value) {
    const std::int64_t dim = inst.attrs.integer(ir::Attr::dim, -1);
    PK_CHECK(dim >= 0 && dim < static_cast<std::int64_t>(dims.size()),
             "launch region: dim_value of an unknown dimension");
    return Scalar::of_int(dtype, dims[static_cast<std::size_t>(dim)]);
  }
  if (inst.op == Op::cast) return ir::convert(operands[0], dtype);
  if (inst.op == Op::bitcast) return ir::bitcast(operands[0], dtype);
  PK_CHECK(ir::is_elementwise(inst.op), "launch region: operation without a meaning before the launch");
  ir::NumError error = ir::NumError::none;
  const std::optional<Scalar> result = ir::evaluate(inst.op, operands, error);
  PK_CHECK(result || error != ir::NumError::none, "launch region: operands do not fit");
  return result;
}

}  // namespace

std::optional<std::vector<std::int64_t>> evaluate_launch_region(const ir::Kernel& kernel,
                                                                const std::vector<std::int64_t>& dims,
                                                                const std::vector<Scalar>& scalars,
                                                                const ir::Inst** failed) {
  std::unordered_map<std::uint32_t, Scalar> values;
  for (std::size_t i = 0; i < kernel.launch.args.size() && i < scalars.size(); ++i)
    values[kernel.launch.args[i].id] = scalars[i];
  for (const ir::Inst& inst : kernel.launch.insts) {
    std::vector<Scalar> operands;
    operands.reserve(inst.operands.size());
    for (const ir::Value operand : inst.operands) operands.push_back(values[operand.id]);
    if (inst.op == Op::require) {
      if (operands[0].as_bool()) continue;
      if (failed != nullptr) *failed = &inst;
      return std::nullopt;
    }
    if (inst.op == Op::yield) {
      std::vector<std::int64_t> extents;
      extents.reserve(operands.size());
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
