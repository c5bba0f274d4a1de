#include "pk/runtime/kernel_cache.h"

#include <fmt/format.h>

#include "pk/ir/passes.h"

namespace pk::runtime {
namespace {

std::string cache_key(const ast::Kernel& kernel, const sema::Bindings& bindings, bool interpret) {
  std::string key = fmt::format("{}{}", kernel.name.text, interpret ? " interp" : "");
  for (const auto& [name, value] : bindings.generics) {
    const ir::Dtype* dtype = std::get_if<ir::Dtype>(&value);
    key += dtype == nullptr ? fmt::format(" {}={}", name, std::get<std::int64_t>(value))
                            : fmt::format(" {}={}", name, ir::spelling(*dtype));
  }
  for (const auto& [name, value] : bindings.dims) key += fmt::format(" dim {}={}", name, value);
  return key;
}

}  // namespace

std::shared_ptr<const CompiledKernel> KernelCache::get(const sema::Module& module, const ast::Kernel& kernel,
                                                       const sema::Bindings& bindings, const ir::Target& target,
                                                       bool interpret, Diagnostics& diags) {
  const std::string key = cache_key(kernel, bindings, interpret);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = kernels_.find(key); found != kernels_.end()) return found->second;
  }
  // Compiling happens outside the lock; when two threads compile the same kernel, the first result is kept.
  std::optional<ir::Kernel> elaborated = sema::elaborate(module, kernel, bindings, target, diags);
  if (!elaborated) return nullptr;
  auto compiled = std::make_shared<CompiledKernel>();
  compiled->kernel = ir::run_shared_passes(std::move(*elaborated), {});
  if (interpret) compiled->program = interp::prepare(compiled->kernel);
  const std::lock_guard lock(mutex_);
  return kernels_.try_emplace(key, std::move(compiled)).first->second;
}

}  // namespace pk::runtime
