#pragma once
// Names that can be called without being defined: the spellings of the operation table, and short forms of its
// operations.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pk/ir/ops.h"

namespace pk::sema {

struct Callable {
  ir::Op op;
  std::string_view name;
};
[[nodiscard]] std::optional<Callable> find_callable(std::string_view name);

/// All of them, for suggestions.
[[nodiscard]] std::vector<std::string> callable_names();

/// Kind of an `atomic_…` by its name, as the IR spells it; empty for other names.
[[nodiscard]] std::string_view atomic_kind(std::string_view name);

/// Operations of `test` items, which run on the host.
[[nodiscard]] bool is_test_only(std::string_view name);
[[nodiscard]] std::vector<std::string> test_only_names();

/// Operations of the language that need a later target, and which.
[[nodiscard]] bool is_planned_operation(std::string_view name);
[[nodiscard]] std::string_view planned_operation_needs(std::string_view name);

}  // namespace pk::sema
