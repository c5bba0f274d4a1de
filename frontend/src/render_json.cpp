#include <nlohmann/json.hpp>

#include "pk/frontend/render.h"
#include "pk/frontend/severity.h"

namespace pk {
namespace {

using nlohmann::ordered_json;

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
    labels.push_back({{"file", sources.path(label.span.file)},
                      {"line", at.line},
                      {"column", at.column},
                      {"message", label.message}});
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
  return out.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace pk
