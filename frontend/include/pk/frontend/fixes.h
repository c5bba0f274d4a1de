#pragma once
// Applies the fixes of diagnostics to a text (`pkc check --fix`).

#include <string>
#include <vector>

#include "pk/frontend/diagnostics.h"

namespace pk {

struct FixedText {
  std::string text;
  int applied = 0;  ///< fixes whose edits are in `text`
};

/// The text of `file` with the first fix of each diagnostic, in order; a fix that overlaps an earlier one is left for
/// the next round. Fixes that touch other files are left out.
[[nodiscard]] FixedText apply_fixes(const Sources& sources, FileId file, const std::vector<Diagnostic>& diagnostics);

}  // namespace pk
