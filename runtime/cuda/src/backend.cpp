// Launches for the test runner and `pkc run`: arrays travel to the device, the kernel runs, arrays travel back.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "device.h"
#include "launch_binding.h"
#include "pk/codegen/codegen.h"
#include "pk/cuda/cuda.h"
#include "pk/ir/text.h"
#include "tensor_maps.h"

namespace pk::cuda {
namespace {

/// Code of one kernel for arguments of one kind.
struct Compiled {
  codegen::Ptx code;
  Module module = nullptr;
  Function function = nullptr;
  unsigned generation = 0;  ///< of the device's context that has the module
};

class Backend final : public runtime::Backend {
 public:
  std::string unavailable_reason() const override { return cuda::unavailable_reason(); }

  bool launch(const ir::Kernel& kernel, const std::vector<interp::Argument>& args, Span launch_span,
              Diagnostics& diags) override {
    const std::optional<Binding> binding = bind(kernel, args, launch_span, diags);
    if (!binding) return false;
    // Kernels are not cheap to copy to the device: one launch at a time keeps errors with the launch that made them.
    const std::lock_guard lock(mutex_);
    const std::string problem = run(kernel, args, *binding, launch_span, diags);
    if (!problem.empty() && !diags.has_errors()) diags.report<diag::run_launch>(launch_span, problem);
    return problem.empty();
  }

 private:
  /// What went wrong; empty when nothing did.
  std::string run(const ir::Kernel& kernel, const std::vector<interp::Argument>& args, const Binding& binding,
                  Span launch_span, Diagnostics& diags) {
    if (!device_) {
      Result<Device> opened = Device::open();
      if (!opened) return opened.error().message;
      device_ = std::move(*opened);
    }
    if (std::string problem = device_->enter(); !problem.empty()) return problem;
    Compiled* compiled = nullptr;
    if (std::string problem = compile(kernel, args, diags, compiled); !problem.empty()) return problem;
    return execute(kernel, *compiled, args, binding, launch_span, diags);
  }

  std::string compile(const ir::Kernel& kernel, const std::vector<interp::Argument>& args, Diagnostics& diags,
                      Compiled*& compiled) {
    codegen::Options options;
    std::string key = ir::print(kernel);
    for (std::size_t i = 0; i < kernel.params.size(); ++i) {
      const ir::Param& param = kernel.params[i];
      if (param.type.is_scalar() || engine_can_reach(args[i].shape, param.type.dtype)) continue;
      options.without_tma.push_back(static_cast<int>(i));
      key += fmt::format(" {}", i);
    }
    auto found = kernels_.find(key);
    if (found == kernels_.end()) {
      std::optional<codegen::Ptx> code = codegen::emit(kernel, options, diags);
      if (!code) return fmt::format("`{}` has no code for the device", kernel.name);
      found = kernels_.emplace(std::move(key), Compiled{std::move(*code), nullptr, nullptr, 0}).first;
    }
    compiled = &found->second;
    if (compiled->generation == device_->generation()) return {};
    Result<Module> module = device_->load(compiled->code.text);
    if (!module) return fmt::format("`{}`: {}", kernel.name, module.error().message);
    compiled->module = *module;
    const codegen::Manifest& manifest = compiled->code.manifest;
    if (const Status status = driver().function(&compiled->function, compiled->module, manifest.entry.c_str());
        status != success)
      return failure(fmt::format("looking `{}` up", kernel.name), status).message;
    // Without this a kernel gets 48 KB at most.
    if (const Status status = driver().set_function_attribute(compiled->function, max_dynamic_shared_bytes,
                                                              static_cast<int>(manifest.shared_bytes));
        status != success)
      return failure(fmt::format("{} bytes of shared memory for `{}`", manifest.shared_bytes, kernel.name), status)
          .message;
    compiled->generation = device_->generation();
    return {};
  }

