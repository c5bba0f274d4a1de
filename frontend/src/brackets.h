#pragma once
// A look at the brackets of an item before it is parsed. Private to frontend.

#include <utility>
#include <vector>

#include "lex.h"

namespace pk {

/// Deepest nesting of brackets; the depth of the parser's stack follows from it.
inline constexpr int max_bracket_depth = 200;

struct BracketCheck {
  bool too_deep = false;   ///< reported; the item cannot be parsed
  /// First and last token where brackets do not match, reported; in order, disjoint.
  std::vector<std::pair<std::size_t, std::size_t>> damage;
};

/// Reports brackets that do not match or nest too deeply (PK0105, PK0106, PK0107), and gives the tokens that have two uses the
/// type of the use they have here: LANGLE, LSET, LAST_COMMA (see grammar/PkLexer.g4).
[[nodiscard]] BracketCheck check_brackets(const Sources& sources, FileId file, TokenList& tokens, Diagnostics& diags);

}  // namespace pk
