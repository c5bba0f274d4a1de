#pragma once
// A source text with marked places, for tests of what points at source: `⟦` and `⟧` enclose the spans that a test takes
// by number and do not belong to the text.

#include <string>
#include <string_view>
#include <vector>

#include "pk/frontend/diagnostics.h"

namespace pk::test {

struct Sample {
  Sources sources;
  FileId file;
  std::vector<Span> spans;  ///< in order of their opening marks

  explicit Sample(std::string_view marked, std::string path = "a.pk") { add(marked, std::move(path)); }

  /// A further file; its spans follow those that are there.
  FileId add(std::string_view marked, std::string path) {
    constexpr std::string_view open = "⟦";
    constexpr std::string_view close = "⟧";
    const FileId id{static_cast<std::uint32_t>(sources.size())};
    std::string text;
    std::vector<std::size_t> pending;
    while (!marked.empty()) {
      const auto here = static_cast<std::uint32_t>(text.size());
      if (marked.starts_with(open)) {
        pending.push_back(spans.size());
        spans.push_back({id, here, here});
        marked.remove_prefix(open.size());
      } else if (marked.starts_with(close)) {
        spans[pending.back()].end = here;
        pending.pop_back();
        marked.remove_prefix(close.size());
      } else {
        text += marked.front();
        marked.remove_prefix(1);
      }
    }
    file = sources.add(std::move(path), std::move(text));
    return file;
  }
};

/// An error PK0307 with this message.
inline Diagnostic error_at(Span span, std::string message = "this is wrong") {
  Diagnostic d;
  d.code = 307;
  d.message = std::move(message);
  d.span = span;
  return d;
}

}  // namespace pk::test
