#include "lex.h"

#include <algorithm>

namespace pk {
namespace {

using grammar::PkLexer;

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
      const auto byte = static_cast<unsigned char>(text[i]);
      diags
          .report<diag::bad_encoding>(
              at, byte == 0 ? "it has a NUL byte" : fmt::format("byte 0x{:02x} is not UTF-8 here", byte))
          .help("save the file as UTF-8 text");
      return false;
    }
    i += length;
  }
  return true;
}

/// The end of the comment that begins at `begin`, or npos if it never ends. Comments nest.
std::size_t comment_end(std::string_view text, std::size_t begin) {
  int depth = 0;
  for (std::size_t i = begin; i + 1 < text.size();) {
    const std::string_view two = text.substr(i, 2);
    if (two == "/*") {
      ++depth;
    } else if (two == "*/") {
      --depth;
    }
    i += two == "/*" || two == "*/" ? 2 : 1;
    if (depth == 0) return i;
  }
  return std::string_view::npos;
}

}  // namespace

/// Makes one token of a comment of which the lexer has seen the beginning.
bool Lexer::close_comment(Token& token, Diagnostics& diags) {
  const std::string_view text = sources_.text(file_);
  const std::size_t end = comment_end(text, token.getStartIndex());
  stream_.seek(std::min(end, text.size()));
  if (end == std::string_view::npos) {
    diags.report<diag::unterminated>(token_span(file_, token), "comment").help("end it with `*/`; comments nest");
    return false;
  }
  token.setType(PkLexer::BLOCK_COMMENT);
  token.setChannel(PkLexer::COMMENTS);
  token.setStopIndex(end - 1);
  return true;
}

/// Whether `token` belongs among the tokens of the file. `stray` is the current run of stray characters.
bool Lexer::take(std::unique_ptr<Token>& token, Span& stray, Diagnostics& diags) {
  const Span at = token_span(file_, *token);
  switch (token->getType()) {
    case PkLexer::COMMENT_OPEN:
      return close_comment(*token, diags);
    case PkLexer::UNTERMINATED_STRING:
      diags.report<diag::unterminated>(at, "string").help("end it with `\"` on the same line");
      return true;
    case PkLexer::STRAY:
      if (stray.valid() && stray.end == at.begin) {
        stray.end = at.end;
      } else {
        stray = at;
      }
      return false;
    default:
      return true;
  }
}

TokenList Lexer::tokens(Diagnostics& diags) {
  if (!check_encoding(sources_, file_, diags)) return {};
  TokenList tokens;
  Span stray;
  const auto flush = [&] {
    if (stray.valid()) diags.report<diag::stray_text>(stray, sources_.text(stray));
    stray = {};
  };
  for (;;) {
    std::unique_ptr<Token> token(static_cast<Token*>(lexer_.nextToken().release()));
    if (stray.valid() && (token->getType() != PkLexer::STRAY || token->getStartIndex() != stray.end)) flush();
    if (token->getType() == antlr4::Token::EOF) break;
    if (take(token, stray, diags)) tokens.push_back(std::move(token));
  }
  return tokens;
}

}  // namespace pk
