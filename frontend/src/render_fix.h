#pragma once
// A fix as the lines that it would leave behind. Used by render_text.cpp.

#include <string>

#include "render_row.h"

namespace pk {

/// The changed lines, each behind its new number and a `+`; a long replacement is cut.
[[nodiscard]] std::string draw_fix(const Fix& fix, int gutter, const Sources& sources, const Painter& painter);

/// The last line that draw_fix may number.
[[nodiscard]] unsigned last_line_of(const Fix& fix, const Sources& sources);

}  // namespace pk
