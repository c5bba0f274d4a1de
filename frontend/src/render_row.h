#pragma once
// What the text renderer draws with: colours, and rows of characters that are filled at columns. Used by
// render_text.cpp and render_excerpt.cpp.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pk/frontend/render.h"

namespace pk {

enum class Ink : std::uint8_t { plain, primary, secondary, frame, strong, added };

/// Colours text with ANSI escapes, or leaves it alone when colour is not wanted.
class Painter {
 public:
  Painter(Style style, Severity severity) : color_(style.color), severity_(severity) {}
  [[nodiscard]] std::string paint(Ink ink, std::string_view text) const;

 private:
  bool color_;
  Severity severity_;  // decides the primary colour
};

/// One display cell or more for one character of the source. Tabs become four blanks, characters that would change
/// the terminal's state or are not UTF-8 become U+FFFD.
struct Cell {
  std::string text;
  int width = 1;
};
[[nodiscard]] std::vector<Cell> cells_of(std::string_view text);
[[nodiscard]] int width_of(const std::vector<Cell>& cells);
/// `text` with the same replacements.
[[nodiscard]] std::string printable(std::string_view text);

/// A row of the terminal, filled out of order; later text covers earlier text.
class Row {
 public:
  void put(int column, std::string_view text, Ink ink);
  [[nodiscard]] std::string text(const Painter& painter) const;

 private:
  struct Place {
    std::string text;
    Ink ink;
  };
  std::vector<Place> places_;  // the second column of a wide character is an empty text
};

}  // namespace pk
