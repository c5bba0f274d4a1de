#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "pk/frontend/render.h"

namespace pk {
namespace {

constexpr int max_width = 160;  // longer source lines are cut around what is marked

std::string_view severity_word(Severity s) {
  switch (s) {
    case Severity::error: return "error";
    case Severity::warning: return "warning";
    case Severity::remark: return "remark";
  }
  return "?";
}

/// A mark under one source line: columns count code points from 0.
struct Mark {
  int begin;
  int end;
  char sign;  // '^' primary, '-' secondary
  std::string text;
};

struct MarkedLine {
  std::string text;  // tabs are replaced, one column each
  std::vector<Mark> marks;
};

/// Splits into code points; a tab becomes a space so that columns line up.
std::vector<std::string> columns_of(std::string_view line) {
  std::vector<std::string> out;
  for (const char c : line) {
    if ((static_cast<unsigned char>(c) & 0xC0U) == 0x80U && !out.empty()) {
      out.back() += c;
    } else {
      out.emplace_back(1, c == '\t' ? ' ' : c);
    }
  }
  return out;
}

class Painter {
 public:
  explicit Painter(Style style) : color_(style.color) {}
  [[nodiscard]] std::string paint(std::string_view code, std::string_view text) const {
    return color_ && !text.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }
  [[nodiscard]] std::string bold(std::string_view text) const { return paint("1", text); }
  [[nodiscard]] std::string frame(std::string_view text) const { return paint("1;34", text); }
  [[nodiscard]] std::string severity(Severity s, std::string_view text) const {
    return paint(s == Severity::error ? "1;31" : s == Severity::warning ? "1;33" : "1;36", text);
  }

 private:
  bool color_;
};

class TextRenderer {
 public:
  TextRenderer(const Diagnostic& d, const Sources& sources, Style style) : d_(d), sources_(sources), paint_(style) {}

  std::string run() {
    out_ = fmt::format("{}: {}\n", paint_.severity(d_.severity, fmt::format("{}[{}]", severity_word(d_.severity), code_name(d_.code))),
                       paint_.bold(d_.message));
    collect();
    for (const FileId file : files_) excerpt(file);
    const std::string margin(static_cast<std::size_t>(gutter_), ' ');
    if (!files_.empty() && (!d_.notes.empty() || !d_.help.empty() || !d_.fixes.empty())) out_ += fmt::format("{} {}\n", margin, paint_.frame("|"));
    for (const std::string& note : d_.notes) remark("note", note);
    for (const std::string& help : d_.help) remark("help", help);
    for (const Fix& fix : d_.fixes) show_fix(fix);
    return std::move(out_);
  }

 private:
  void add_mark(Span span, char sign, const std::string& text) {
    if (!span.valid()) return;
    if (std::find(files_.begin(), files_.end(), span.file) == files_.end()) files_.push_back(span.file);
    const LineColumn first = sources_.position(span.file, span.begin);
    const std::uint32_t last_byte = span.end > span.begin ? span.end - 1 : span.begin;
    const LineColumn last = sources_.position(span.file, last_byte);
    auto& lines = lines_[span.file];
    const auto line_marks = [&](unsigned line) -> MarkedLine& { return lines[line]; };
    if (first.line == last.line) {
      const int begin = static_cast<int>(first.column) - 1;
      line_marks(first.line).marks.push_back({begin, std::max(static_cast<int>(last.column), begin + 1), sign, text});
    } else {
      // A span of several lines is marked where it starts, to the end of that line.
      const int begin = static_cast<int>(first.column) - 1;
      const int width = static_cast<int>(columns_of(sources_.line(span.file, first.line)).size());
      line_marks(first.line).marks.push_back({begin, std::max(width, begin + 1), sign, text});
    }
    gutter_ = std::max(gutter_, static_cast<int>(std::to_string(last.line).size()));
  }

  void collect() {
    add_mark(d_.span, '^', d_.span_label);
    for (const Label& label : d_.labels) add_mark(label.span, '-', label.message);
  }

  void excerpt(FileId file) {
    const std::string margin(static_cast<std::size_t>(gutter_), ' ');
    const bool primary = d_.span.valid() && d_.span.file == file;
    const unsigned first_line = lines_[file].begin()->first;
    const LineColumn at = primary ? sources_.position(file, d_.span.begin) : LineColumn{first_line, 1};
    out_ += fmt::format("{}{} {}:{}:{}\n", margin, paint_.frame(primary ? "-->" : ":::"), sources_.path(file), at.line, at.column);
    out_ += fmt::format("{} {}\n", margin, paint_.frame("|"));
    unsigned previous = 0;
    for (auto& [number, line] : lines_[file]) {
      if (previous != 0 && number > previous + 1) {
        if (number == previous + 2) {
          source_line(file, previous + 1, {});
        } else {
          out_ += fmt::format("{}\n", paint_.frame("..."));
        }
      }
      source_line(file, number, line.marks);
      previous = number;
    }
  }

  void source_line(FileId file, unsigned number, std::vector<Mark> marks) {
    std::vector<std::string> columns = columns_of(sources_.line(file, number));
    cut(columns, marks);
    std::string text;
    for (const std::string& c : columns) text += c;
    while (text.ends_with(' ')) text.pop_back();
    out_ += fmt::format("{} {}\n", paint_.frame(fmt::format("{:>{}} |", number, gutter_)), text);
    if (marks.empty()) return;
    underline(std::move(marks));
  }

