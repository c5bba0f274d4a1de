// One launch: binds generics and dimensions, compiles, allocates outputs, runs.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "host_maths.h"
#include "pk/runtime/launch_region.h"
#include "pk/runtime/test_runner.h"

namespace pk::runtime {
namespace {

bool takes_input(ir::Mode mode) { return mode != ir::Mode::out; }
bool gives_output(ir::Mode mode) { return mode == ir::Mode::out || mode == ir::Mode::inout; }

std::vector<sema::ArgInfo> argument_infos(const std::vector<Array>& inputs) {
  std::vector<sema::ArgInfo> infos;
  infos.reserve(inputs.size());
  for (const Array& a : inputs) infos.push_back({a.dtype, a.shape, a.shape.empty(), a.untyped});
  return infos;
}

/// Everything a launch needs between its inputs and its outputs, one entry for each parameter.
struct Launch {
  const ir::Kernel& kernel;
  std::vector<Array> arrays;
  std::vector<std::int64_t> dims;
  Span span;
  Diagnostics& diags;

  bool place_inputs(const std::vector<Array>& inputs);
  bool bind_dims(const sema::Bindings& bindings);
  bool allocate_outputs();
  [[nodiscard]] std::vector<interp::Argument> arguments();
};

bool Launch::place_inputs(const std::vector<Array>& inputs) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < kernel.params.size(); ++i) {
    const ir::Param& param = kernel.params[i];
    if (!takes_input(param.mode)) continue;
    PK_CHECK(next < inputs.size(), "bind_launch let a launch with too few arguments pass");
    const Array& input = inputs[next++];
    Result<Array> adapted = adapt(input, param.type.dtype);
    if (!adapted || adapted->shape.size() != param.dims.size()) {
      diags.report<diag::run_launch>(
          span, adapted
                    ? fmt::format("`{}` of `{}` has {} axes, the argument is `{}`", param.name, kernel.name,
                                  param.dims.size(), type_text(input))
                    : fmt::format("argument for `{}` of `{}`: {}", param.name, kernel.name, adapted.error().message));
      return false;
    }
    arrays[i] = std::move(*adapted);
  }
  return true;
}

bool Launch::bind_dims(const sema::Bindings& bindings) {
  std::vector<bool> known(kernel.dims.size(), false);
  dims.assign(kernel.dims.size(), 0);
  for (std::size_t d = 0; d < kernel.dims.size(); ++d) {
    const auto fixed = bindings.dims.find(kernel.dims[d]);
    if (fixed == bindings.dims.end()) continue;
    dims[d] = fixed->second;
    known[d] = true;
  }
  for (std::size_t i = 0; i < kernel.params.size(); ++i) {
    if (!takes_input(kernel.params[i].mode)) continue;
    for (std::size_t axis = 0; axis < kernel.params[i].dims.size(); ++axis) {
      const ir::ParamDim& dim = kernel.params[i].dims[axis];
      const std::size_t d = static_cast<std::size_t>(dim.value);
      if (dim.kind != ir::ParamDim::Kind::symbol || known[d]) continue;  // contradictions are the launch's to report
      dims[d] = arrays[i].shape[axis];
      known[d] = true;
    }
  }
  for (std::size_t d = 0; d < known.size(); ++d) {
    if (known[d]) continue;
    diags.report<diag::run_launch>(
        span, fmt::format("no argument of `{}` says how large dimension `{}` is", kernel.name, kernel.dims[d]));
    return false;
  }
  return true;
}

bool Launch::allocate_outputs() {
  std::vector<ir::Scalar> scalars;
  for (const Array& a : arrays) scalars.push_back(a.shape.empty() && !a.data.empty() ? scalar_of(a) : ir::Scalar{});
  const std::optional<std::vector<std::int64_t>> yielded = evaluate_launch_region(kernel, dims, scalars);
  for (std::size_t i = 0; i < kernel.params.size(); ++i) {
    const ir::Param& param = kernel.params[i];
    if (param.mode != ir::Mode::out) continue;
    ir::Shape shape;
    for (const ir::ParamDim& dim : param.dims) {
      const std::size_t at = static_cast<std::size_t>(dim.value);
      if (dim.kind == ir::ParamDim::Kind::constant) shape.push_back(dim.value);
      if (dim.kind == ir::ParamDim::Kind::symbol) shape.push_back(dims[at]);
      // When the region has failed the launch reports it; the shape does not matter then.
      if (dim.kind == ir::ParamDim::Kind::computed)
        shape.push_back(yielded && at < yielded->size() ? (*yielded)[at] : 0);
    }
    Result<Array> array = checked_array(param.type.dtype, shape);
    if (!array) {
      diags.report<diag::run_launch>(
          span, fmt::format("output `{}` of `{}`: {}", param.name, kernel.name, array.error().message));
      return false;
    }
    arrays[i] = std::move(*array);
    // An output holds no particular values before it is written; zeros would hide what a kernel forgets.
    std::ranges::fill(arrays[i].data, std::byte{0xff});
  }
  return true;
}

std::vector<interp::Argument> Launch::arguments() {
  std::vector<interp::Argument> list;
  for (std::size_t i = 0; i < kernel.params.size(); ++i) {
    interp::Argument argument;
    argument.shape = arrays[i].shape;
    argument.initialised = kernel.params[i].mode != ir::Mode::out;
    argument.data = arrays[i].data.data();
    if (kernel.params[i].type.is_scalar()) {
      argument.scalar_bits = scalar_of(arrays[i]).bits;
      argument.data = nullptr;
    }
    list.push_back(std::move(argument));
  }
  return list;
}

}  // namespace

std::optional<std::vector<Array>> launch(const Sources&, const sema::Module& module, const LaunchRequest& request,
                                         const RunOptions& options, KernelCache* cache, Diagnostics& diags) {
  const bool interpret = options.backend == "interp";
  if (!interpret && options.device == nullptr) {
    diags.report<diag::run_launch>(request.span,
                                   fmt::format("there is no back end `{}` in this build", options.backend));
    return std::nullopt;
  }
  std::vector<sema::ExplicitGeneric> generics = request.generics;
  for (const auto& [name, value] : request.fixed.generics) generics.push_back({name, value, request.span});
  std::optional<sema::Bindings> bindings =
      sema::bind_launch(module, *request.kernel, generics, argument_infos(request.inputs), request.span, diags);
  if (!bindings) return std::nullopt;
  bindings->dims.insert(request.fixed.dims.begin(), request.fixed.dims.end());
  KernelCache own;
  const std::shared_ptr<const CompiledKernel> compiled =
      (cache == nullptr ? own : *cache).get(module, *request.kernel, *bindings, options.target, interpret, diags);
  if (compiled == nullptr) return std::nullopt;
  const ir::Kernel& kernel = compiled->kernel;
  Launch one{kernel, std::vector<Array>(kernel.params.size()), {}, request.span, diags};
  if (!one.place_inputs(request.inputs) || !one.bind_dims(*bindings) || !one.allocate_outputs()) return std::nullopt;
  const std::vector<interp::Argument> arguments = one.arguments();
  const bool ended = interpret ? interp::run(*compiled->program, arguments, request.span, options.interp, diags)
                               : options.device->launch(kernel, arguments, request.span, diags);
  if (!ended) return std::nullopt;
  std::vector<Array> outputs;
  for (std::size_t i = 0; i < kernel.params.size(); ++i) {
    if (gives_output(kernel.params[i].mode)) outputs.push_back(std::move(one.arrays[i]));
  }
  return outputs;
}

}  // namespace pk::runtime
