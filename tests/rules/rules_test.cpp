// The rules of meshes, scopes, divergence, shared memory and protocols, on the programs in cases/. A comment at the end
// of a line announces what is reported there: `//! error PK0307` or `//! warning PK0601`, with a text that must occur
// in the report behind a colon. Nothing else may be reported.

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "pk/sema/sema.h"

namespace {

struct Announced {
  unsigned line;
  pk::Severity severity;
  std::string code;
  std::string text;
};

std::vector<Announced> announcements(const std::string& source) {
  static const std::regex pattern(R"(//! (error|warning) (PK\d{4})(?:: (.*))?$)");
  std::vector<Announced> list;
  std::istringstream lines(source);
  std::string line;
  for (unsigned number = 1; std::getline(lines, line); ++number) {
    std::smatch match;
    if (!std::regex_search(line, match, pattern)) continue;
    list.push_back({number, match[1] == "error" ? pk::Severity::error : pk::Severity::warning, match[2], match[3]});
  }
  return list;
}

/// Everything a diagnostic says.
std::string full_text(const pk::Diagnostic& d) {
  std::string text = d.message + "\n" + d.span_label;
  for (const pk::Label& label : d.labels) text += "\n" + label.message;
  for (const std::string& note : d.notes) text += "\n" + note;
  for (const std::string& help : d.help) text += "\n" + help;
  return text;
}

pk::Diagnostics check(pk::Sources& sources, const std::string& path, const std::string& source) {
  pk::Diagnostics diags;
  const pk::FileId file = sources.add(path, source);
  const pk::sema::ModulePtr module = pk::sema::load(sources, file, diags);
  pk::sema::check(*module, pk::ir::sm_90a, diags);
  return diags;
}

std::vector<std::filesystem::path> case_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(PK_RULES_CASES)) {
    if (entry.path().extension() == ".pk") files.push_back(entry.path());
  }
  return files;
}

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("each case reports what it announces, and nothing else") {
  const auto files = case_files();
  REQUIRE(files.size() >= 10);
  for (const auto& path : files) {
    const std::string source = read(path);
    pk::Sources sources;
    const pk::Diagnostics diags = check(sources, path.string(), source);
    std::vector<Announced> open = announcements(source);
    for (const pk::Diagnostic& d : diags.all()) {
      if (d.severity == pk::Severity::remark) continue;
      const unsigned line = sources.position(d.span.file, d.span.begin).line;
      const std::string text = full_text(d);
      const auto found = std::find_if(open.begin(), open.end(), [&](const Announced& a) {
        return a.line == line && a.severity == d.severity && a.code == pk::code_name(d.code) &&
               text.find(a.text) != std::string::npos;
      });
      INFO(path << ":" << line << ": " << pk::code_name(d.code) << ": " << text);
      CHECK(found != open.end());
      if (found != open.end()) open.erase(found);
    }
    for (const Announced& a : open) {
      INFO(path << ":" << a.line << ": " << a.code << ": " << a.text);
      FAIL_CHECK("announced, and not reported");
    }
  }
}

TEST_CASE("the fixes of a case remove what they fix") {
  const std::string source =
      "kernel k(in x: f32[128], out y: f32[4, 128]) mesh(wg w: 4) {\n"
      "    scoped (s: smem f32[128]) {\n"
      "        if w == 0 {\n"
      "            s[...] = x[...];\n"
      "            copy_smem_to_gmem(s, y.at[0, :]);\n"
      "            wait_smem_to_gmem(0);\n"
      "        }\n"
      "        if w < 2 { sync(w); }\n"
      "    }\n"
      "}\n";
  std::string text = source;
  // Each round repairs one mistake; the next one shows then.
  const std::vector<std::string> codes{"PK0301", "PK0307", "PK0601"};
  for (const std::string& code : codes) {
    pk::Sources sources;
    const pk::Diagnostics diags = check(sources, "fix.pk", text);
    REQUIRE(diags.error_count() == 1);
    const pk::Diagnostic& d = diags.all().front();
    CHECK(pk::code_name(d.code) == code);
    REQUIRE(d.fixes.size() == 1);
    for (auto edit = d.fixes[0].edits.rbegin(); edit != d.fixes[0].edits.rend(); ++edit) {
      text.replace(edit->span.begin, edit->span.end - edit->span.begin, edit->text);
    }
  }
  pk::Sources sources;
  CHECK(check(sources, "fix.pk", text).all().empty());
  CHECK(text.find("scoped collective(w) (s") != std::string::npos);
  CHECK(text.find("sync(w, {0, 1});") != std::string::npos);
  CHECK(text.find("commit_smem(); copy_smem_to_gmem") != std::string::npos);
}