  /// Keeps a window of a very long line that shows the first mark.
  static void cut(std::vector<std::string>& columns, std::vector<Mark>& marks) {
    if (static_cast<int>(columns.size()) <= max_width) return;
    int anchor = marks.empty() ? 0 : marks.front().begin;
    for (const Mark& m : marks) {
      if (m.sign == '^') anchor = m.begin;
    }
    const int from = std::max(0, anchor - max_width / 3);
    const int to = std::min(static_cast<int>(columns.size()), from + max_width);
    std::vector<std::string> kept(columns.begin() + from, columns.begin() + to);
    if (from > 0) kept.front() = "…";
    if (to < static_cast<int>(columns.size())) kept.back() = "…";
    columns = std::move(kept);
    for (Mark& m : marks) {
      m.begin = std::clamp(m.begin - from, 0, max_width - 1);
      m.end = std::clamp(m.end - from, m.begin + 1, max_width);
    }
  }

  /// The row of signs, with the last mark's text behind it; the other texts hang below, last first.
  void underline(std::vector<Mark> marks) {
    std::stable_sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) { return a.begin < b.begin; });
    int width = 0;
    for (const Mark& m : marks) width = std::max(width, m.end);
    std::string row(static_cast<std::size_t>(width), ' ');
    for (const char sign : {'-', '^'}) {  // primary marks win where marks overlap
      for (const Mark& m : marks) {
        if (m.sign == sign) std::fill(row.begin() + m.begin, row.begin() + m.end, sign);
      }
    }
    std::vector<const Mark*> hanging;
    const Mark* inlined = nullptr;
    for (auto m = marks.rbegin(); m != marks.rend(); ++m) {
      if (m->text.empty()) continue;
      if (inlined == nullptr && m->end == width) {
        inlined = &*m;
      } else {
        hanging.push_back(&*m);
      }
    }
    row_out(inlined == nullptr ? row : row + ' ' + inlined->text);
    for (std::size_t i = 0; i < hanging.size(); ++i) {
      std::string bars(static_cast<std::size_t>(hanging[i]->begin), ' ');
      for (std::size_t k = i + 1; k < hanging.size(); ++k) bars[static_cast<std::size_t>(hanging[k]->begin)] = '|';
      if (i == 0) {
        std::string first = bars + '|';
        row_out(first);
      }
      row_out(bars + hanging[i]->text);
    }
  }

  void row_out(std::string_view text) {
    const std::string margin(static_cast<std::size_t>(gutter_), ' ');
    out_ += fmt::format("{} {} {}\n", margin, paint_.frame("|"), paint_.severity(d_.severity, text));
  }

  void remark(std::string_view word, std::string_view text) {
    const std::string margin(static_cast<std::size_t>(files_.empty() ? 0 : gutter_ + 1), ' ');
    out_ += fmt::format("{}= {}: {}\n", margin, paint_.bold(word), text);
  }

  /// The fix as the lines it makes.
  void show_fix(const Fix& fix) {
    remark("fix", fix.message);
    std::vector<Edit> edits = fix.edits;
    std::sort(edits.begin(), edits.end(), [](const Edit& a, const Edit& b) { return a.span.begin < b.span.begin; });
    std::map<unsigned, std::string> shown;
    for (std::size_t i = 0; i < edits.size(); ++i) {
      const LineColumn first = sources_.position(edits[i].span.file, edits[i].span.begin);
      const LineColumn last = sources_.position(edits[i].span.file, edits[i].span.end);
      if (first.line != last.line || shown.contains(first.line)) continue;
      const std::string_view line = sources_.line(edits[i].span.file, first.line);
      const auto line_begin = static_cast<std::uint32_t>(line.data() - sources_.text(edits[i].span.file).data());
      std::string text(line);
      for (std::size_t k = edits.size(); k-- > i;) {
        if (sources_.position(edits[k].span.file, edits[k].span.end).line != first.line) continue;
        text.replace(edits[k].span.begin - line_begin, edits[k].span.end - edits[k].span.begin, edits[k].text);
      }
      if (static_cast<int>(text.size()) <= max_width) shown[first.line] = text;
    }
    for (const auto& [number, text] : shown) {
      out_ += fmt::format("{} {}\n", paint_.frame(fmt::format("{:>{}} +", number, gutter_)), paint_.paint("32", text));
    }
  }

  const Diagnostic& d_;
  const Sources& sources_;
  Painter paint_;
  std::string out_;
  std::vector<FileId> files_;
  std::map<FileId, std::map<unsigned, MarkedLine>> lines_;
  int gutter_ = 1;
};

}  // namespace

std::string render(const Diagnostic& diagnostic, const Sources& sources, Style style) {
  return TextRenderer(diagnostic, sources, style).run();
}

std::string summary(const std::vector<Diagnostic>& diagnostics) {
  int counts[3] = {};
  for (const Diagnostic& d : diagnostics) ++counts[static_cast<int>(d.severity)];
  std::string out;
  for (const Severity s : {Severity::error, Severity::warning, Severity::remark}) {
    const int n = counts[static_cast<int>(s)];
    if (n > 0) out += fmt::format("{}{} {}{}", out.empty() ? "" : ", ", n, severity_word(s), n == 1 ? "" : "s");
  }
  return out.empty() ? out : out + "\n";
}

}  // namespace pk
