#pragma once
// The -W flags of `pkc check`: what becomes of warnings.

#include <string>
#include <vector>

#include "pk/frontend/diagnostics.h"

namespace pk::tools {

/// `-Werror` and `-Werror=PKnnnn` make warnings errors, `-Wno-PKnnnn` drops a code's warnings and remarks, `-Wnone`
/// drops all. Errors stay. Later flags win over earlier ones.
class WarningFlags {
 public:
  /// Takes the text behind `-W`; false, with a message on stderr, when it means nothing.
  [[nodiscard]] bool add(const std::string& flag);
  /// The diagnostics as the flags want them.
  [[nodiscard]] std::vector<Diagnostic> apply(std::vector<Diagnostic> diagnostics) const;

 private:
  enum class Action : std::uint8_t { raise, drop };
  struct Rule {
    Action action;
    int code;  // 0: every code
  };
  std::vector<Rule> rules_;
};

}  // namespace pk::tools
