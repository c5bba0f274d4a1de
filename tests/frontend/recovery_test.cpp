#include <catch2/catch.hpp>

#include "parsed.h"

using pk::test::Parsed;
using Errors = std::vector<std::string>;

namespace {

Errors errors_in_body(const std::string& body) { return Parsed("test t {\n" + body + "\n}\n").errors(); }

/// A program with most of the syntax, for leaving parts out.
constexpr std::string_view program = R"(import std.math;
kernel relay<STEPS: int = 8>(in x: f32[STEPS, 128], out y: f32[STEPS, 128])
where STEPS > 0
mesh(grid b: 1, wg w: 2)
{
    scoped collective(w) (
        queue: smem f32[3, 128],
        ready: barrier[3] arrivals(2),
    ) {
        specialize w {
            0, 1 registers(40) => {
                for i in 0 .. STEPS {
                    if i >= 3 { barrier_wait(ready.at[i % 3]); }
                    queue[i % 3, :] = x[i, :] + 1.0;
                }
            }
            else => { y[0, :] = queue[0, :] * 2.0; }
        }
    }
}
test relay_works {
    let x = random(f32[8, 128], seed = 5);
    expect_equal(launch relay(x), (x + 1.0) * 2.0);
}
)";

}  // namespace

TEST_CASE("a forgotten semicolon is one error behind the statement, with a fix") {
  const Parsed p("test t {\n    let v = x * 2.0   // twice\n    y = v;\n    z = v\n}\n");
  CHECK(p.errors() ==
        Errors{"PK0101 2:20 expected `;` after this statement", "PK0101 4:10 expected `;` after this statement"});
  const pk::Diagnostic& d = p.diags.all()[0];
  REQUIRE(d.fixes.size() == 1);
  CHECK(d.fixes[0].edits.at(0).text == ";");
  CHECK(d.fixes[0].edits[0].span.begin == 28);
  CHECK(d.fixes[0].edits[0].span.end == 28);
}

TEST_CASE("each statement has its own error, and the rest of the tree stays") {
  const Parsed p(
      "test t {\n    let = 1;\n    x = (a + ;\n    for i in 0 . 4 { y = ; }\n    z = 1 2;\n    good = 1;\n}\ntest u { "
      "ok(); }\n");
  CHECK(p.errors() == Errors{"PK0101 2:9 expected a name or `(`, found `=`", "PK0105 3:9 this `(` is never closed",
                             "PK0101 4:18 expected a name, found `4`", "PK0101 4:26 expected an expression, found `;`",
                             "PK0101 5:11 expected `;`, found `2`"});
  REQUIRE(p.tree.items.size() == 2);
  CHECK(p.tree.items[0].broken);
  CHECK_FALSE(p.tree.items[1].broken);
  CHECK(p.printed().find("assign good = 1") != std::string::npos);
}

TEST_CASE("chained comparisons are refused with a way to write them") {
  const Parsed p("test t { if 1 < n + 1 <= 3 { } }");
  CHECK(p.errors() == Errors{"PK0108 1:13 comparisons cannot be chained"});
  CHECK(p.diags.all()[0].help.at(0) == "write `1 < n + 1 && n + 1 <= 3`");
  CHECK(errors_in_body("x = a < b < c < d;").size() == 1);
  CHECK(errors_in_body("x = (a < b) == (c < d);").empty());
}

TEST_CASE("brackets without partner are one error each") {
  CHECK(errors_in_body("x = f(1, 2;\ny = 3;") == Errors{"PK0105 2:6 this `(` is never closed"});
  CHECK(errors_in_body("x = f(1], 2);") == Errors{"PK0106 2:8 `]` closes nothing that is open here"});
  CHECK(errors_in_body("x = a[1 + b;") == Errors{"PK0105 2:6 this `[` is never closed"});
  CHECK(errors_in_body("x = a);") == Errors{"PK0106 2:6 `)` closes nothing that is open here"});
  CHECK(errors_in_body("f(1; 2);").size() == 1);
  // The brace that is closed in the wrong column is the one without partner.
  CHECK(Parsed("test t {\n    if a {\n        x = 1;\n}\n").errors() == Errors{"PK0105 2:10 this `{` is never closed"});
  CHECK(Parsed("test t {\n    x = 1;\n}\n}\ntest u { y(); }\n").errors() ==
        Errors{"PK0106 4:1 `}` closes nothing that is open here"});
}

TEST_CASE("a mistake in one item leaves the others alone") {
  const Parsed p(
      "kernal k() { }\nkernel a() mesh(grid b: 1) {\nkernel c() mesh(grid b: 1) { x = 1; }\nfoo\ntest t { }\n");
  CHECK(p.errors() == Errors{"PK0101 1:1 expected an item, found `kernal`", "PK0105 2:28 this `{` is never closed",
                             "PK0101 4:1 expected an item, found `foo`"});
  REQUIRE(p.tree.items.size() == 3);
  CHECK(p.tree.items[0].broken);
  CHECK_FALSE(p.tree.items[1].broken);
  CHECK(p.diags.all()[0].fixes.at(0).edits.at(0).text == "kernel");
}

TEST_CASE("faulty text is reported once and otherwise ignored") {
  CHECK(Parsed("test t { x = 1 @@# ; }").errors() == Errors{"PK0103 1:16 `@@#` means nothing in pk"});
  CHECK(errors_in_body("x = a # b;") == Errors{"PK0103 2:7 `#` means nothing in pk"});
  CHECK(Parsed("test t { x = \"abc; }\n").errors() == Errors{"PK0104 1:14 this string never ends"});
  CHECK(Parsed("test t { }\n/* a /* b */\ntest u { }\n").errors() == Errors{"PK0104 2:1 this comment never ends"});
  CHECK(Parsed("test t { /* a /* b */ */ x(); }").errors().empty());
  CHECK(Parsed(std::string("test t { x\0(); }", 16)).errors() ==
        Errors{"PK0102 1:11 the file is not text that pk reads: it has a NUL byte"});
  CHECK(Parsed("test t { \xC3( }").errors().size() == 1);
  CHECK(Parsed("\xEF\xBB\xBFtest t { }").errors().size() <= 1);
}

TEST_CASE("any one token left out gives at most one error") {
  for (std::size_t begin = 0; begin < program.size();) {
    const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    std::size_t end = begin + 1;
    while (is_word(program[begin]) && end < program.size() && is_word(program[end])) ++end;
    if (program[begin] != ' ' && program[begin] != '\n') {
      const std::string text = fmt::format("{} {}", program.substr(0, begin), program.substr(end));
      INFO("without `" << program.substr(begin, end - begin) << "` at " << begin);
      CHECK(Parsed(text).errors().size() <= 1);
    }
    begin = end;
  }
}

TEST_CASE("a text cut off anywhere is a clean error") {
  for (std::size_t size = 0; size <= program.size(); ++size) {
    INFO("cut at " << size);
    const Parsed p(std::string(program.substr(0, size)));
    CHECK(p.errors().size() <= 2);
    for (const pk::Diagnostic& d : p.diags.all()) CHECK(d.span.end <= size + 1);
    CHECK(pk::print_ast(p.sources, p.tree).size() < 10'000);
  }
}
