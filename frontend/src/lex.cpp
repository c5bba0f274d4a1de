#include "lex.h"

#include <antlr4-runtime.h>

#include "ast_builder.h"

namespace pk {
namespace {

using grammar::PkLexer;

/// Deepest nesting of brackets; the parser's stack depends on it.
constexpr int max_bracket_depth = 200;

/// Length of the UTF-8 sequence at `i`, or 0 if there is none.
std::size_t utf8_length(std::string_view text, std::size_t i) {
  const auto byte = [&](std::size_t k) { return k < text.size() ? static_cast<unsigned char>(text[k]) : 0U; };
  const unsigned first = byte(i);
  if (first < 0x80) return first == 0 ? 0 : 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return 0;
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(i + k) & 0xC0U) != 0x80U) return 0;
  }
  const unsigned second = byte(i + 1);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool outside = (first == 0xED && second >= 0xA0) || (first == 0xF4 && second >= 0x90);
  return overlong || outside ? 0 : length;
}

bool check_encoding(const Sources& sources, FileId file, Diagnostics& diags) {
  const std::string_view text = sources.text(file);
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text, i);
    if (length == 0) {
      const Span at{file, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i + 1)};
      diags.report<diag::bad_encoding>(at, text[i] == 0 ? "a NUL byte" : fmt::format("byte 0x{:02x}, which is not UTF-8", static_cast<unsigned char>(text[i])))
          .help("save the file as UTF-8 text");
      return false;
    }
    i += length;
  }
  return true;
}

/// Reports the lexer's tokens for faulty text. Returns whether `token` is one.
bool report_faulty(FileId file, const antlr4::Token& token, Span& stray, Diagnostics& diags) {
  const Span at = token_span(file, token);
  switch (token.getType()) {
    case PkLexer::UNTERMINATED_COMMENT:
      diags.report<diag::unterminated>(Span{file, at.begin, at.begin + 2}, "comment").help("end it with `*/`; comments nest");
      return true;
    case PkLexer::UNTERMINATED_STRING:
      diags.report<diag::unterminated>(at, "string").help("end it with `\"` on the same line");
      return true;
    case PkLexer::STRAY:
      if (stray.valid() && stray.end == at.begin) {
        stray.end = at.end;  // one report for a run
      } else {
        stray = at;
      }
      return true;
    default:
      return false;
  }
}

bool is_open(std::size_t type) { return type == PkLexer::LPAREN || type == PkLexer::LBRACKET || type == PkLexer::LBRACE; }
bool is_close(std::size_t type) { return type == PkLexer::RPAREN || type == PkLexer::RBRACKET || type == PkLexer::RBRACE; }
bool matches(std::size_t open, std::size_t close) {
  return (open == PkLexer::LPAREN && close == PkLexer::RPAREN) || (open == PkLexer::LBRACKET && close == PkLexer::RBRACKET) ||
         (open == PkLexer::LBRACE && close == PkLexer::RBRACE);
}

/// Whether an item may begin with this token: always for reserved words, else outside brackets or in column 0.
bool begins_item(const antlr4::Token& token, int depth) {
  const bool first_column = token.getCharPositionInLine() == 0;
  switch (token.getType()) {
    case PkLexer::KERNEL: case PkLexer::FN: case PkLexer::IMPORT:
      return depth == 0 || first_column;
    case PkLexer::MESH: case PkLexer::CONST: case PkLexer::TEST:
      return first_column;
    default:
      return false;
  }
}

