#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "interp_options.h"
#include "pk/frontend/render.h"
#include "pk/runtime/kernel_cache.h"
#include "pk/runtime/test_runner.h"

namespace pk::tools {
namespace {

using nlohmann::ordered_json;
using runtime::Status;

struct TestOptions {
  std::vector<std::string> files;
  std::string filter;
  std::vector<std::string> names;
  std::string format = "text";
  std::string backend = "interp";
  std::string target = "sm_90a";
  InterpFlags interp;
};

struct Counts {
  int passed = 0, failed = 0, skipped = 0;
};

std::string index_text(const std::vector<std::int64_t>& index) {
  std::string out;
  for (const std::int64_t i : index) out += fmt::format("{}{}", out.empty() ? "" : ", ", i);
  return "[" + out + "]";
}

std::string_view word(Status s) {
  switch (s) {
    case Status::pass:
      return "pass";
    case Status::fail:
      return "fail";
    case Status::skip:
      return "skip";
  }
  return "?";
}

ordered_json mismatch_json(const runtime::TestResult& result) {
  if (!result.mismatch) return nullptr;
  const runtime::Mismatch& m = *result.mismatch;
  ordered_json first = ordered_json::array();
  for (const auto& e : m.first) first.push_back({{"index", e.index}, {"got", e.got}, {"expected", e.expected}});
  return {{"what", m.what}, {"differing", m.count}, {"total", m.total}, {"first", first}};
}

void print_json(const std::string& path, const runtime::TestResult& result, const Sources& sources) {
  ordered_json diagnostics = ordered_json::array();
  for (const Diagnostic& d : result.diagnostics) diagnostics.push_back(ordered_json::parse(render_json(d, sources)));
  ordered_json out{{"test", result.name},           {"file", path},
                   {"status", word(result.status)}, {"seconds", result.seconds},
                   {"diagnostics", diagnostics},    {"mismatch", mismatch_json(result)}};
  if (result.status == Status::skip) out["reason"] = result.skip_reason;
  fmt::print("{}\n", out.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
}

/// The line that fails and the first differing elements.
void print_mismatch(const runtime::TestResult& result, const Sources& sources) {
  const runtime::Mismatch& m = *result.mismatch;
  const LineColumn at = sources.position(result.mismatch_span.file, result.mismatch_span.begin);
  fmt::print("  {}:{}: {}: {} of {} elements differ\n", sources.path(result.mismatch_span.file), at.line, m.what,
             m.count, m.total);
  std::size_t width = 5;
  for (const auto& e : m.first) width = std::max(width, index_text(e.index).size());
  fmt::print("    {:<{}}  {:>16}  {:>16}\n", "index", width, "got", "expected");
  for (const auto& e : m.first)
    fmt::print("    {:<{}}  {:>16}  {:>16}\n", index_text(e.index), width, e.got, e.expected);
  if (m.count > static_cast<std::int64_t>(m.first.size()))
    fmt::print("    … and {} more\n", m.count - static_cast<std::int64_t>(m.first.size()));
}

void print_text(const runtime::TestResult& result, const Sources& sources) {
  switch (result.status) {
    case Status::pass:
      fmt::print("pass  {}  ({:.3f} s)\n", result.name, result.seconds);
      break;
    case Status::skip:
      fmt::print("skip  {}  ({})\n", result.name, result.skip_reason);
      break;
    case Status::fail:
      fmt::print("FAIL  {}  ({:.3f} s)\n", result.name, result.seconds);
      break;
  }
  if (result.mismatch) print_mismatch(result, sources);
  std::fflush(stdout);
  const Style style{color_wanted(STDOUT_FILENO)};
  for (const Diagnostic& d : result.diagnostics) fmt::print("{}\n", render(d, sources, style));
}

void count(Status status, Counts& counts) {
  if (status == Status::pass) ++counts.passed;
  if (status == Status::fail) ++counts.failed;
  if (status == Status::skip) ++counts.skipped;
}

bool selected(std::string_view name, const TestOptions& options) {
  if (!options.names.empty() && std::find(options.names.begin(), options.names.end(), name) == options.names.end())
    return false;
  return name.find(options.filter) != std::string_view::npos;
}

/// Runs the tests of one file. Returns false when the file does not check.
bool test_file(const std::string& path, const TestOptions& options, const runtime::RunOptions& run, Counts& counts) {
  Sources sources;
  Diagnostics diags;
  const sema::ModulePtr module = check_file(path, run.target, sources, diags);
  diags.sort();
  if (diags.has_errors()) {
    if (options.format == "json") {
      for (const Diagnostic& d : diags.all()) fmt::print("{}\n", render_json(d, sources));
    } else {
      print_diagnostics(diags.all(), sources);
    }
    return false;
  }
  runtime::KernelCache cache;
  for (const ast::Test* test : sema::tests(*module)) {
    if (!selected(test->name.text, options)) continue;
    const runtime::TestResult result = runtime::run_test(sources, *module, *test, run, &cache);
    clear_progress();
    count(result.status, counts);
    if (options.format == "json") {
      print_json(path, result, sources);
    } else {
      print_text(result, sources);
    }
  }
  return true;
}

int run_tests(const TestOptions& options) {
  runtime::RunOptions run;
  const auto target = parse_target(options.target);
  if (!target || !apply(options.interp, run.interp)) return usage;
  run.target = *target;
  run.backend = options.backend;
  show_progress(run.interp);
  if (options.format == "json") run.interp.print = [](std::string_view text) { fmt::print(stderr, "{}", text); };
  Counts counts;
  bool checked = true;
  for (const std::string& path : options.files) checked = test_file(path, options, run, counts) && checked;
  if (options.format == "json") {
    fmt::print("{}\n",
               ordered_json{{"passed", counts.passed}, {"failed", counts.failed}, {"skipped", counts.skipped}}.dump());
  } else {
    fmt::print("{} passed, {} failed{}\n", counts.passed, counts.failed,
               counts.skipped > 0 ? fmt::format(", {} skipped", counts.skipped) : "");
  }
  return checked && counts.failed == 0 ? ok : failed;
}

}  // namespace

void add_test(CLI::App& app, Action& action) {
  auto options = std::make_shared<TestOptions>();
  CLI::App* command = app.add_subcommand("test", "run the files' test items");
  command->add_option("files", options->files, "pk files")->required();
  command->add_option("--filter", options->filter, "only tests whose name contains this");
  command->add_option("--test", options->names, "only the test of this name; may be given several times")
      ->allow_extra_args(false);
  command->add_option("--format", options->format, "text or json (one object a line)")
      ->check(CLI::IsMember({"text", "json"}));
  command->add_option("--backend", options->backend, "interp or cuda")->check(CLI::IsMember({"interp", "cuda"}));
  command->add_option("--target", options->target, "sm_90a or sm_80");
  add_flags(*command, options->interp);
  command->callback([options, &action] { action = [options] { return run_tests(*options); }; });
}

}  // namespace pk::tools
