#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "pk/frontend/render.h"

namespace pk {
namespace {

using nlohmann::ordered_json;

std::string_view severity_word(Severity s) {
  return s == Severity::error ? "error" : s == Severity::warning ? "warning" : "remark";
}

void put_place(ordered_json& out, Span span, const Sources& sources) {
  if (!span.valid()) {
    out["file"] = "";
    out["line"] = out["column"] = out["end_line"] = out["end_column"] = 0;
    return;
  }
  const LineColumn begin = sources.position(span.file, span.begin);
  const LineColumn end = sources.position(span.file, span.end);
  out["file"] = sources.path(span.file);
  out["line"] = begin.line;
  out["column"] = begin.column;
  out["end_line"] = end.line;
  out["end_column"] = end.column;
}

ordered_json labels_json(const Diagnostic& d, const Sources& sources) {
  ordered_json labels = ordered_json::array();
  for (const Label& label : d.labels) {
    const LineColumn at = sources.position(label.span.file, label.span.begin);
    labels.push_back({{"file", sources.path(label.span.file)}, {"line", at.line}, {"column", at.column}, {"message", label.message}});
  }
  return labels;
}

ordered_json fixes_json(const Diagnostic& d, const Sources& sources) {
  ordered_json fixes = ordered_json::array();
  for (const Fix& fix : d.fixes) {
    ordered_json edits = ordered_json::array();
    for (const Edit& edit : fix.edits) {
      ordered_json e;
      put_place(e, edit.span, sources);
      e.erase("file");
      e["text"] = edit.text;
      edits.push_back(std::move(e));
    }
    fixes.push_back({{"message", fix.message}, {"edits", std::move(edits)}});
  }
  return fixes;
}

/// A place in SARIF's form.
ordered_json sarif_location(Span span, const Sources& sources) {
  ordered_json place;
  put_place(place, span, sources);
  const std::string file = place["file"];
  return {{"physicalLocation",
           {{"artifactLocation", {{"uri", file}}},
            {"region",
             {{"startLine", place["line"]}, {"startColumn", place["column"]}, {"endLine", place["end_line"]}, {"endColumn", place["end_column"]}}}}}};
}

std::string dump(const ordered_json& value, int indent = -1) {
  return value.dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace

std::string render_json(const Diagnostic& d, const Sources& sources) {
  ordered_json out;
  out["code"] = code_name(d.code);
  out["severity"] = severity_word(d.severity);
  if (!d.run_class.empty()) out["class"] = d.run_class;
  out["message"] = d.message;
  put_place(out, d.span, sources);
  if (!d.span_label.empty()) out["span_label"] = d.span_label;
  out["labels"] = labels_json(d, sources);
  out["notes"] = d.notes;
  out["help"] = d.help;
  out["fixes"] = fixes_json(d, sources);
  return dump(out);
}

std::string render_sarif(const std::vector<Diagnostic>& diagnostics, const Sources& sources) {
  ordered_json rules = ordered_json::array();
  for (const DiagnosticInfo& row : diagnostic_catalogue()) {
    rules.push_back({{"id", code_name(row.code)}, {"name", row.name}});
  }
  ordered_json results = ordered_json::array();
  for (const Diagnostic& d : diagnostics) {
    std::string text = d.message;
    for (const std::string& help : d.help) text += fmt::format("\nhelp: {}", help);
    ordered_json result{{"ruleId", code_name(d.code)},
                        {"level", d.severity == Severity::error ? "error" : d.severity == Severity::warning ? "warning" : "note"},
                        {"message", {{"text", text}}}};
    result["locations"] = ordered_json::array();
    if (d.span.valid()) result["locations"].push_back(sarif_location(d.span, sources));
    ordered_json related = ordered_json::array();
    for (const Label& label : d.labels) {
      ordered_json place = sarif_location(label.span, sources);
      place["message"] = {{"text", label.message}};
      related.push_back(std::move(place));
    }
    if (!related.empty()) result["relatedLocations"] = std::move(related);
    results.push_back(std::move(result));
  }
  const ordered_json log{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                         {"version", "2.1.0"},
                         {"runs", ordered_json::array({{{"tool", {{"driver", {{"name", "pkc"}, {"rules", rules}}}}}, {"results", results}}})}};
  return dump(log, 2) + "\n";
}

}  // namespace pk
