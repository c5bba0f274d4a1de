#include <fmt/format.h>

#include <cctype>
#include <nlohmann/json.hpp>

#include "pk/frontend/explain.h"
#include "pk/frontend/render.h"

namespace pk {
namespace {

using nlohmann::ordered_json;

/// A path as a URI reference: what a URI may not hold is percent-encoded.
std::string uri_of(std::string_view path) {
  std::string out;
  for (const char c : path) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("-._~/").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

ordered_json region_of(Span span, const Sources& sources) {
  const LineColumn begin = sources.position(span.file, span.begin);
  const LineColumn end = sources.position(span.file, span.end);
  return {{"startLine", begin.line}, {"startColumn", begin.column}, {"endLine", end.line}, {"endColumn", end.column}};
}

ordered_json artifact_of(Span span, const Sources& sources) { return {{"uri", uri_of(sources.path(span.file))}}; }

ordered_json location_of(Span span, const Sources& sources) {
  return {
      {"physicalLocation", {{"artifactLocation", artifact_of(span, sources)}, {"region", region_of(span, sources)}}}};
}

std::string_view level_of(Severity s) {
  switch (s) {
    case Severity::error:
      return "error";
    case Severity::warning:
      return "warning";
    case Severity::remark:
      return "note";
  }
  return "none";
}

/// A fix's edits, one artifactChange for each (SARIF allows several for one file).
ordered_json fix_json(const Fix& fix, const Sources& sources) {
  ordered_json changes = ordered_json::array();
  for (const Edit& edit : fix.edits) {
    ordered_json replacement{{"deletedRegion", region_of(edit.span, sources)},
                             {"insertedContent", {{"text", edit.text}}}};
    changes.push_back({{"artifactLocation", artifact_of(edit.span, sources)},
                       {"replacements", ordered_json::array({std::move(replacement)})}});
  }
  return {{"description", {{"text", fix.message}}}, {"artifactChanges", std::move(changes)}};
}

ordered_json result_json(const Diagnostic& d, const Sources& sources) {
  std::string text = d.message;
  for (const std::string& note : d.notes) text += fmt::format("\nnote: {}", note);
  for (const std::string& help : d.help) text += fmt::format("\nhelp: {}", help);
  ordered_json result{{"ruleId", code_name(d.code)},
                      {"level", level_of(d.severity)},
                      {"message", {{"text", text}}},
                      {"locations", ordered_json::array()}};
  if (d.span.valid()) result["locations"].push_back(location_of(d.span, sources));
  ordered_json related = ordered_json::array();
  for (const Label& label : d.labels) {
    related.push_back(location_of(label.span, sources));
    related.back()["message"] = {{"text", label.message}};
  }
  if (!related.empty()) result["relatedLocations"] = std::move(related);
  ordered_json fixes = ordered_json::array();
  for (const Fix& fix : d.fixes) fixes.push_back(fix_json(fix, sources));
  if (!fixes.empty()) result["fixes"] = std::move(fixes);
  return result;
}

ordered_json rules_json() {
  ordered_json rules = ordered_json::array();
  for (const DiagnosticInfo& row : diagnostic_catalogue()) {
    ordered_json rule{
        {"id", code_name(row.code)}, {"name", row.name}, {"defaultConfiguration", {{"level", level_of(row.severity)}}}};
    const std::string_view title = explain_title(row.code);
    if (!title.empty()) rule["shortDescription"] = {{"text", title}};
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace

std::string render_sarif(const std::vector<Diagnostic>& diagnostics, const Sources& sources) {
  ordered_json results = ordered_json::array();
  for (const Diagnostic& d : diagnostics) results.push_back(result_json(d, sources));
  ordered_json run{{"tool", {{"driver", {{"name", "pkc"}, {"rules", rules_json()}}}}},
                   {"columnKind", "unicodeCodePoints"},
                   {"results", std::move(results)}};
  const ordered_json log{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                         {"version", "2.1.0"},
                         {"runs", ordered_json::array({std::move(run)})}};
  return log.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace pk
