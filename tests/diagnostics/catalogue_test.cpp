#include <catch2/catch.hpp>
#include <set>

#include "sample.h"

using namespace pk;
using pk::test::error_at;
using pk::test::Sample;

TEST_CASE("codes and names of the catalogue are unique and codes have an area") {
  std::set<int> codes;
  std::set<std::string_view> names;
  for (const DiagnosticInfo& row : diagnostic_catalogue()) {
    CAPTURE(row.name);
    CHECK(codes.insert(row.code).second);
    CHECK(names.insert(row.name).second);
    CHECK(row.code > 0);
    CHECK(row.code < 1000);
    CHECK(row.run_class.empty() == (row.code < 900));
  }
  CHECK(code_name(7) == "PK0007");
  CHECK(find_diagnostic(301)->name == "private_allocation");
  CHECK(find_diagnostic(999) == nullptr);
}

TEST_CASE("texts of the catalogue begin in lower case and end without a full stop") {
  for (const DiagnosticInfo& row : diagnostic_catalogue()) {
    CAPTURE(row.name, row.text);
    CHECK_FALSE(row.text.empty());
    CHECK_FALSE(row.text.ends_with('.'));
    CHECK((row.text.front() < 'A' || row.text.front() > 'Z'));
  }
}

TEST_CASE("a report fills the row's holes and collects what is said about it") {
  const Sample s("⟦a⟧ ⟦b⟧\n");
  Diagnostics diags;
  diags.report<diag::unknown_name>(s.spans[0], "a")
      .at("here")
      .label(s.spans[1], "not this")
      .label({}, "nowhere")
      .note("n")
      .help("h")
      .fix("f", {{s.spans[0], "b"}});
  REQUIRE(diags.all().size() == 1);
  const Diagnostic& d = diags.all().front();
  CHECK(d.code == 201);
  CHECK(d.message == "`a` is not defined here");
  CHECK(d.span_label == "here");
  CHECK(d.labels.size() == 1);
  CHECK(d.fixes.front().edits.front().text == "b");
}

TEST_CASE("the same report twice is one diagnostic; another place, code or text is another") {
  const Sample s("⟦a⟧ ⟦b⟧\n");
  Diagnostics diags;
  diags.add(error_at(s.spans[0]));
  diags.add(error_at(s.spans[0])).note("lost with its diagnostic");
  CHECK(diags.error_count() == 1);
  CHECK(diags.all().front().notes.empty());
  diags.add(error_at(s.spans[1]));
  diags.add(error_at(s.spans[0], "something else"));
  CHECK(diags.error_count() == 3);
}

TEST_CASE("only errors count as errors; taking leaves nothing; sorting is by place and stable") {
  const Sample s("⟦a⟧ ⟦b⟧\n");
  Diagnostics diags;
  Diagnostic warning = error_at(s.spans[1], "careful");
  warning.severity = Severity::warning;
  diags.add(warning);
  CHECK_FALSE(diags.has_errors());
  diags.add(error_at(s.spans[1], "first"));
  diags.add(error_at(s.spans[0], "second"));
  diags.sort();
  CHECK(diags.all()[0].message == "second");
  CHECK(diags.all()[1].message == "careful");
  CHECK(diags.take().size() == 3);
  CHECK(diags.all().empty());
  CHECK_FALSE(diags.has_errors());
}

TEST_CASE("positions count lines and code points") {
  const Sample s("ä⟦b⟧\r\n\n⟦c⟧");
  CHECK(s.sources.position(s.file, s.spans[0].begin) == LineColumn{1, 2});
  CHECK(s.sources.position(s.file, s.spans[1].begin) == LineColumn{3, 1});
  CHECK(s.sources.position(s.file, s.spans[1].end) == LineColumn{3, 2});
  CHECK(s.sources.line(s.file, 1) == "äb");
  CHECK(s.sources.line(s.file, 2).empty());
  CHECK(s.sources.line(s.file, 9).empty());
}
