#include "pk/frontend/source.h"

#include <algorithm>

namespace pk {

FileId Sources::add(std::string path, std::string text) {
  File file{std::move(path), std::move(text), {0}};
  for (std::size_t i = 0; i < file.text.size(); ++i) {
    if (file.text[i] == '\n') file.line_starts.push_back(static_cast<std::uint32_t>(i + 1));
  }
  files_.push_back(std::move(file));
  return {static_cast<std::uint32_t>(files_.size() - 1)};
}

std::string_view Sources::path(FileId file) const { return files_[file.raw].path; }

std::string_view Sources::text(FileId file) const { return files_[file.raw].text; }

std::string_view Sources::text(Span span) const { return text(span.file).substr(span.begin, span.end - span.begin); }

LineColumn Sources::position(FileId file, std::uint32_t offset) const {
  const File& f = files_[file.raw];
  const auto after = std::upper_bound(f.line_starts.begin(), f.line_starts.end(), offset);
  const auto line = static_cast<unsigned>(after - f.line_starts.begin());
  const std::uint32_t start = f.line_starts[line - 1];
  const std::size_t end = std::min<std::size_t>(offset, f.text.size());
  unsigned column = 1;
  for (std::size_t i = start; i < end; ++i) {
    // Bytes 10xxxxxx continue a UTF-8 sequence.
    if ((static_cast<unsigned char>(f.text[i]) & 0xC0U) != 0x80U) ++column;
  }
  return {line, column};
}

std::string_view Sources::line(FileId file, unsigned line) const {
  const File& f = files_[file.raw];
  if (line == 0 || line > f.line_starts.size()) return {};
  const std::size_t start = f.line_starts[line - 1];
  const std::size_t end = line < f.line_starts.size() ? f.line_starts[line] - 1 : f.text.size();
  std::string_view text = std::string_view(f.text).substr(start, end - start);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

}  // namespace pk
