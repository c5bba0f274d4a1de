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
  FixedText out{std::string(sources.text(file)), 0};
  for (const Diagnostic& d : diagnostics) {
    if (d.fixes.empty() || !fits(d.fixes.front(), file, edits)) continue;
    edits.insert(edits.end(), d.fixes.front().edits.begin(), d.fixes.front().edits.end());
    ++out.applied;
  }
  std::sort(edits.begin(), edits.end(), [](const Edit& a, const Edit& b) { return a.span.begin > b.span.begin; });
  for (const Edit& edit : edits) out.text.replace(edit.span.begin, edit.span.end - edit.span.begin, edit.text);
  return out;
}

}  // namespace pk
