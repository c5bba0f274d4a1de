#include <fmt/format.h>

#include <cstring>
#include <map>
#include <memory>

#include "commands.h"
#include "interp_options.h"
#include "pk/runtime/kernel_cache.h"
#include "pk/runtime/test_runner.h"
#include "run_inputs.h"

namespace pk::tools {
namespace {

struct RunFlags {
  std::string file;
  std::string kernel;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> dims;
  std::vector<std::string> settings;
  std::string backend = "interp";
  std::string target = "sm_90a";
  InterpFlags interp;
};

/// `NAME=text` pairs; nothing after a message.
std::optional<std::map<std::string, std::string>> parse_pairs(const std::vector<std::string>& list,
                                                              std::string_view option) {
  std::map<std::string, std::string> out;
  for (const std::string& text : list) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      fmt::print(stderr, "pkc: `{} {}` is not NAME=…\n", option, text);
      return std::nullopt;
    }
    out[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return out;
}

/// A few elements of each result, for a launch without --out.
void print_result(std::string_view name, const runtime::Array& array) {
  std::string shape;
  for (const std::int64_t d : array.shape) shape += fmt::format("{}{}", shape.empty() ? "" : ", ", d);
  fmt::print("{}: {}[{}]", name, ir::spelling(array.dtype), shape);
  const std::int64_t shown = std::min<std::int64_t>(array.size(), 8);
  for (std::int64_t i = 0; i < shown; ++i) fmt::print("{}{}", i == 0 ? " = " : ", ", element_text(array, i));
  fmt::print("{}\n", array.size() > shown ? ", …" : "");
}

int launch_kernel(const RunFlags& flags, const runtime::RunOptions& options) {
  const auto inputs = parse_pairs(flags.inputs, "--in");
  const auto outputs = parse_pairs(flags.outputs, "--out");
  if (!inputs || !outputs) return usage;
  Sources sources;
  Diagnostics diags;
  const sema::ModulePtr module = check_file(flags.file, options.target, sources, diags);
  if (diags.has_errors()) {
    diags.sort();
    print_diagnostics(diags.all(), sources);
    return failed;
  }
  const auto names = sema::kernel_names(*module);
  const std::string name = flags.kernel.empty() && names.size() == 1 ? std::string(names[0]) : flags.kernel;
  runtime::LaunchRequest request;
  request.kernel = sema::find_kernel(*module, name);
  if (request.kernel == nullptr) {
    fmt::print(stderr, "pkc: {}\n",
               name.empty() ? "the file has several kernels: choose one with --kernel"
                            : fmt::format("there is no kernel `{}`", name));
    return usage;
  }
  request.span = request.kernel->name.span;
  const auto values = make_inputs(*module, *request.kernel, *inputs, flags.dims, flags.settings, request.fixed);
  if (!values) return usage;
  request.inputs = *values;
  for (const auto& [generic, value] : request.fixed.generics)
    request.generics.push_back({generic, value, request.span});
  const auto results = runtime::launch(sources, *module, request, options, nullptr, diags);
  clear_progress();
  diags.sort();
  print_diagnostics(diags.all(), sources);
  if (!results) return kernel_failed;
  std::size_t next = 0;
  for (const ast::Param& param : request.kernel->params) {
    if (param.mode != ast::Mode::out && param.mode != ast::Mode::inout) continue;
    const runtime::Array& result = (*results)[next++];
    const auto path = outputs->find(std::string(param.name.text));
    if (path == outputs->end()) {
      print_result(param.name.text, result);
      continue;
    }
    const Result<bool> written = runtime::write_npy(path->second, result);
    if (!written) {
      fmt::print(stderr, "pkc: {}\n", written.error().message);
      return failed;
    }
  }
  return ok;
}

int run_kernel(const RunFlags& flags) {
  runtime::RunOptions options;
  const auto target = parse_target(flags.target);
  if (!target || !apply(flags.interp, options.interp)) return usage;
  options.target = *target;
  options.backend = flags.backend;
  show_progress(options.interp);
  if (flags.backend != "interp") {
    fmt::print(stderr, "pkc: back end `{}` cannot run here: this version of pkc has none\n", flags.backend);
    return failed;
  }
  return launch_kernel(flags, options);
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* command = app.add_subcommand("run", "run one kernel on files or generated inputs");
  command->add_option("file", flags->file, "a pk file")->required();
  command->add_option("--kernel", flags->kernel, "the kernel; may be left out if there is one");
  command
      ->add_option("--in", flags->inputs, "NAME=file.npy, NAME=random(seed=1), NAME=iota, NAME=full(x), or NAME=number")
      ->allow_extra_args(false);
  command->add_option("--out", flags->outputs, "NAME=file.npy; results without one are shown in short")
      ->allow_extra_args(false);
  command->add_option("-D", flags->dims, "NAME=value: a run-time dimension, for generated inputs")
      ->allow_extra_args(false);
  command->add_option("--set", flags->settings, "NAME=value: a generic")->allow_extra_args(false);
  command->add_option("--backend", flags->backend, "interp or cuda")->check(CLI::IsMember({"interp", "cuda"}));
  command->add_option("--target", flags->target, "sm_90a or sm_80");
  add_flags(*command, flags->interp);
  command->callback([flags, &action] { action = [flags] { return run_kernel(*flags); }; });
}

}  // namespace pk::tools
