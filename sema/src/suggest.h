#pragma once
// "did you mean …?": the closest of the names that exist.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pk::sema {

/// Number of insertions, removals, replacements and swaps of neighbours between two words.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate that is close enough to be meant; the first one of equals.
[[nodiscard]] std::optional<std::string> closest(std::string_view name, const std::vector<std::string>& candidates);

/// "`a`, `b` and `c`"
[[nodiscard]] std::string quoted_list(const std::vector<std::string>& names);

}  // namespace pk::sema
