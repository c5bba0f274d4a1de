#pragma once
// Tokens of a file to tokens of its items. Private to frontend.

#include <string>

#include "lex.h"

namespace pk {

/// The tokens of one item, comments left out.
struct ItemTokens {
  TokenList tokens;
  std::string doc;  ///< text of the `///` lines above
};

/// Cuts a file into items where an item's first word stands outside all brackets, or at the start of a line. Each item
/// is parsed alone, so that a mistake in one does not spread to the next. Reports what belongs to no item.
[[nodiscard]] std::vector<ItemTokens> split_items(const Sources& sources, FileId file, TokenList tokens,
                                                  Diagnostics& diags);

/// Says that the word at `at` begins no item.
void report_outside_item(Span at, const Sources& sources, Diagnostics& diags);

}  // namespace pk
