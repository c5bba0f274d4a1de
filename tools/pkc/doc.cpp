#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "pk/ir/ops.h"

namespace pk::tools {
namespace {

/// The operation table as Markdown: docs/operations.md is this output.
int print_operations() {
  fmt::print("# Operations\n\nPrinted by `pkc doc` from the operation table (`sema/ir/include/pk/ir/ops.def`).\n\n"
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
  fmt::print("# Diagnostics\n\nPrinted by `pkc doc --diagnostics` from the catalogue. `pkc explain PKnnnn` explains one, with a failing and a repaired example.\n\n"
             "| code | severity | class | name |\n| --- | --- | --- | --- |\n");
  for (const DiagnosticInfo& row : diagnostic_catalogue()) {
    std::string name(row.name);
    for (char& c : name) {
      if (c == '_') c = ' ';
    }
    fmt::print("| [{0}](../frontend/explain/{0}.md) | {1} | {2} | {3} |\n", code_name(row.code),
               row.severity == Severity::error ? "error" : row.severity == Severity::warning ? "warning" : "remark", row.run_class, name);
  }
  return ok;
}

int print_builtins() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ir::OpInfo& op : ir::op_table) {
    list.push_back({{"name", op.name}, {"spelling", op.spelling}, {"signature", op.signature}, {"doc", op.doc}, {"since", op.since}});
  }
  fmt::print("{}\n", list.dump(2));
  return ok;
}

}  // namespace

void add_doc(CLI::App& app, Action& action) {
  auto diagnostics = std::make_shared<bool>(false);
  CLI::App* doc = app.add_subcommand("doc", "print the table of operations as Markdown");
  doc->add_flag("--diagnostics", *diagnostics, "the catalogue of diagnostics instead");
  doc->callback([diagnostics, &action] { action = [diagnostics] { return *diagnostics ? print_diagnostics_table() : print_operations(); }; });
  CLI::App* builtins = app.add_subcommand("builtins", "print the operations as JSON, for editors");
  builtins->callback([&action] { action = [] { return print_builtins(); }; });
}

}  // namespace pk::tools
