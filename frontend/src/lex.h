#pragma once
// Bytes to tokens, and tokens to items. Private to frontend.

#include <PkLexer.h>

#include <memory>
#include <string>
#include <vector>

#include "byte_stream.h"
#include "pk/frontend/diagnostics.h"

namespace pk {

using TokenList = std::vector<std::unique_ptr<antlr4::Token>>;

/// A file's lexer and the bytes it reads. Tokens point into it, so it outlives them.
class Lexer {
 public:
  Lexer(const Sources& sources, FileId file) : sources_(sources), file_(file), stream_(sources.text(file)), lexer_(&stream_) {
    lexer_.removeErrorListeners();
  }
  /// The tokens of the file, comments and white space included. Reports text that is no UTF-8, stray characters and
  /// unterminated strings and comments, and leaves them out. Empty after text that is not UTF-8.
  [[nodiscard]] TokenList tokens(Diagnostics& diags);

 private:
  const Sources& sources_;
  FileId file_;
  ByteStream stream_;
  grammar::PkLexer lexer_;
};

/// The tokens of one item, white space and comments left out.
struct ItemTokens {
  TokenList tokens;
  std::string doc;
  bool broken = false;  ///< brackets do not match; reported
};

/// Cuts a file into items where an item's first word stands outside all brackets, or at the start of a line. Each item is
/// parsed alone, so that a mistake in one does not spread to the next. Items that nest too deeply are reported and left out.
[[nodiscard]] std::vector<ItemTokens> split_items(const Sources& sources, FileId file, TokenList tokens, Diagnostics& diags);

}  // namespace pk
