#pragma once
// Source text and positions in it. Everything that points at the user's program does so with a Span.

#include <compare>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace pk {

/// An index that cannot be mistaken for another kind of index. `Id{}` is "none".
template <class Tag>
struct Id {
  std::uint32_t raw = ~0U;
  [[nodiscard]] constexpr bool valid() const { return raw != ~0U; }
  friend constexpr auto operator<=>(Id, Id) = default;
};

using FileId = Id<struct FileTag>;

/// Half-open range of byte offsets in one file.
struct Span {
  FileId file;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  [[nodiscard]] constexpr bool valid() const { return file.valid(); }
  friend constexpr auto operator<=>(const Span&, const Span&) = default;
};

/// The smallest span that covers both (of the same file).
[[nodiscard]] constexpr Span cover(Span a, Span b) {
  if (!a.valid()) return b;
  if (!b.valid()) return a;
  return {a.file, a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end};
}

/// One-based line and one-based column, the column counted in Unicode code points.
struct LineColumn {
  unsigned line = 0;
  unsigned column = 0;
  friend constexpr auto operator<=>(const LineColumn&, const LineColumn&) = default;
};

/// The texts of a compilation. Texts and paths never move once added, so string_views into them stay valid.
class Sources {
 public:
  FileId add(std::string path, std::string text);
  [[nodiscard]] std::string_view path(FileId file) const;
  [[nodiscard]] std::string_view text(FileId file) const;
  [[nodiscard]] std::string_view text(Span span) const;
  [[nodiscard]] LineColumn position(FileId file, std::uint32_t offset) const;
  /// The text of one-based line `line`, without its line ending.
  [[nodiscard]] std::string_view line(FileId file, unsigned line) const;
  [[nodiscard]] std::size_t size() const { return files_.size(); }

 private:
  struct File {
    std::string path;
    std::string text;
    std::vector<std::uint32_t> line_starts;
  };
  std::deque<File> files_;
};

}  // namespace pk
