#include <fmt/format.h>

#include <memory>

#include "commands.h"
#include "pk/frontend/parse.h"

namespace pk::tools {
namespace {

struct FmtOptions {
  std::vector<std::string> files;
  bool check = false;
};

/// Formats one file in place, or tells whether it would change. Returns whether that went well (and, with --check,
/// nothing would change).
bool format_file(const std::string& path, bool check) {
  Sources sources;
  Diagnostics diags;
  const FileId file = read_source(path, sources, diags);
  if (file.valid()) (void)parse(sources, file, diags);
  if (diags.has_errors()) {
    print_diagnostics(diags.all(), sources);
    return false;
  }
  const Result<std::string> formatted = format_source(sources, file);
  if (!formatted) {
    fmt::print(stderr, "pkc: {}: {}\n", path, formatted.error().message);
    return false;
  }
  if (*formatted == sources.text(file)) return true;
  if (check) {
    fmt::print("{} is not formatted\n", path);
    return false;
  }
  return write_file(path, *formatted);
}

int run_fmt(const FmtOptions& options) {
  bool good = true;
  for (const std::string& path : options.files) good = format_file(path, options.check) && good;
  return good ? ok : failed;
}

}  // namespace

void add_fmt(CLI::App& app, Action& action) {
  auto options = std::make_shared<FmtOptions>();
  CLI::App* command = app.add_subcommand("fmt", "rewrite the files in the canonical format");
  command->add_option("files", options->files, "pk files")->required();
  command->add_flag("--check", options->check, "change nothing; fail if a file is not formatted");
  command->callback([options, &action] { action = [options] { return run_fmt(*options); }; });
}

}  // namespace pk::tools
