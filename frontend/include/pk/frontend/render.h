#pragma once
// Diagnostics as text for people, as JSON lines and as SARIF for tools. Pure functions.

#include <string>
#include <vector>

#include "pk/frontend/diagnostics.h"

namespace pk {

struct Style {
  bool color = false;
};

/// One diagnostic with its source lines, in the manner of:
///
///     error[PK0307]: collective scope is reached by only some threads of `w`
///       --> softmax.pk:12:9
///        |
///     12 |         scoped collective(w) (tile: smem f16[128]) {
///        |         ^^^^^^^^^^^^^^^^^^^^
[[nodiscard]] std::string render(const Diagnostic& diagnostic, const Sources& sources, Style style);

/// "2 errors, 1 warning" with a line end; empty when there is nothing.
[[nodiscard]] std::string summary(const std::vector<Diagnostic>& diagnostics);

/// One JSON object without a line end (language reference, "JSON output").
[[nodiscard]] std::string render_json(const Diagnostic& diagnostic, const Sources& sources);

/// A SARIF 2.1.0 log with one run.
[[nodiscard]] std::string render_sarif(const std::vector<Diagnostic>& diagnostics, const Sources& sources);

}  // namespace pk