  std::string execute(const ir::Kernel& kernel, const Compiled& compiled, const std::vector<interp::Argument>& args,
                      const Binding& binding, Span launch_span, Diagnostics& diags) {
    const Driver& cuda = driver();
    const codegen::Manifest& manifest = compiled.code.manifest;
    std::vector<Memory> arrays(args.size());
    const auto bytes = [&](std::size_t i) {
      return static_cast<std::size_t>(ir::element_count(args[i].shape) * ir::byte_size(kernel.params[i].type.dtype));
    };
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (kernel.params[i].type.is_scalar()) continue;
      Result<Memory> memory = device_->allocate(bytes(i));
      if (!memory) return memory.error().message;
      arrays[i] = std::move(*memory);
      if (bytes(i) == 0) continue;
      if (const Status status = cuda.copy_in(arrays[i].pointer(), args[i].data, bytes(i)); status != success)
        return failure("copying to the device", status).message;
    }
    Result<Memory> semaphores = device_->allocate(static_cast<std::size_t>(manifest.semaphore_bytes));
    if (!semaphores) return semaphores.error().message;
    if (manifest.semaphore_bytes > 0)
      cuda.fill(semaphores->pointer(), 0, static_cast<std::size_t>(manifest.semaphore_bytes));
    Result<ReportMemory> report = device_->allocate_report();
    if (!report) return report.error().message;
    std::vector<EncodedMap> maps;
    for (const codegen::TensorMap& map : manifest.tensor_maps) {
      const auto param = static_cast<std::size_t>(map.param);
      Result<EncodedMap> encoded =
          encode(map, arrays[param].pointer(), args[param].shape, kernel.params[param].type.dtype);
      if (!encoded)
        return fmt::format("`{}` of `{}`: {}", kernel.params[param].name, kernel.name, encoded.error().message);
      maps.push_back(*encoded);
    }
    // Arguments by address, each in a place of its own.
    std::vector<std::uint64_t> values(manifest.params.size(), 0);
    std::vector<void*> pointers;
    for (std::size_t i = 0; i < manifest.params.size(); ++i) {
      const codegen::EntryParam& param = manifest.params[i];
      const auto index = static_cast<std::size_t>(param.index);
      pointers.push_back(&values[i]);
      switch (param.kind) {
        case codegen::EntryParam::Kind::pointer:
          values[i] = arrays[index].pointer();
          break;
        case codegen::EntryParam::Kind::scalar:
          values[i] = args[index].scalar_bits;
          break;
        case codegen::EntryParam::Kind::dim:
          values[i] = static_cast<std::uint64_t>(binding.dims[index]);
          break;
        case codegen::EntryParam::Kind::extent:
        case codegen::EntryParam::Kind::computed:
          values[i] = static_cast<std::uint64_t>(binding.yielded[index]);
          break;
        case codegen::EntryParam::Kind::semaphores:
          values[i] = semaphores->pointer();
          break;
        case codegen::EntryParam::Kind::report:
          values[i] = report->device();
          break;
        case codegen::EntryParam::Kind::tensor_map:
          pointers.back() = &maps[index];
          break;
      }
    }
    if (binding.blocks > 0) {
      LaunchAttribute cluster{cluster_dimension_attribute, {}, {}};
      cluster.value.cluster = {static_cast<unsigned>(manifest.cluster_size), 1, 1};
      LaunchConfig config{static_cast<unsigned>(binding.blocks),
                          1,
                          1,
                          static_cast<unsigned>(manifest.lanes_per_block),
                          1,
                          1,
                          static_cast<unsigned>(manifest.shared_bytes),
                          nullptr,
                          &cluster,
                          manifest.cluster_size > 1 ? 1U : 0U};
      Status status = cuda.launch(&config, compiled.function, pointers.data(), nullptr);
      if (status == success) status = cuda.synchronize();
      if (status != success) {
        const std::uint32_t check = report->value();
        device_->lose();
        report_failure(kernel, manifest, check, status, launch_span, diags);
        return describe(status);
      }
    }
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (kernel.params[i].mode == ir::Mode::in || kernel.params[i].type.is_scalar() || bytes(i) == 0) continue;
      if (const Status status = cuda.copy_out(args[i].data, arrays[i].pointer(), bytes(i)); status != success)
        return failure("copying from the device", status).message;
    }
    return {};
  }

  static void report_failure(const ir::Kernel& kernel, const codegen::Manifest& manifest, std::uint32_t check,
                             Status status, Span launch_span, Diagnostics& diags) {
    if (check == 0 || check > manifest.checks.size()) {
      diags
          .report<diag::run_launch>(launch_span,
                                    fmt::format("`{}` failed on the device: {}", kernel.name, describe(status)))
          .help("the interpreter finds most causes: run it with `--backend interp --check=all`");
      return;
    }
    const codegen::Check& failed = manifest.checks[check - 1];
    const std::string text = failed.text.empty() ? std::string() : ": " + failed.text;
    if (failed.is_trap) {
      diags.report<diag::run_trap>(failed.span, "trap" + text);
    } else {
      diags.report<diag::run_assert>(failed.span, "assertion failed" + text);
    }
  }

  std::mutex mutex_;
  std::optional<Device> device_;
  std::map<std::string, Compiled> kernels_;
};

}  // namespace

std::string unavailable_reason() {
  const Result<Device> device = Device::open();
  return device ? std::string() : device.error().message;
}

std::unique_ptr<runtime::Backend> make_backend() { return std::make_unique<Backend>(); }

}  // namespace pk::cuda
