// JSON lines and SARIF: what tools read.

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "pk/frontend/render.h"
#include "sample.h"

using namespace pk;
using nlohmann::json;
using pk::test::error_at;
using pk::test::Sample;

namespace {

Diagnostic full_diagnostic(const Sample& s) {
  Diagnostic d = error_at(s.spans[0], "`ä` is \"wrong\"");
  d.labels.push_back({s.spans[1], "because of this"});
  d.notes.push_back("a note");
  d.help.push_back("a help");
  d.fixes.push_back({"repair", {{s.spans[0], "x"}, {s.spans[1], ""}}});
  return d;
}

}  // namespace

TEST_CASE("a diagnostic is one JSON object on one line") {
  const Sample s("let ⟦ä⟧;\n⟦b⟧\n");
  const std::string line = render_json(full_diagnostic(s), s.sources);
  CHECK(line.find('\n') == std::string::npos);
  CHECK(json::parse(line) == json::parse(R"({
    "code": "PK0307", "severity": "error", "message": "`ä` is \"wrong\"",
    "file": "a.pk", "line": 1, "column": 5, "end_line": 1, "end_column": 6,
    "labels": [{"file": "a.pk", "line": 2, "column": 1, "message": "because of this"}],
    "notes": ["a note"], "help": ["a help"],
    "fixes": [{"message": "repair", "edits": [
      {"line": 1, "column": 5, "end_line": 1, "end_column": 6, "text": "x"},
      {"line": 2, "column": 1, "end_line": 2, "end_column": 2, "text": ""}]}]
  })"));
}

TEST_CASE("run-time diagnostics have a class; one without a place has line 0; bytes that are not UTF-8 do no harm") {
  const Sample s("");
  Diagnostic d = error_at({}, "odd \xff byte");
  d.run_class = "race";
  const json parsed = json::parse(render_json(d, s.sources));
  CHECK(parsed["class"] == "race");
  CHECK(parsed["file"] == "");
  CHECK(parsed["line"] == 0);
}

TEST_CASE("a SARIF log has rules, places, related places and fixes") {
  const Sample s("let ⟦ä⟧;\n⟦b⟧\n", "my dir/a.pk");
  const json log = json::parse(render_sarif({full_diagnostic(s), error_at({}, "nowhere")}, s.sources));
  CHECK(log["version"] == "2.1.0");
  const json& run = log["runs"][0];
  CHECK(run["tool"]["driver"]["rules"].size() == diagnostic_catalogue().size());
  REQUIRE(run["results"].size() == 2);
  const json& result = run["results"][0];
  CHECK(result["ruleId"] == "PK0307");
  CHECK(result["level"] == "error");
  const json& place = result["locations"][0]["physicalLocation"];
  CHECK(place["artifactLocation"]["uri"] == "my%20dir/a.pk");
  CHECK(place["region"] == json::parse(R"({"startLine": 1, "startColumn": 5, "endLine": 1, "endColumn": 6})"));
  CHECK(result["relatedLocations"][0]["message"]["text"] == "because of this");
  CHECK(result["fixes"][0]["artifactChanges"].size() == 2);
  CHECK(run["results"][1]["locations"].empty());
}
