#include "pk/frontend/fixes.h"

#include <algorithm>

namespace pk {
namespace {

bool overlap(const Edit& a, const Edit& b) {
  if (a.span.begin == a.span.end && b.span.begin == b.span.end) return a.span.begin == b.span.begin;
  return a.span.begin < b.span.end && b.span.begin < a.span.end;
}

bool fits(const Fix& fix, FileId file, const std::vector<Edit>& taken) {
  return std::all_of(fix.edits.begin(), fix.edits.end(), [&](const Edit& edit) {
    return edit.span.file == file &&
           std::none_of(taken.begin(), taken.end(), [&](const Edit& other) { return overlap(edit, other); });
  });
}

}  // namespace

FixedText apply_fixes(const Sources& sources, FileId file, const std::vector<Diagnostic>& diagnostics) {
  std::vector<Edit> edits;
  FixedText out;
  for (const Diagnostic& d : diagnostics) {
    if (d.fixes.empty() || !fits(d.fixes.front(), file, edits)) continue;
    edits.insert(edits.end(), d.fixes.front().edits.begin(), d.fixes.front().edits.end());
    ++out.applied;
  }
  // Stable: several insertions of one fix at one place keep their order.
  std::stable_sort(edits.begin(), edits.end(), [](const Edit& a, const Edit& b) { return a.span < b.span; });
  const std::string_view text = sources.text(file);
  std::uint32_t at = 0;
  for (const Edit& edit : edits) {
    PK_CHECK(edit.span.begin >= at, "the edits of one fix overlap");
    out.text += text.substr(at, edit.span.begin - at);
    out.text += edit.text;
    at = edit.span.end;
  }
  out.text += text.substr(at);
  return out;
}

}  // namespace pk
