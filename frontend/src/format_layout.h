#pragma once
// Where the formatter puts spaces and line breaks. Private to frontend.
//
// The author's line breaks within statements and lists stay, and so does the choice whether a block stands on one line;
// statements begin lines; spaces and indentation follow from the syntax. Lines over the limit are broken at a comma or
// before an operator. What this gives is left alone when it is formatted again.

#include <string>
#include <vector>

#include "format_roles.h"

namespace pk {

/// A token or a comment of the text to format.
struct Piece {
  std::string_view text;
  std::size_t type = 0;  ///< of grammar::PkLexer
  Roles roles = 0;
  unsigned width = 0;     ///< in code points
  unsigned newlines = 0;  ///< line ends between the piece before and this one
  unsigned gap = 0;       ///< spaces between the piece before, on the same line, and this one
  unsigned column = 0;    ///< in the author's text
  [[nodiscard]] bool is(Role role) const { return (roles & static_cast<Roles>(role)) != 0; }
};

inline constexpr unsigned max_line_width = 120;
inline constexpr unsigned indent_width = 4;

[[nodiscard]] std::string lay_out(const std::vector<Piece>& pieces);

}  // namespace pk
