// Every explain page, as a reader would try it: the failing example reports exactly the page's code, the repaired one
// is clean and its tests pass. Fences: ```pk error PK0301 (check reports it), ```pk warning PK0602, ```pk fault PK0901
// (a test fails with it), ```pk (fine).

#include "pk/frontend/explain.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "pk/frontend/followers.h"
#include "pk/frontend/render.h"
#include "pk/runtime/test_runner.h"
#include "pk/sema/sema.h"

using namespace pk;

namespace {

struct Example {
  std::string kind;  ///< "error", "warning", "fault", or "" for a repaired one
  std::string code;
  std::string text;
};

std::vector<Example> examples_of(std::string_view page) {
  std::vector<Example> list;
  constexpr std::string_view fence = "```pk";
  while (true) {
    const std::size_t begin = page.find(fence);
    if (begin == std::string_view::npos) return list;
    page.remove_prefix(begin + fence.size());
    const std::size_t line_end = page.find('\n');
    const std::string_view words = page.substr(0, line_end);
    const std::size_t code = words.find("PK");
    const std::size_t end = page.find("\n```", line_end);
    Example e;
    if (code != std::string_view::npos) {
      e.kind = words.substr(1, code - 2);
      e.code = words.substr(code);
    }
    e.text = page.substr(line_end + 1, end - line_end);
    list.push_back(std::move(e));
    page.remove_prefix(end + 4);
  }
}

struct Outcome {
  std::set<std::string> checked;  ///< codes from checking
  std::set<std::string> ran;      ///< codes from the tests that failed
  int tests = 0;
  int failed = 0;
  std::string shown;  ///< everything as text, for a failing check
};

void note(const std::vector<Diagnostic>& diagnostics, const Sources& sources, std::set<std::string>& codes,
          std::string& shown) {
  for (const Diagnostic& d : diagnostics) {
    codes.insert(code_name(d.code));
    shown += render(d, sources, {});
  }
}

Outcome try_out(const std::string& name, const std::string& text) {
  Outcome out;
  Sources sources;
  Diagnostics diags;
  const FileId file = sources.add(name, text);
  const sema::ModulePtr module = sema::load(sources, file, diags);
  sema::check(*module, ir::sm_90a, diags);
  drop_followers(sources, sema::tree(*module), diags);
  note(diags.all(), sources, out.checked, out.shown);
  if (diags.has_errors()) return out;
  runtime::RunOptions options;
  options.interp.step_limit = 1'000'000;
  for (const ast::Test* test : sema::tests(*module)) {
    const runtime::TestResult result = runtime::run_test(sources, *module, *test, options);
    ++out.tests;
    if (result.status == runtime::Status::fail) ++out.failed;
    if (result.mismatch) out.shown += "a result differs\n";
    note(result.diagnostics, sources, out.ran, out.shown);
  }
  return out;
}

void judge(const Example& e, const std::string& code) {
  CAPTURE(e.text);
  const Outcome out = try_out(code + ".pk", e.text);
  CAPTURE(out.shown);
  const std::set<std::string> nothing;
  const std::set<std::string> this_code{code};
  if (e.kind.empty()) {
    CHECK(out.checked == nothing);
    CHECK(out.ran == nothing);
    CHECK(out.failed == 0);
    return;
  }
  CHECK(e.code == code);
  if (e.kind == "fault") {
    CHECK(out.checked == nothing);
    CHECK(out.ran == this_code);
    return;
  }
  CHECK((e.kind == "error" || e.kind == "warning"));
  CHECK(out.checked == this_code);
}

/// Pages without a failing example, because no text of a page could show it.
const std::set<int> without_failing_example{
    1,    // a file that cannot be read
    102,  // bytes that are not UTF-8
    110,  // IR text, which is no pk
    107,  // nesting of hundreds of levels
    911,  // only IR that the compiler does not make
    914,  // needs a limit on the command line
};

}  // namespace

TEST_CASE("every code of the catalogue has a page with a title, and every page a code") {
  for (const DiagnosticInfo& row : diagnostic_catalogue()) {
    CAPTURE(row.code, row.name);
    CHECK_FALSE(explain_page(row.code).empty());
    CHECK_FALSE(explain_title(row.code).empty());
  }
  for (const EmbeddedText& page : explain_texts()) {
    CAPTURE(page.name);
    CHECK(find_diagnostic(std::stoi(std::string(page.name.substr(2)))) != nullptr);
    CHECK(page.text.starts_with("# " + std::string(page.name) + ": "));
  }
}

TEST_CASE("the examples of every page behave as the page says") {
  for (const EmbeddedText& page : explain_texts()) {
    DYNAMIC_SECTION(page.name) {
      const int code = std::stoi(std::string(page.name.substr(2)));
      const std::vector<Example> examples = examples_of(page.text);
      int failing = 0;
      for (const Example& e : examples) {
        if (!e.kind.empty()) ++failing;
        judge(e, code_name(code));
      }
      CHECK((failing > 0) == !without_failing_example.contains(code));
      CHECK(static_cast<int>(examples.size()) > failing);
    }
  }
}
