#pragma once
// A look at the brackets of an item before it is parsed. Private to frontend.

#include <vector>

#include "lex.h"

namespace pk {

/// Deepest nesting of brackets; the depth of the parser's stack follows from it.
inline constexpr int max_bracket_depth = 200;

/// A bracket without partner. The parser stumbles over it somewhere from token `first` to token `last`, and then says
/// so.
struct BracketDamage {
  std::size_t first;
  std::size_t last;
  std::size_t culprit;  ///< the bracket
  std::size_t witness;  ///< for an open one: what cannot come before its partner; for a closing one: what is open there
  bool reported = false;
};

struct BracketCheck {
  bool too_deep = false;              ///< reported; the item cannot be parsed
  std::vector<BracketDamage> damage;  ///< ordered by `last`

  /// The damage that token `token` belongs to, or null.
  [[nodiscard]] BracketDamage* find(std::size_t token);
};

/// Reports brackets that nest too deeply (PK0107), finds those without partner, and gives the tokens that have two uses
/// the type of the use they have here: LANGLE, LSET, LAST_COMMA (see grammar/PkLexer.g4).
[[nodiscard]] BracketCheck check_brackets(const Sources& sources, FileId file, TokenList& tokens, Diagnostics& diags);

}  // namespace pk
