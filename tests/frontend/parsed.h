#pragma once
// A parsed text with what was reported, for tests of the front end.

#include <string>
#include <string_view>
#include <vector>

#include "pk/frontend/parse.h"

namespace pk::test {

struct Parsed {
  Sources sources;
  FileId file;
  Diagnostics diags;
  ast::Ast tree;

  explicit Parsed(std::string text) : file(sources.add("a.pk", std::move(text))), tree(parse(sources, file, diags)) {
    diags.sort();
  }

  /// "PK0101 3:7 message" of each diagnostic, in order.
  [[nodiscard]] std::vector<std::string> errors() const {
    std::vector<std::string> out;
    for (const Diagnostic& d : diags.all()) {
      const LineColumn at = sources.position(file, d.span.begin);
      out.push_back(fmt::format("{} {}:{} {}", code_name(d.code), at.line, at.column, d.message));
    }
    return out;
  }
  /// The tree as text, without the positions.
  [[nodiscard]] std::string printed() const {
    std::string out;
    const std::string all = print_ast(sources, tree);
    for (std::size_t i = 0; i < all.size();) {
      const std::size_t end = all.find('\n', i);
      out += all.substr(i, all.rfind("  @", end) - i) + "\n";
      i = end + 1;
    }
    return out;
  }
  [[nodiscard]] std::string_view text(Span span) const { return sources.text(span); }
};

/// The expression `text` as the parser understands it.
inline std::string expression(const std::string& text) {
  const Parsed p("const A = " + text + ";");
  if (p.diags.has_errors()) return p.errors()[0];
  const std::string out = p.printed();
  return out.substr(10, out.size() - 11);
}

}  // namespace pk::test
