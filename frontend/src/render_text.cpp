#include <fmt/format.h>

#include <algorithm>

#include "pk/frontend/render.h"
#include "pk/frontend/severity.h"
#include "render_excerpt.h"
#include "render_fix.h"

namespace pk {
namespace {

class TextRenderer {
 public:
  TextRenderer(const Diagnostic& d, const Sources& sources, Style style)
      : d_(d), sources_(sources), painter_(style, d.severity) {}

  std::string run() {
    const std::string head = fmt::format("{}[{}]", severity_word(d_.severity), code_name(d_.code));
    out_ = fmt::format("{}{}\n", painter_.paint(Ink::primary, head),
                       painter_.paint(Ink::strong, ": " + printable(d_.message)));
    collect();
    for (const FileLines& f : files_) excerpt(f);
    if (!files_.empty() && (!d_.notes.empty() || !d_.help.empty() || !d_.fixes.empty())) {
      out_ += fmt::format("{} {}\n", margin(), painter_.paint(Ink::frame, "|"));
    }
    for (const std::string& note : d_.notes) remark("note", note);
    for (const std::string& help : d_.help) remark("help", help);
    for (const Fix& fix : d_.fixes) {
      remark("fix", fix.message);
      out_ += draw_fix(fix, gutter_, sources_, painter_);
    }
    return std::move(out_);
  }

 private:
  struct FileLines {
    FileId file;
    MarkedLines lines;
  };

  void collect() {
    mark(d_.span, true, d_.span_label);
    for (const Label& label : d_.labels) mark(label.span, false, label.message);
    for (const FileLines& f : files_) gutter_ = std::max(gutter_, digits(f.lines.rbegin()->first));
    for (const Fix& fix : d_.fixes) gutter_ = std::max(gutter_, digits(last_line_of(fix, sources_)));
  }

  static int digits(unsigned line) { return static_cast<int>(std::to_string(line).size()); }

  void mark(Span span, bool primary, const std::string& text) {
    if (!span.valid()) return;
    auto at = std::find_if(files_.begin(), files_.end(), [&](const FileLines& f) { return f.file == span.file; });
    if (at == files_.end()) at = files_.insert(files_.end(), {span.file, {}});
    add_marks(at->lines, span, primary, text, sources_);
  }

  void excerpt(const FileLines& f) {
    const bool primary = d_.span.valid() && d_.span.file == f.file;
    const auto& [first_line, first_marks] = *f.lines.begin();
    const LineColumn at = primary ? sources_.position(f.file, d_.span.begin)
                                  : LineColumn{first_line, static_cast<unsigned>(first_marks.front().begin) + 1};
    out_ += fmt::format("{}{} {}:{}:{}\n", margin(), painter_.paint(Ink::frame, primary ? "-->" : ":::"),
                        sources_.path(f.file), at.line, at.column);
    out_ += fmt::format("{} {}\n", margin(), painter_.paint(Ink::frame, "|"));
    out_ += draw_lines(f.lines, f.file, gutter_, sources_, painter_);
  }

  /// A note: further lines of the text stand under its first one.
  void remark(std::string_view word, std::string_view text) {
    const std::string indent = files_.empty() ? "" : margin() + " ";
    std::string body = printable(text.substr(0, text.find('\n')));
    while (text.find('\n') != std::string_view::npos) {
      text.remove_prefix(text.find('\n') + 1);
      body += fmt::format("\n{}{}{}", indent, std::string(word.size() + 4, ' '),
                          printable(text.substr(0, text.find('\n'))));
    }
    out_ += fmt::format("{}{} {} {}\n", indent, painter_.paint(Ink::frame, "="),
                        painter_.paint(Ink::strong, fmt::format("{}:", word)), body);
  }

  [[nodiscard]] std::string margin() const { return std::string(static_cast<std::size_t>(gutter_), ' '); }

  const Diagnostic& d_;
  const Sources& sources_;
  Painter painter_;
  std::vector<FileLines> files_;  // the primary span's file first
  int gutter_ = 1;
  std::string out_;
};

}  // namespace

std::string render(const Diagnostic& diagnostic, const Sources& sources, Style style) {
  return TextRenderer(diagnostic, sources, style).run();
}

std::string summary(const std::vector<Diagnostic>& diagnostics) {
  std::string out;
  for (const Severity s : {Severity::error, Severity::warning, Severity::remark}) {
    const auto n =
        std::count_if(diagnostics.begin(), diagnostics.end(), [s](const Diagnostic& d) { return d.severity == s; });
    if (n > 0) out += fmt::format("{}{} {}{}", out.empty() ? "" : ", ", n, severity_word(s), n == 1 ? "" : "s");
  }
  return out.empty() ? out : out + "\n";
}

}  // namespace pk
