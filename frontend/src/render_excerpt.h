#pragma once
// The source lines under a diagnostic's headline: those that it marks, with carets, dashes and the texts that belong to
// them. Used by render_text.cpp.

#include <map>
#include <string>
#include <vector>

#include "render_row.h"

namespace pk {

/// Source lines longer than this are cut around what is marked.
inline constexpr int max_line_width = 160;

/// A mark under one source line; columns count characters from 0.
struct Mark {
  int begin = 0;
  int end = 0;
  bool primary = false;
  std::string text;  ///< may be empty
};

/// What is marked in one file, by one-based line.
using MarkedLines = std::map<unsigned, std::vector<Mark>>;

/// Adds `span` to the lines of its file. One of several lines is marked on its first line, and a primary one on its
/// last line as well.
void add_marks(MarkedLines& lines, Span span, bool primary, const std::string& text, const Sources& sources);

/// The lines with their numbers right-aligned in `gutter` columns; the single line between two marked ones is shown,
/// several are left out.
[[nodiscard]] std::string draw_lines(const MarkedLines& lines, FileId file, int gutter, const Sources& sources,
                                     const Painter& painter);

}  // namespace pk
