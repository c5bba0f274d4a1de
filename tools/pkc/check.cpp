#include <fmt/format.h>

#include <fstream>
#include <memory>

#include "commands.h"
#include "pk/frontend/fixes.h"
#include "pk/frontend/render.h"
#include "pk/sema/sema.h"

namespace pk::tools {
namespace {

struct CheckOptions {
  std::vector<std::string> files;
  std::string format = "text";
  std::string target = "sm_90a";
  bool fix = false;
};

/// Rounds of --fix: a fix may uncover the next mistake.
constexpr int max_fix_rounds = 10;

void check_file(const std::string& path, const ir::Target& target, Sources& sources, Diagnostics& diags) {
  const FileId file = read_source(path, sources, diags);
  if (!file.valid()) return;
  const sema::ModulePtr module = sema::load(sources, file, diags);
  sema::check(*module, target, diags);
}

/// Applies fixes until none is left, and writes the file if it changed.
void fix_file(const std::string& path, const ir::Target& target) {
  for (int round = 0; round < max_fix_rounds; ++round) {
    Sources sources;
    Diagnostics diags;
    check_file(path, target, sources, diags);
    if (sources.size() == 0) return;
    const FileId file{0};
    const FixedText fixed = apply_fixes(sources, file, diags.all());
    if (fixed.applied == 0) return;
    std::ofstream(path, std::ios::binary) << fixed.text;
    fmt::print("{}: {} fix{} applied\n", path, fixed.applied, fixed.applied == 1 ? "" : "es");
  }
}

int run_check(const CheckOptions& options) {
  const auto target = parse_target(options.target);
  if (!target) return usage;
  Sources sources;
  Diagnostics diags;
  for (const std::string& path : options.files) {
    if (options.fix) fix_file(path, *target);
    check_file(path, *target, sources, diags);
  }
  diags.sort();
  if (options.format == "json") {
    for (const Diagnostic& d : diags.all()) fmt::print("{}\n", render_json(d, sources));
  } else if (options.format == "sarif") {
    fmt::print("{}", render_sarif(diags.all(), sources));
  } else {
    print_diagnostics(diags.all(), sources);
  }
  return diags.has_errors() ? failed : ok;
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command = app.add_subcommand("check", "report everything that is wrong with the files");
  command->add_option("files", options->files, "pk files")->required();
  command->add_option("--format", options->format, "text, json (one object a line) or sarif")->check(CLI::IsMember({"text", "json", "sarif"}));
  command->add_option("--target", options->target, "sm_90a or sm_80");
  command->add_flag("--fix", options->fix, "apply the fixes of the diagnostics to the files");
  command->callback([options, &action] { action = [options] { return run_check(*options); }; });
}

}  // namespace pk::tools
