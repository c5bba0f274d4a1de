#include "render_excerpt.h"

#include <fmt/format.h>

#include <algorithm>

namespace pk {
namespace {

/// A mark in display columns.
struct Placed {
  int begin;
  int end;
  const Mark* mark;
  [[nodiscard]] Ink ink() const { return mark->primary ? Ink::primary : Ink::secondary; }
};

/// The part of a line that is shown: cells [from, to).
struct Window {
  int from;
  int to;
};

Window choose_window(const std::vector<Cell>& cells, const std::vector<Mark>& marks) {
  const int count = static_cast<int>(cells.size());
  if (width_of(cells) <= max_line_width) return {0, count};
  int anchor = marks.empty() ? 0 : marks.front().begin;
  for (const Mark& m : marks) {
    if (m.primary) anchor = m.begin;
  }
  int from = std::clamp(anchor - max_line_width / 3, 0, std::max(0, count - 1));
  if (count - from < max_line_width / 2) from = std::max(0, count - max_line_width / 2);
  int to = from;
  for (int width = 0; to < count && width + cells[static_cast<std::size_t>(to)].width <= max_line_width; ++to) {
    width += cells[static_cast<std::size_t>(to)].width;
  }
  return {from, to};
}

/// Draws one source line and what hangs under it.
class LineDrawing {
 public:
  LineDrawing(std::string_view line, const std::vector<Mark>& marks, int gutter, const Painter& painter)
      : cells_(cells_of(line)),
        marks_(marks),
        window_(choose_window(cells_, marks)),
        gutter_(gutter),
        painter_(painter) {}

  std::string run(unsigned number) {
    source_line(number);
    if (marks_.empty()) return std::move(out_);
    place_marks();
    underline();
    return std::move(out_);
  }

 private:
  void source_line(unsigned number) {
    std::string text;
    for (int i = window_.from; i < window_.to; ++i) text += cells_[static_cast<std::size_t>(i)].text;
    if (window_.from > 0) text = "…" + text;
    if (window_.to < static_cast<int>(cells_.size())) text += "…";
    while (text.ends_with(' ')) text.pop_back();
    const std::string head = painter_.paint(Ink::frame, fmt::format("{:>{}} |", number, gutter_));
    out_ += text.empty() ? head + '\n' : fmt::format("{} {}\n", head, text);
  }

  /// Display column of the cell with this index, which is clamped to what is shown.
  [[nodiscard]] int column_of(int cell) const {
    int column = window_.from > 0 ? 1 : 0;  // the "…"
    for (int i = window_.from; i < std::min(cell, window_.to); ++i) column += cells_[static_cast<std::size_t>(i)].width;
    return column + (cell > window_.to ? 1 : 0);
  }

  void place_marks() {
    for (const Mark& m : marks_) {
      // A mark behind the end of the line (a missing `;`) or of an empty span has one caret.
      const int begin = column_of(m.begin) + std::max(0, m.begin - static_cast<int>(cells_.size()));
      placed_.push_back({begin, std::max(column_of(m.end), begin + 1), &m});
    }
    std::stable_sort(placed_.begin(), placed_.end(),
                     [](const Placed& a, const Placed& b) { return a.begin < b.begin; });
  }

  void emit(const Row& row) {
    const std::string margin(static_cast<std::size_t>(gutter_), ' ');
    out_ += fmt::format("{} {} {}\n", margin, painter_.paint(Ink::frame, "|"), row.text(painter_));
  }

  /// The row of signs with the text of the mark that ends it; the other texts hang below, the last one first.
  void underline() {
    Row signs;
    int width = 0;
    for (const bool primary : {false, true}) {  // primary signs cover secondary ones
      for (const Placed& p : placed_) {
        width = std::max(width, p.end);
        if (p.mark->primary == primary)
          signs.put(p.begin, std::string(static_cast<std::size_t>(p.end - p.begin), primary ? '^' : '-'), p.ink());
      }
    }
    std::vector<const Placed*> hanging;
    const Placed* beside = nullptr;
    for (auto p = placed_.rbegin(); p != placed_.rend(); ++p) {
      if (p->mark->text.empty()) continue;
      if (beside == nullptr && p->end == width) {
        beside = &*p;
      } else {
        hanging.push_back(&*p);
      }
    }
    if (beside != nullptr) signs.put(width + 1, beside->mark->text, beside->ink());
    emit(signs);
    if (!hanging.empty()) emit(bars(hanging, 0));
    for (std::size_t i = 0; i < hanging.size(); ++i) {
      Row row = bars(hanging, i + 1);
      row.put(hanging[i]->begin, hanging[i]->mark->text, hanging[i]->ink());
      emit(row);
    }
  }

  /// The bars that lead down to the texts from `first` on.
  static Row bars(const std::vector<const Placed*>& hanging, std::size_t first) {
    Row row;
    for (std::size_t i = first; i < hanging.size(); ++i) row.put(hanging[i]->begin, "|", hanging[i]->ink());
    return row;
  }

  std::vector<Cell> cells_;
  const std::vector<Mark>& marks_;
  Window window_;
  int gutter_;
  const Painter& painter_;
  std::vector<Placed> placed_;
  std::string out_;
};

}  // namespace

void add_marks(MarkedLines& lines, Span span, bool primary, const std::string& text, const Sources& sources) {
  const LineColumn first = sources.position(span.file, span.begin);
  const LineColumn last = sources.position(span.file, span.end > span.begin ? span.end - 1 : span.begin);
  const int begin = static_cast<int>(first.column) - 1;
  if (first.line == last.line) {
    lines[first.line].push_back({begin, std::max(static_cast<int>(last.column), begin + 1), primary, text});
    return;
  }
  const int first_width = static_cast<int>(cells_of(sources.line(span.file, first.line)).size());
  lines[first.line].push_back({begin, std::max(first_width, begin + 1), primary, text});
  if (!primary) return;
  const std::string_view last_line = sources.line(span.file, last.line);
  const auto indent = static_cast<int>(std::min(last_line.find_first_not_of(" \t"), last_line.size()));
  const int end = static_cast<int>(last.column);
  lines[last.line].push_back({std::min(indent, end - 1), end, primary, {}});
}

std::string draw_lines(const MarkedLines& lines, FileId file, int gutter, const Sources& sources,
                       const Painter& painter) {
  std::string out;
  unsigned previous = 0;
  for (const auto& [number, marks] : lines) {
    if (previous != 0 && number == previous + 2) {
      out += LineDrawing(sources.line(file, previous + 1), {}, gutter, painter).run(previous + 1);
    } else if (previous != 0 && number > previous + 2) {
      out += painter.paint(Ink::frame, "...") + '\n';
    }
    out += LineDrawing(sources.line(file, number), marks, gutter, painter).run(number);
    previous = number;
  }
  return out;
}

}  // namespace pk
