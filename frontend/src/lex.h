#pragma once
// Bytes to tokens. Private to frontend.

#include <PkLexer.h>

#include <memory>
#include <vector>

#include "byte_stream.h"
#include "pk/frontend/diagnostics.h"

namespace pk {

using Token = antlr4::CommonToken;
using TokenList = std::vector<std::unique_ptr<Token>>;

/// Where a token stands: its indices count bytes (see ByteStream).
[[nodiscard]] inline Span token_span(FileId file, const antlr4::Token& token) {
  return {file, static_cast<std::uint32_t>(token.getStartIndex()),
          static_cast<std::uint32_t>(token.getStopIndex() + 1)};
}

/// A file's lexer and the bytes it reads. Tokens point into it, so it outlives them.
class Lexer {
 public:
  Lexer(const Sources& sources, FileId file)
      : sources_(sources), file_(file), stream_(sources.text(file)), lexer_(&stream_) {
    lexer_.removeErrorListeners();
  }
  /// The tokens of the file, comments included. Reports text that is no UTF-8, stray characters and unterminated
  /// strings and comments, and leaves them out, but for unterminated strings. Empty after text that is not UTF-8.
  [[nodiscard]] TokenList tokens(Diagnostics& diags);

 private:
  [[nodiscard]] bool take(std::unique_ptr<Token>& token, Span& stray, Diagnostics& diags);
  [[nodiscard]] bool close_comment(Token& token, Diagnostics& diags);

  const Sources& sources_;
  FileId file_;
  ByteStream stream_;
  grammar::PkLexer lexer_;
};

}  // namespace pk
