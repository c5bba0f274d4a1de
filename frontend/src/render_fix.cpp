#include "render_fix.h"

#include <fmt/format.h>

#include <algorithm>

#include "render_excerpt.h"

namespace pk {
namespace {

constexpr int max_fix_lines = 12;

/// Neighbouring edits and the whole lines that they touch.
struct Hunk {
  FileId file;
  unsigned first_line;
  unsigned last_line;
  std::vector<const Edit*> edits;  // in order of place
};

std::vector<Hunk> find_hunks(const Fix& fix, const Sources& sources) {
  std::vector<const Edit*> edits;
  for (const Edit& edit : fix.edits) edits.push_back(&edit);
  std::stable_sort(edits.begin(), edits.end(), [](const Edit* a, const Edit* b) { return a->span < b->span; });
  std::vector<Hunk> hunks;
  for (const Edit* edit : edits) {
    const unsigned first = sources.position(edit->span.file, edit->span.begin).line;
    const unsigned last = sources.position(edit->span.file, edit->span.end).line;
    if (hunks.empty() || hunks.back().file != edit->span.file || hunks.back().last_line < first) {
      hunks.push_back({edit->span.file, first, last, {}});
    }
    hunks.back().last_line = std::max(hunks.back().last_line, last);
    hunks.back().edits.push_back(edit);
  }
  return hunks;
}

std::string edited_text(const Hunk& hunk, const Sources& sources) {
  const std::string_view whole = sources.text(hunk.file);
  const std::string_view last = sources.line(hunk.file, hunk.last_line);
  std::size_t at = static_cast<std::size_t>(sources.line(hunk.file, hunk.first_line).data() - whole.data());
  std::string out;
  for (const Edit* edit : hunk.edits) {
    if (edit->span.begin < at) continue;  // overlaps the edit before
    out += whole.substr(at, edit->span.begin - at);
    out += edit->text;
    at = edit->span.end;
  }
  const auto end = static_cast<std::size_t>(last.data() + last.size() - whole.data());
  return end > at ? out + std::string(whole.substr(at, end - at)) : out;
}

std::string shortened(std::string_view line) {
  const std::vector<Cell> cells = cells_of(line);
  std::string out;
  int width = 0;
  for (const Cell& cell : cells) {
    width += cell.width;
    if (width > max_line_width) return out + "…";
    out += cell.text;
  }
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

}  // namespace

std::string draw_fix(const Fix& fix, int gutter, const Sources& sources, const Painter& painter) {
  std::string out;
  int shown = 0;
  for (const Hunk& hunk : find_hunks(fix, sources)) {
    const std::string text = edited_text(hunk, sources);
    unsigned number = hunk.first_line;
    for (std::size_t begin = 0; begin <= text.size(); ++number) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      if (shown++ == max_fix_lines) return out + painter.paint(Ink::frame, "...") + '\n';
      out += fmt::format("{} {}\n", painter.paint(Ink::frame, fmt::format("{:>{}} +", number, gutter)),
                         painter.paint(Ink::added, shortened(std::string_view(text).substr(begin, end - begin))));
      begin = end + 1;
    }
  }
  return out;
}

unsigned last_line_of(const Fix& fix, const Sources& sources) {
  unsigned last = 1;
  for (const Edit& edit : fix.edits) {
    const auto added = static_cast<unsigned>(std::count(edit.text.begin(), edit.text.end(), '\n'));
    last = std::max(last, sources.position(edit.span.file, edit.span.end).line + added);
  }
  return last;
}

}  // namespace pk
