#include <catch2/catch.hpp>

#include "parsed.h"

using pk::test::Parsed;
using Errors = std::vector<std::string>;

namespace {

std::string repeated(std::string_view part, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += part;
  return out;
}
std::string nested(std::string_view open, std::string_view close, int depth) {
  return "const A = " + repeated(open, depth) + "1" + repeated(close, depth) + ";";
}
int only_code(const std::string& text) {
  const Parsed p(text);
  return p.diags.all().size() == 1 ? p.diags.all()[0].code : -static_cast<int>(p.diags.all().size());
}

}  // namespace

TEST_CASE("nesting is allowed up to a limit, and reported once beyond it") {
  CHECK(Parsed(nested("(", ")", 200)).errors().empty());
  CHECK(Parsed(nested("f(a[", "])", 100)).errors().empty());
  CHECK(only_code(nested("(", ")", 201)) == 107);
  CHECK(only_code(nested("f(", ")", 100'000)) == 107);
  CHECK(Parsed("test t { " + repeated("if a { ", 199) + repeated("}", 200)).errors().empty());
  CHECK(only_code("test t { " + repeated("{ ", 100'000) + repeated("}", 100'000) + "}") == 107);
  CHECK(only_code("const A = " + repeated("(", 100'000)) == 107);
}

TEST_CASE("long chains are no nesting for the parser, and bounded in the tree") {
  CHECK(Parsed("const A = 1" + repeated(" + 1", 900) + ";").errors().empty());
  CHECK(only_code("const A = 1" + repeated(" + 1", 100'000) + ";") == 107);
  CHECK(only_code("const A = " + repeated("- ", 100'000) + "1;") == 107);
  CHECK(only_code("const A = f" + repeated("(1)", 100'000) + ";") == 107);
  CHECK(only_code("const A = 1" + repeated(" as i32", 100'000) + ";") == 107);
  CHECK(only_code("test t { if a { }" + repeated(" else if a { }", 50'000) + " }") == 107);
  CHECK(only_code("const A = a" + repeated(" < a", 50'000) + ";") == 108);
  CHECK(Parsed("const A = [1" + repeated(", 1", 50'000) + "];").errors().empty());
}

TEST_CASE("depth adds up through brackets") {
  std::string text = "1";
  for (int i = 0; i < 100; ++i) text = "f(" + text + repeated(" + 1", 20) + ")";
  CHECK(only_code("const A = " + text + ";") == 107);
}

TEST_CASE("comments may be nested and unfinished to any depth") {
  CHECK(Parsed(repeated("/*", 100'000) + repeated("*/", 100'000)).errors().empty());
  CHECK(only_code(repeated("/*", 100'000)) == 104);
}

TEST_CASE("many errors are all reported") {
  CHECK(Parsed("test t {\n" + repeated("x = f(1)\n", 2'000) + "}\n").errors().size() == 2'000);
  CHECK(Parsed(repeated("test t { x = (1; }\n", 500)).errors().size() == 500);
}
