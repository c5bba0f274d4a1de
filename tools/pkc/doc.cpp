#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "pk/frontend/explain.h"
#include "pk/frontend/severity.h"
#include "pk/ir/ops.h"

namespace pk::tools {
namespace {

/// The operation table as Markdown: docs/operations.md is this output.
int print_operations() {
  fmt::print(
      "# Operations\n\nPrinted by `pkc doc` from the operation table (`sema/ir/include/pk/ir/ops.def`).\n\n"
      "| in pk | in the IR | meaning | from |\n| --- | --- | --- | --- |\n");
  for (const ir::OpInfo& op : ir::op_table) {
    if (op.signature.empty()) continue;
    std::string signature;
    for (const char c : op.signature) signature += c == '|' ? std::string("\\|") : std::string(1, c);
    std::string doc;
    for (const char c : op.doc) doc += c == '|' ? std::string("\\|") : std::string(1, c);
    fmt::print("| `{}` | `{}` | {} | sm_{} |\n", signature, op.name, doc, op.since);
  }
  return ok;
}

/// The catalogue of diagnostics as Markdown: docs/diagnostics.md is this output.
int print_diagnostics_table() {
  fmt::print(
      "# Diagnostics\n\nPrinted by `pkc doc --diagnostics` from the catalogue. `pkc explain PKnnnn` explains one, with "
      "a failing and a "
      "repaired\nexample. Codes from PK0901 on are reported when a program runs; tests name them by code or class.\n\n"
      "| code | severity | class | meaning |\n| --- | --- | --- | --- |\n");
  for (const DiagnosticInfo& row : diagnostic_catalogue()) {
    fmt::print("| [{0}](../frontend/explain/{0}.md) | {1} | {2} | {3} |\n", code_name(row.code),
               severity_word(row.severity), row.run_class, explain_title(row.code));
  }
  return ok;
}

int print_builtins() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ir::OpInfo& op : ir::op_table) {
    list.push_back({{"name", op.name},
                    {"spelling", op.spelling},
                    {"signature", op.signature},
                    {"doc", op.doc},
                    {"since", op.since}});
  }
  fmt::print("{}\n", list.dump(2));
  return ok;
}

}  // namespace

void add_doc(CLI::App& app, Action& action) {
  auto diagnostics = std::make_shared<bool>(false);
  CLI::App* doc = app.add_subcommand("doc", "print the table of operations as Markdown");
  doc->add_flag("--diagnostics", *diagnostics, "the catalogue of diagnostics instead");
  doc->callback([diagnostics, &action] {
    action = [diagnostics] { return *diagnostics ? print_diagnostics_table() : print_operations(); };
  });
  CLI::App* builtins = app.add_subcommand("builtins", "print the operations as JSON, for editors");
  builtins->add_flag_callback(
      "--json", [] {}, "the format, which is the only one");
  builtins->callback([&action] { action = [] { return print_builtins(); }; });
}

}  // namespace pk::tools
