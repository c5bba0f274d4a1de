#pragma once
// The subcommands of pkc: each adds its options to the command line and leaves what to do in `action`.

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pk/frontend/diagnostics.h"
#include "pk/ir/target.h"
#include "pk/sema/sema.h"

namespace pk::tools {

/// Exit codes (language reference, "pkc").
enum Exit : int { ok = 0, failed = 1, usage = 2, kernel_failed = 3 };

using Action = std::function<int()>;

void add_check(CLI::App& app, Action& action);
void add_build(CLI::App& app, Action& action);
void add_test(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);
void add_fmt(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);
void add_doc(CLI::App& app, Action& action);

/// Reads `path` into `sources`. A file that cannot be read is reported as PK0001 on `diags`.
[[nodiscard]] FileId read_source(const std::string& path, Sources& sources, Diagnostics& diags);

/// Reads and checks `path`. Null when it cannot be read; what is wrong is on `diags`.
[[nodiscard]] sema::ModulePtr check_file(const std::string& path, const ir::Target& target, Sources& sources,
                                         Diagnostics& diags);

/// Prints to stderr as text, with colour on a terminal unless NO_COLOR is set, then the summary line.
void print_diagnostics(const std::vector<Diagnostic>& diagnostics, const Sources& sources);
[[nodiscard]] bool color_wanted(int descriptor);

/// `NAME=value` with an integer value.
struct NamedInteger {
  std::string name;
  std::int64_t value = 0;
};
[[nodiscard]] std::optional<NamedInteger> parse_named_integer(const std::string& text);

/// 301 of "PK0301", "pk0301" or "301".
[[nodiscard]] std::optional<int> parse_code(std::string_view text);

/// Writes a file; false, with a message on stderr, when that fails.
[[nodiscard]] bool write_file(const std::string& path, std::string_view text);

/// A target by its name; says on stderr what there is when it is unknown.
[[nodiscard]] std::optional<ir::Target> parse_target(const std::string& name);

}  // namespace pk::tools
