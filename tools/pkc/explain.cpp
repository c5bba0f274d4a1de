#include "pk/frontend/explain.h"

#include <fmt/format.h>

#include <memory>

#include "commands.h"

namespace pk::tools {
namespace {

int run_explain(const std::string& text) {
  if (text.empty()) {
    for (const DiagnosticInfo& row : diagnostic_catalogue()) {
      fmt::print("{}  {}\n", code_name(row.code), explain_title(row.code));
    }
    return ok;
  }
  const auto code = parse_code(text);
  const std::string_view page = code ? explain_page(*code) : std::string_view{};
  if (page.empty()) {
    fmt::print(stderr, "pkc: there is no diagnostic `{}`; `pkc explain` lists all\n", text);
    return usage;
  }
  fmt::print("{}", page);
  return ok;
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  auto code = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("explain", "explain a diagnostic code, with examples; without a code list all");
  command->add_option("code", *code, "PK0301");
  command->callback([code, &action] { action = [code] { return run_explain(*code); }; });
}

}  // namespace pk::tools
