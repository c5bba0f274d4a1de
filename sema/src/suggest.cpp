#include "suggest.h"

#include <algorithm>

namespace pk::sema {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Rows of the dynamic programme of Damerau and Levenshtein, restricted to swaps of neighbours.
  std::vector<std::vector<std::size_t>> rows(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) rows[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      rows[i][j] = std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
      }
    }
  }
  return rows[a.size()][b.size()];
}

std::optional<std::string> closest(std::string_view name, const std::vector<std::string>& candidates) {
  constexpr std::size_t longest = 64;  // nobody misspells longer names by accident; keeps the search cheap
  if (name.empty() || name.size() > longest) return std::nullopt;
  const std::size_t limit = name.size() <= 2 ? 1 : 1 + name.size() / 4;
  std::optional<std::string> best;
  std::size_t best_distance = limit + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.empty()) continue;
    const std::size_t difference =
        candidate.size() > name.size() ? candidate.size() - name.size() : name.size() - candidate.size();
    if (difference >= best_distance) continue;
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance && distance < name.size()) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string quoted_list(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += '`' + names[i] + '`';
  }
  return text;
}

}  // namespace pk::sema
