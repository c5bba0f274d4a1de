#pragma once
// Bytes to tokens, and tokens to items. Private to frontend.

#include <PkLexer.h>

#include <memory>
#include <string>
#include <vector>

#include "pk/frontend/diagnostics.h"

namespace pk {

using TokenList = std::vector<std::unique_ptr<antlr4::Token>>;

/// The tokens of `file`, comments and white space included. Reports text that is no UTF-8, stray characters and
/// unterminated strings and comments, and leaves them out. Empty after text that is not UTF-8.
[[nodiscard]] TokenList lex(const Sources& sources, FileId file, Diagnostics& diags);

/// The tokens of one item, white space and comments left out.
struct ItemTokens {
  TokenList tokens;
  std::string doc;
  bool broken = false;  ///< brackets do not match or nest too deeply; reported
};

/// Cuts a file into items where an item's first word stands outside all brackets, or at the start of a line. Each item is
/// parsed alone, so that a mistake in one does not spread to the next.
[[nodiscard]] std::vector<ItemTokens> split_items(const Sources& sources, FileId file, TokenList tokens, Diagnostics& diags);

}  // namespace pk
