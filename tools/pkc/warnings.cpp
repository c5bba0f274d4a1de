#include "warnings.h"

#include <fmt/format.h>

#include <cstdio>

#include "commands.h"

namespace pk::tools {

bool WarningFlags::add(const std::string& flag) {
  const std::string_view text = flag;
  if (text == "error" || text == "none") {
    rules_.push_back({text == "error" ? Action::raise : Action::drop, 0});
    return true;
  }
  const bool raise = text.starts_with("error=");
  if (raise || text.starts_with("no-")) {
    const auto code = parse_code(text.substr(text.find_first_of("=-") + 1));
    if (code && find_diagnostic(*code) != nullptr) {
      rules_.push_back({raise ? Action::raise : Action::drop, *code});
      return true;
    }
  }
  fmt::print(stderr, "pkc: unknown flag `-W{}`; there are -Werror, -Werror=PKnnnn, -Wno-PKnnnn and -Wnone\n", flag);
  return false;
}

std::vector<Diagnostic> WarningFlags::apply(std::vector<Diagnostic> diagnostics) const {
  std::vector<Diagnostic> kept;
  for (Diagnostic& d : diagnostics) {
    bool dropped = false;
    Severity severity = d.severity;
    for (const Rule& rule : rules_) {
      if (d.severity == Severity::error || (rule.code != 0 && rule.code != d.code)) continue;
      dropped = rule.action == Action::drop;
      severity = rule.action == Action::raise && d.severity == Severity::warning ? Severity::error : d.severity;
    }
    d.severity = severity;
    if (!dropped) kept.push_back(std::move(d));
  }
  return kept;
}

}  // namespace pk::tools
