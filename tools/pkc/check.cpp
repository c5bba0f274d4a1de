#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "commands.h"
#include "pk/frontend/fixes.h"
#include "pk/frontend/render.h"
#include "warnings.h"

namespace pk::tools {
namespace {

struct CheckOptions {
  std::vector<std::string> files;
  std::vector<std::string> warnings;
  std::string format = "text";
  std::string target = "sm_90a";
  bool fix = false;
};

/// Rounds of --fix: a fix may uncover the next mistake.
constexpr int max_fix_rounds = 10;

/// Applies fixes until none is left and writes the file if it changed; false when it cannot be written.
bool fix_file(const std::string& path, const ir::Target& target) {
  int applied = 0;
  for (int round = 0; round < max_fix_rounds; ++round) {
    Sources sources;
    Diagnostics diags;
    (void)check_file(path, target, sources, diags);
    if (sources.size() == 0) return true;  // It cannot be read; the check that follows reports that.
    diags.sort();
    const FixedText fixed = apply_fixes(sources, FileId{0}, diags.all());
    if (fixed.applied == 0) break;
    if (!write_file(path, fixed.text)) return false;
    applied += fixed.applied;
  }
  if (applied > 0) fmt::print(stderr, "{}: {} fix{} applied\n", path, applied, applied == 1 ? "" : "es");
  return true;
}

void print_as(const std::string& format, const std::vector<Diagnostic>& diagnostics, const Sources& sources) {
  if (format == "json") {
    for (const Diagnostic& d : diagnostics) fmt::print("{}\n", render_json(d, sources));
  } else if (format == "sarif") {
    fmt::print("{}", render_sarif(diagnostics, sources));
  } else {
    print_diagnostics(diagnostics, sources);
  }
}

int run_check(const CheckOptions& options) {
  const auto target = parse_target(options.target);
  WarningFlags warnings;
  for (const std::string& flag : options.warnings) {
    if (!warnings.add(flag)) return usage;
  }
  if (!target) return usage;
  Sources sources;
  Diagnostics diags;
  bool written = true;
  for (const std::string& path : options.files) {
    if (options.fix) written = fix_file(path, *target) && written;
    (void)check_file(path, *target, sources, diags);
  }
  diags.sort();
  const std::vector<Diagnostic> shown = warnings.apply(diags.take());
  print_as(options.format, shown, sources);
  const bool wrong =
      std::any_of(shown.begin(), shown.end(), [](const Diagnostic& d) { return d.severity == Severity::error; });
  return wrong || !written ? failed : ok;
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command = app.add_subcommand("check", "report everything that is wrong with the files");
  command->add_option("files", options->files, "pk files")->required();
  command->add_option("--format", options->format, "text, json (one object a line) or sarif")
      ->check(CLI::IsMember({"text", "json", "sarif"}));
  command->add_option("--target", options->target, "sm_90a or sm_80");
  command->add_flag("--fix", options->fix, "apply the fixes of the diagnostics to the files");
  command->add_option("-W", options->warnings, "error, error=PKnnnn, no-PKnnnn or none: what becomes of warnings")
      ->allow_extra_args(false);
  command->callback([options, &action] { action = [options] { return run_check(*options); }; });
}

}  // namespace pk::tools
