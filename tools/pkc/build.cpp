#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "commands.h"
#include "pk/frontend/parse.h"
#include "pk/ir/passes.h"
#include "pk/ir/text.h"
#include "pk/sema/sema.h"

namespace pk::tools {
namespace {

struct BuildOptions {
  std::string file;
  std::string emit = "ir";
  std::string output;
  std::string target = "sm_90a";
  std::string kernel;
  std::string print_after;
  std::vector<std::string> dims;
  std::vector<std::string> settings;
  bool time_passes = false;
};

/// Wall-clock time of each stage, for --time-passes.
class Stopwatch {
 public:
  void lap(std::string_view stage) {
    const auto now = Clock::now();
    laps_.emplace_back(stage, std::chrono::duration<double, std::milli>(now - last_).count());
    last_ = now;
  }
  void print() const {
    for (const auto& [stage, ms] : laps_) fmt::print(stderr, "{:>10.3f} ms  {}\n", ms, stage);
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = Clock::now();
  std::vector<std::pair<std::string, double>> laps_;
};

/// Generics and dimensions from --set and -D; false after a message.
bool parse_bindings(const BuildOptions& options, sema::Bindings& bindings) {
  for (const std::string& text : options.dims) {
    const auto named = parse_named_integer(text);
    if (!named) {
      fmt::print(stderr, "pkc: `-D {}` is not NAME=integer\n", text);
      return false;
    }
    bindings.dims[named->name] = named->value;
  }
  for (const std::string& text : options.settings) {
    const std::size_t equals = text.find('=');
    const auto dtype =
        equals == std::string::npos ? std::nullopt : ir::parse_dtype(std::string_view(text).substr(equals + 1));
    const auto named = parse_named_integer(text);
    if (dtype) {
      bindings.generics[text.substr(0, equals)] = *dtype;
    } else if (named) {
      bindings.generics[named->name] = named->value;
    } else {
      fmt::print(stderr, "pkc: `--set {}` is not NAME=integer or NAME=dtype\n", text);
      return false;
    }
  }
  return true;
}

struct Build {
  const BuildOptions& options;
  const ir::Target& target;
  const sema::Bindings& bindings;
  Stopwatch& watch;
};

/// The IR of one kernel as text, after all shared passes or after the one asked for ("elaborate": before them).
std::string emit_ir(ir::Kernel kernel, const std::string& print_after) {
  std::string out;
  if (print_after == "elaborate") return ir::print(kernel);
  const ir::Kernel done = ir::run_shared_passes(std::move(kernel), [&](std::string_view pass, const ir::Kernel& k) {
    if (pass == print_after) out = ir::print(k);
  });
  return print_after.empty() ? ir::print(done) : out;
}

/// Appends the IR of one kernel; false after errors.
bool emit_kernel(const sema::Module& module, const ast::Kernel& kernel, const Build& build, Diagnostics& diags,
                 std::string& out) {
  auto elaborated = sema::elaborate(module, kernel, build.bindings, build.target, diags);
  build.watch.lap(fmt::format("elaborate {}", kernel.name.text));
  if (!elaborated) return false;
  out += emit_ir(std::move(*elaborated), build.options.print_after);
  build.watch.lap("shared passes");
  return true;
}

int write(const std::string& path, const std::string& text) {
  if (path.empty() || path == "-") {
    fmt::print("{}", text);
    return ok;
  }
  return write_file(path, text) ? ok : failed;
}

bool known_pass(const std::string& name) {
  if (name.empty() || name == "elaborate") return true;
  std::string all = "elaborate";
  for (const ir::Pass& pass : ir::shared_passes()) {
    if (pass.name == name) return true;
    all += fmt::format(", {}", pass.name);
  }
  fmt::print(stderr, "pkc: there is no pass `{}`; there are {}\n", name, all);
  return false;
}

int run_build(const BuildOptions& options) {
  const auto target = parse_target(options.target);
  sema::Bindings bindings;
  if (!target || !parse_bindings(options, bindings) || !known_pass(options.print_after)) return usage;
  if (options.emit != "ast" && options.emit != "ir") {
    fmt::print(stderr, "pkc: --emit={} needs the code generator, which this version of pkc does not have\n",
               options.emit);
    return usage;
  }
  Stopwatch watch;
  Sources sources;
  Diagnostics diags;
  std::string out;
  const FileId file = read_source(options.file, sources, diags);
  bool good = file.valid();
  if (good && options.emit == "ast") {
    out = print_ast(sources, parse(sources, file, diags));
  } else if (good) {
    const sema::ModulePtr module = sema::load(sources, file, diags);
    watch.lap("parse");
    if (!options.kernel.empty() && sema::find_kernel(*module, options.kernel) == nullptr) {
      fmt::print(stderr, "pkc: {} has no kernel `{}`\n", options.file, options.kernel);
      return usage;
    }
    for (const std::string_view name : sema::kernel_names(*module)) {
      if (!options.kernel.empty() && name != options.kernel) continue;
      if (diags.has_errors()) break;
      good = emit_kernel(*module, *sema::find_kernel(*module, name), {options, *target, bindings, watch}, diags, out) &&
             good;
    }
  }
  diags.sort();
  print_diagnostics(diags.all(), sources);
  if (options.time_passes) watch.print();
  if (diags.has_errors() || !good) return failed;
  return write(options.output, out);
}

}  // namespace

void add_build(CLI::App& app, Action& action) {
  auto options = std::make_shared<BuildOptions>();
  CLI::App* command = app.add_subcommand("build", "compile a file's kernels and print a stage");
  command->add_option("file", options->file, "a pk file")->required();
  command->add_option("--emit", options->emit, "ast or ir")
      ->check(CLI::IsMember({"ast", "ir", "llvm", "ptx", "cubin"}));
  command->add_option("-o", options->output, "output file; standard output without");
  command->add_option("--target", options->target, "sm_90a or sm_80");
  command->add_option("--kernel", options->kernel, "only this kernel");
  command->add_option("--print-after", options->print_after,
                      "with --emit=ir: the IR after this pass; `elaborate` for before all");
  command->add_option("-D", options->dims, "NAME=value: fix a run-time dimension")->allow_extra_args(false);
  command->add_option("--set", options->settings, "NAME=value: a generic, an integer or a dtype")
      ->allow_extra_args(false);
  command->add_flag("--time-passes", options->time_passes, "print the time of each stage");
  command->callback([options, &action] { action = [options] { return run_build(*options); }; });
}

}  // namespace pk::tools
