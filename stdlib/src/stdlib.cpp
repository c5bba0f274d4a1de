#include "pk/stdlib/stdlib.h"

namespace pk {

std::string_view stdlib_module(std::string_view name) {
  constexpr std::string_view prefix = "std.";
  if (!name.starts_with(prefix)) return {};
  for (const EmbeddedText& module : stdlib_texts()) {
    if (module.name == name.substr(prefix.size())) return module.text;
  }
  return {};
}

}  // namespace pk
