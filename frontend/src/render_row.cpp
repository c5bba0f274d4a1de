#include "render_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace pk {
namespace {

constexpr int tab_width = 4;
constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

std::string_view escape_code(Ink ink, Severity severity) {
  switch (ink) {
    case Ink::plain:
      return {};
    case Ink::primary:
      return severity == Severity::error ? "1;31" : severity == Severity::warning ? "1;33" : "1;36";
    case Ink::secondary:
      return "1;34";
    case Ink::frame:
      return "1;34";
    case Ink::strong:
      return "1";
    case Ink::added:
      return "32";
  }
  return {};
}

/// Length of the UTF-8 sequence that begins `text`, or 0 if it begins none.
std::size_t sequence_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first < 0x80U   ? 1
                             : first < 0xC2U ? 0
                             : first < 0xE0U ? 2
                             : first < 0xF0U ? 3
                             : first < 0xF5U ? 4
                                             : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U) return 0;
  }
  return length;
}

std::uint32_t decode(std::string_view sequence) {
  const auto first = static_cast<unsigned char>(sequence.front());
  std::uint32_t value = sequence.size() == 1 ? first : first & (0xFFU >> (sequence.size() + 1));
  for (const char c : sequence.substr(1)) value = value << 6U | (static_cast<unsigned char>(c) & 0x3FU);
  return value;
}

using Range = std::pair<std::uint32_t, std::uint32_t>;

template <std::size_t N>
bool within(std::uint32_t c, const std::array<Range, N>& ranges) {
  return std::any_of(ranges.begin(), ranges.end(), [c](const Range& r) { return c >= r.first && c <= r.second; });
}

/// Columns that a terminal gives to a code point: the blocks of East Asian wide characters and emoji, and of combining
/// marks.
int columns_of(std::uint32_t c) {
  constexpr std::array<Range, 5> zero{
      {{0x300, 0x36F}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}}};
  constexpr std::array<Range, 8> two{{{0x1100, 0x115F},
                                      {0x2E80, 0xA4CF},
                                      {0xAC00, 0xD7A3},
                                      {0xF900, 0xFAFF},
                                      {0xFF00, 0xFF60},
                                      {0xFFE0, 0xFFE6},
                                      {0x1F300, 0x1FAFF},
                                      {0x20000, 0x3FFFD}}};
  return within(c, zero) ? 0 : within(c, two) ? 2 : 1;
}

/// Control characters, and those that reorder text.
bool disturbs_terminal(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

}  // namespace

std::string Painter::paint(Ink ink, std::string_view text) const {
  const std::string_view code = escape_code(ink, severity_);
  return color_ && !code.empty() && !text.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

std::vector<Cell> cells_of(std::string_view text) {
  std::vector<Cell> cells;
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    const std::string_view sequence = text.substr(0, std::max<std::size_t>(length, 1));
    text.remove_prefix(sequence.size());
    if (sequence == "\t") {
      cells.push_back({std::string(tab_width, ' '), tab_width});
    } else if (length == 0 || disturbs_terminal(decode(sequence))) {
      // Bytes that only continue a sequence are no column of their own (see Sources::position).
      const bool continues =
          length == 0 && (static_cast<unsigned char>(sequence.front()) & 0xC0U) == 0x80U && !cells.empty();
      if (!continues) cells.push_back({std::string(replacement), 1});
    } else {
      cells.push_back({std::string(sequence), columns_of(decode(sequence))});
    }
  }
  return cells;
}

int width_of(const std::vector<Cell>& cells) {
  int width = 0;
  for (const Cell& cell : cells) width += cell.width;
  return width;
}

std::string printable(std::string_view text) {
  std::string out;
  for (const Cell& cell : cells_of(text)) out += cell.text;
  return out;
}

void Row::put(int column, std::string_view text, Ink ink) {
  auto at = static_cast<std::size_t>(std::max(column, 0));
  for (const Cell& cell : cells_of(text)) {
    const std::size_t end = at + static_cast<std::size_t>(cell.width);
    if (places_.size() < end) places_.resize(end, {" ", Ink::plain});
    if (cell.width == 0) {
      if (at > 0 && at <= places_.size()) places_[at - 1].text += cell.text;
      continue;
    }
    places_[at] = {cell.text, ink};
    for (std::size_t i = at + 1; i < end; ++i) places_[i] = {"", ink};
    at = end;
  }
}

std::string Row::text(const Painter& painter) const {
  std::string out;
  for (std::size_t i = 0; i < places_.size();) {
    std::string run;
    const Ink ink = places_[i].ink;
    for (; i < places_.size() && places_[i].ink == ink; ++i) run += places_[i].text;
    out += painter.paint(ink, run);
  }
  return out;
}

}  // namespace pk