/// Checks that brackets match and do not nest too deeply. One report at most.
void check_brackets(FileId file, ItemTokens& item, Diagnostics& diags) {
  std::vector<const antlr4::Token*> open;
  for (const auto& token : item.tokens) {
    const std::size_t type = token->getType();
    if (is_open(type)) {
      open.push_back(token.get());
      if (static_cast<int>(open.size()) <= max_bracket_depth) continue;
      diags.report<diag::nested_too_deeply>(token_span(file, *token), max_bracket_depth);
      item.tokens.clear();  // Nobody walks a tree that deep.
      return;
    }
    if (!is_close(type)) continue;
    if (!open.empty() && matches(open.back()->getType(), type)) {
      open.pop_back();
      continue;
    }
    auto report = diags.report<diag::unmatched_bracket>(token_span(file, *token), token->getText());
    if (!open.empty()) report.label(token_span(file, *open.back()), fmt::format("`{}` is still open", open.back()->getText()));
    item.broken = true;
    return;
  }
  if (open.empty()) return;
  // A brace that is closed in another column than its line's indentation suggests is a better suspect than the outermost one,
  // but only the outermost is certain.
  diags.report<diag::unclosed_bracket>(token_span(file, *open.front()), open.front()->getText())
      .label(token_span(file, *item.tokens.back()), "the item ends here");
  item.broken = true;
}

}  // namespace

TokenList Lexer::tokens(Diagnostics& diags) {
  if (!check_encoding(sources_, file_, diags)) return {};
  TokenList tokens;
  Span stray;
  const auto flush = [&] {
    if (!stray.valid()) return;
    diags.report<diag::stray_text>(stray, sources_.text(stray));
    stray = {};
  };
  for (auto token = lexer_.nextToken(); token->getType() != antlr4::Token::EOF; token = lexer_.nextToken()) {
    if (stray.valid() && (token->getType() != PkLexer::STRAY || token->getStartIndex() != stray.end)) flush();
    const bool in_comment = token->getType() == PkLexer::UNTERMINATED_COMMENT;
    if (!report_faulty(file_, *token, stray, diags)) tokens.push_back(std::move(token));
    if (in_comment) break;  // The rest of the file is the comment.
  }
  flush();
  return tokens;
}

std::vector<ItemTokens> split_items(const Sources& sources, FileId file, TokenList tokens, Diagnostics& diags) {
  std::vector<ItemTokens> items;
  std::string doc;
  int depth = 0;
  bool outside_reported = false;
  for (auto& token : tokens) {
    const std::size_t type = token->getType();
    if (type == PkLexer::LINE_COMMENT && (items.empty() || depth <= 0)) {
      const std::string_view text = sources.text(token_span(file, *token));
      if (text.starts_with("///")) doc += fmt::format("{}\n", text.substr(text.starts_with("/// ") ? 4 : 3));
    }
    if (token->getChannel() != antlr4::Token::DEFAULT_CHANNEL) continue;
    const bool previous_done =
        items.empty() || (depth <= 0 && !items.back().tokens.empty() &&
                          (items.back().tokens.back()->getType() == PkLexer::RBRACE || items.back().tokens.back()->getType() == PkLexer::SEMI));
    const bool soft_start = previous_done && (type == PkLexer::MESH || type == PkLexer::CONST || type == PkLexer::TEST ||
                                              type == PkLexer::KERNEL || type == PkLexer::FN || type == PkLexer::IMPORT);
    if (soft_start || begins_item(*token, depth)) {
      // `mesh(` at the start of a line is the placement of a kernel, not an item.
      const bool placement = type == PkLexer::MESH && !previous_done;
      if (!placement) {
        items.emplace_back();
        items.back().doc = std::move(doc);
        doc.clear();
        depth = 0;
        outside_reported = false;
      }
    } else if (previous_done) {
      if (!outside_reported) {
        diags.report<diag::syntax_error>(token_span(file, *token), fmt::format("expected an item, found `{}`", token->getText()))
            .help("a file consists of `import`, `const`, `mesh`, `fn`, `kernel` and `test` items");
      }
      outside_reported = true;
      continue;
    }
    if (outside_reported) continue;
    if (is_open(type)) ++depth;
    if (is_close(type)) --depth;
    items.back().tokens.push_back(std::move(token));
  }
  for (ItemTokens& item : items) check_brackets(file, item, diags);
  std::erase_if(items, [](const ItemTokens& item) { return item.tokens.empty(); });
  return items;
}

}  // namespace pk
