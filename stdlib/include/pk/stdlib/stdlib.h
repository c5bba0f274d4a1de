#pragma once
// The library that is written in pk itself, embedded into the binary. `import std.math;` finds its text here.

#include <span>
#include <string_view>

#include "pk/frontend/embedded_text.h"

namespace pk {

/// The modules by name without `std.`: "math", "reduce", "schedule".
[[nodiscard]] std::span<const EmbeddedText> stdlib_texts();

/// The text of `std.math` and so on; empty when there is no such module.
[[nodiscard]] std::string_view stdlib_module(std::string_view name);

}  // namespace pk
