#include "pk/frontend/render.h"

#include <catch2/catch.hpp>

#include "sample.h"

using namespace pk;
using pk::test::error_at;
using pk::test::Sample;

namespace {

std::string plain(const Diagnostic& d, const Sample& s) { return "\n" + render(d, s.sources, {}); }

}  // namespace

TEST_CASE("carets, a label on another line, note and help") {
  const Sample s("kernel k() {\n    if ⟦w == 0⟧ {\n        ⟦scoped⟧ (a: smem f32[4]) { }\n    }\n}\n");
  Diagnostic d = error_at(s.spans[1], "not all threads of `w` come here");
  d.labels.push_back({s.spans[0], "only thread 0 takes this branch"});
  d.notes.push_back("threads 1 and 2 never come");
  d.help.push_back("open the scope above the `if`");
  CHECK(plain(d, s) == R"(
error[PK0307]: not all threads of `w` come here
 --> a.pk:3:9
  |
2 |     if w == 0 {
  |        ------ only thread 0 takes this branch
3 |         scoped (a: smem f32[4]) { }
  |         ^^^^^^
  |
  = note: threads 1 and 2 never come
  = help: open the scope above the `if`
)");
}

TEST_CASE("several marks on one line: the last text beside the signs, the others below") {
  const Sample s("y = ⟦a⟧ ⟦+⟧ ⟦bb⟧;\n");
  Diagnostic d = error_at(s.spans[1]);
  d.span_label = "no sum of these";
  d.labels.push_back({s.spans[0], "this is `f32`"});
  d.labels.push_back({s.spans[2], "this is `i32`"});
  CHECK(plain(d, s) == R"(
error[PK0307]: this is wrong
 --> a.pk:1:7
  |
1 | y = a + bb;
  |     - ^ -- this is `i32`
  |     | |
  |     | no sum of these
  |     this is `f32`
)");
}

TEST_CASE("a primary span inside a secondary one stays visible") {
  const Sample s("⟦f(⟦x⟧)⟧;\n");
  Diagnostic d = error_at(s.spans[1]);
  d.labels.push_back({s.spans[0], "in this call"});
  CHECK(plain(d, s) == R"(
error[PK0307]: this is wrong
 --> a.pk:1:3
  |
1 | f(x);
  | --^- in this call
)");
}

TEST_CASE("one line between two marked lines is shown, several are left out") {
  const Sample s("⟦a⟧\nb\n⟦c⟧\nd\ne\n⟦f⟧\n");
  Diagnostic d = error_at(s.spans[0]);
  d.labels.push_back({s.spans[1], ""});
  d.labels.push_back({s.spans[2], "last"});
  CHECK(plain(d, s) == R"(
error[PK0307]: this is wrong
 --> a.pk:1:1
  |
1 | a
  | ^
2 | b
3 | c
  | -
...
6 | f
  | - last
)");
}

TEST_CASE("a span of several lines is marked on its first and last line") {
  const Sample s("x = ⟦f(1,\n\n\n      2)⟧;\n");
  Diagnostic d = error_at(s.spans[0]);
  d.span_label = "this call";
  CHECK(plain(d, s) == R"(
error[PK0307]: this is wrong
 --> a.pk:1:5
  |
1 | x = f(1,
  |     ^^^^ this call
...
4 |       2);
  |       ^^
)");
}

TEST_CASE("a label of several lines is marked where it begins") {
  const Sample s("⟦if w == 0 {\n    ⟦x⟧;\n\n\n}⟧\n");
  Diagnostic d = error_at(s.spans[1]);
  d.labels.push_back({s.spans[0], "only thread 0"});
  CHECK(plain(d, s) == R"(
error[PK0307]: this is wrong
 --> a.pk:2:5
  |
1 | if w == 0 {
  | ----------- only thread 0
2 |     x;
  |     ^
)");
}

TEST_CASE("labels in other files stand under their own path") {
  Sample s("call ⟦f⟧();\n");
  s.add("fn f() {\n    ⟦scoped⟧\n}\n", "lib.pk");
  Diagnostic d = error_at(s.spans[1]);
  d.labels.push_back({s.spans[0], "called here"});
  CHECK(plain(d, s) == R"(
error[PK0307]: this is wrong
 --> lib.pk:2:5
  |
2 |     scoped
  |     ^^^^^^
 ::: a.pk:1:6
  |
1 | call f();
  |      - called here
)");
}

TEST_CASE("columns are those of the terminal: tabs, characters of several bytes, wide characters") {
  const Sample tab("\tx = ⟦y⟧;\n");
  CHECK(plain(error_at(tab.spans[0]), tab) == R"(
error[PK0307]: this is wrong
 --> a.pk:1:6
  |
1 |     x = y;
  |         ^
)");
  const Sample umlaut("\"größe\" ⟦y⟧\n");
  CHECK(plain(error_at(umlaut.spans[0]), umlaut) == R"(
error[PK0307]: this is wrong
 --> a.pk:1:9
  |
1 | "größe" y
  |         ^
)");
  const Sample wide("\"大小\" ⟦y⟧\n");
  CHECK(plain(error_at(wide.spans[0]), wide) == R"(
error[PK0307]: this is wrong
 --> a.pk:1:6
  |
1 | "大小" y
  |        ^
)");
}

TEST_CASE("places at the end of a line and of the file have one caret") {
  const Sample s("let x = 1⟦⟧\nlet y⟦⟧");
  CHECK(plain(error_at(s.spans[0]), s) ==
        "\nerror[PK0307]: this is wrong\n --> a.pk:1:10\n  |\n1 | let x = 1\n  |          ^\n");
  CHECK(plain(error_at(s.spans[1]), s) ==
        "\nerror[PK0307]: this is wrong\n --> a.pk:2:6\n  |\n2 | let y\n  |      ^\n");
  const Sample empty("⟦⟧");
  CHECK(plain(error_at(empty.spans[0]), empty) == "\nerror[PK0307]: this is wrong\n --> a.pk:1:1\n  |\n1 |\n  | ^\n");
}

TEST_CASE("a very long line is cut around what is marked") {
  const std::string many(5000, 'x');
  const Sample s(many + "⟦bad⟧" + many);
  const std::string text = plain(error_at(s.spans[0]), s);
  CHECK(text.size() < 700);
  CHECK(text.find("…xxx") != std::string::npos);
  CHECK(text.find("xxxbadxxx") != std::string::npos);
  CHECK(text.find("xxx…") != std::string::npos);
  const std::size_t line = text.find("1 | ");
  const std::size_t carets = text.find("^^^");
  const std::size_t below = text.rfind('\n', carets) + 1;
  // "…" has three bytes and one column.
  CHECK(text.find("bad") - line - 2 == carets - below);
  const Sample end(many + "⟦bad⟧");
  CHECK(plain(error_at(end.spans[0]), end).find("bad\n") != std::string::npos);
}

TEST_CASE("line numbers of different lengths share a gutter") {
  const Sample s("\n\n\n\n\n\n\n\n⟦a⟧\n⟦b⟧\n");
  Diagnostic d = error_at(s.spans[1]);
  d.labels.push_back({s.spans[0], "before"});
  d.help.push_back("do not");
  CHECK(plain(d, s) == R"(
error[PK0307]: this is wrong
  --> a.pk:10:1
   |
 9 | a
   | - before
10 | b
   | ^
   |
   = help: do not
)");
}

TEST_CASE("a fix shows the lines that it makes") {
  const Sample s("    scoped⟦⟧ (a: smem f32[4]) { }\n    ⟦b⟧;\n");
  Diagnostic d = error_at({s.file, 4, 10});
  d.fixes.push_back({"add `collective(w)`", {{s.spans[0], " collective(w)"}}});
  d.fixes.push_back({"make two of it", {{s.spans[1], "c;\n    d"}}});
  CHECK(plain(d, s) == R"(
error[PK0307]: this is wrong
 --> a.pk:1:5
  |
1 |     scoped (a: smem f32[4]) { }
  |     ^^^^^^
  |
  = fix: add `collective(w)`
1 +     scoped collective(w) (a: smem f32[4]) { }
  = fix: make two of it
2 +     c;
3 +     d;
)");
}

TEST_CASE("a fix with several edits on a line, and over several lines") {
  const Sample s("⟦a⟧ + ⟦b⟧\n{\n  ⟦x\n}⟧ y\n");
  Diagnostic d = error_at(s.spans[0]);
  d.fixes.push_back({"change it", {{s.spans[1], "B"}, {s.spans[0], "A"}, {s.spans[2], "z"}}});
  CHECK(plain(d, s) == R"(
error[PK0307]: this is wrong
 --> a.pk:1:1
  |
1 | a + b
  | ^
  |
  = fix: change it
1 + A + B
3 +   z y
)");
}

TEST_CASE("a long replacement is cut") {
  const Sample s("⟦a⟧\n");
  Diagnostic d = error_at(s.spans[0]);
  std::string lines;
  for (int i = 0; i < 100; ++i) lines += "b\n";
  d.fixes.push_back({"write a lot", {{s.spans[0], lines}}});
  const std::string text = plain(d, s);
  CHECK(text.find("12 + b\n...\n") != std::string::npos);
  CHECK(text.find("13 + b\n") == std::string::npos);
}

TEST_CASE("a diagnostic without a place, and a note of several lines") {
  const Sample s("");
  Diagnostic d = error_at({}, "cannot read `x.pk`");
  d.notes.push_back("what was tried:\n  x.pk\n  y.pk");
  CHECK(plain(d, s) == R"(
error[PK0307]: cannot read `x.pk`
= note: what was tried:
          x.pk
          y.pk
)");
}

TEST_CASE("nothing of a source or message reaches the terminal as a control character") {
  const Sample s(
      "⟦a⟧\x1b[2J\x01\xff"
      "b\n");
  const std::string text = render(error_at(s.spans[0], "odd \x1b name"), s.sources, {});
  for (const char c : text) CHECK((static_cast<unsigned char>(c) >= 0x20 || c == '\n'));
  CHECK(text.find("\xff") == std::string::npos);
}

TEST_CASE("colour only if asked, and only around the text") {
  const Sample s("⟦a⟧ ⟦b⟧\n");
  Diagnostic d = error_at(s.spans[0]);
  d.labels.push_back({s.spans[1], "other"});
  const std::string colored = render(d, s.sources, {true});
  CHECK(colored.find("\x1b[1;31merror[PK0307]\x1b[0m") == 0);
  CHECK(colored.find("\x1b[1;34m-\x1b[0m \x1b[1;34mother\x1b[0m") != std::string::npos);
  std::string stripped;
  for (std::size_t i = 0; i < colored.size(); ++i) {
    if (colored[i] == '\x1b') {
      i = colored.find('m', i);
    } else {
      stripped += colored[i];
    }
  }
  CHECK(stripped == render(d, s.sources, {}));
}

TEST_CASE("the summary counts by severity") {
  std::vector<Diagnostic> list(4, error_at({}));
  list[1].severity = Severity::warning;
  list[3].severity = Severity::remark;
  CHECK(summary(list) == "2 errors, 1 warning, 1 remark\n");
  CHECK(summary({}).empty());
}
