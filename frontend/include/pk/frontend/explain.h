#pragma once
// The explain pages of frontend/explain/, embedded: one a diagnostic code.

#include <span>
#include <string_view>

#include "pk/frontend/embedded_text.h"

namespace pk {

/// All pages by code name ("PK0301").
[[nodiscard]] std::span<const EmbeddedText> explain_texts();
/// The page of a code; empty when there is none.
[[nodiscard]] std::string_view explain_page(int code);
/// The page's heading without the code; empty when there is none.
[[nodiscard]] std::string_view explain_title(int code);

}  // namespace pk
