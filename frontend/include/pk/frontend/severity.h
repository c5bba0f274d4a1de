#pragma once
// The words for severities, in output for people and for tools.

#include <string_view>

#include "pk/frontend/diagnostics.h"

namespace pk {

inline std::string_view severity_word(Severity s) {
  switch (s) {
    case Severity::error:
      return "error";
    case Severity::warning:
      return "warning";
    case Severity::remark:
      return "remark";
  }
  return "?";
}

}  // namespace pk
