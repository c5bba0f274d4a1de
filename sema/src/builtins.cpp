#include "builtins.h"

#include <algorithm>
#include <array>

namespace pk::sema {
namespace {

struct AtomicName {
  std::string_view name;
  std::string_view kind;
};
constexpr std::array atomics = {
    AtomicName{"atomic_add", "add"},           AtomicName{"atomic_min", "min"}, AtomicName{"atomic_max", "max"},
    AtomicName{"atomic_and", "and"},           AtomicName{"atomic_or", "or"},   AtomicName{"atomic_xor", "xor"},
    AtomicName{"atomic_exchange", "exchange"}, AtomicName{"atomic_cas", "cas"},
};

/// Short forms: another name for an operation with some of its arguments fixed.
constexpr std::array short_forms = {
    Callable{ir::Op::splat, "zeros"},
    Callable{ir::Op::coord, "index"},
};

constexpr std::array<std::string_view, 5> test_only = {"random", "matmul", "expect_equal", "expect_close",
                                                       "expect_error"};

struct Planned {
  std::string_view prefix;
  std::string_view needs;
};
constexpr std::array planned = {
    Planned{"tcgen05", "sm_100 (tensor-memory operations)"},
    Planned{"tmem_", "sm_100 (tensor-memory operations)"},
    Planned{"cluster_launch_control", "sm_100 (cluster launch control)"},
    Planned{"tma_gather", "sm_100 (TMA gather)"},
    Planned{"tma_scatter", "sm_100 (TMA scatter)"},
    Planned{"multicast_store", "a device axis with multicast memory, which this version of pk does not have"},
    Planned{"remote", "a device axis, which this version of pk does not have"},
    Planned{"inline_ptx", "a version of pk that takes PTX text; this one does not"},
    Planned{"pipeline_storage", "a version of pk with hoisted pipelines; in this one a pipeline allocates for itself"},
};

const Planned* find_planned(std::string_view name) {
  for (const Planned& row : planned) {
    if (name.starts_with(row.prefix)) return &row;
  }
  return nullptr;
}

}  // namespace

std::string_view atomic_kind(std::string_view name) {
  for (const AtomicName& row : atomics) {
    if (row.name == name) return row.kind;
  }
  return {};
}

std::optional<Callable> find_callable(std::string_view name) {
  for (const AtomicName& row : atomics) {
    if (row.name == name) return Callable{ir::Op::atomic, row.name};
  }
  for (const Callable& row : short_forms) {
    if (row.name == name) return row;
  }
  if (const auto op = ir::find_builtin(name)) return Callable{*op, ir::info(*op).spelling};
  return std::nullopt;
}

std::vector<std::string> callable_names() {
  std::vector<std::string> names;
  for (const ir::OpInfo& row : ir::op_table) {
    if (!row.spelling.empty()) names.emplace_back(row.spelling);
  }
  for (const AtomicName& row : atomics) names.emplace_back(row.name);
  for (const Callable& row : short_forms) names.emplace_back(row.name);
  return names;
}

bool is_test_only(std::string_view name) {
  return std::find(test_only.begin(), test_only.end(), name) != test_only.end();
}

std::vector<std::string> test_only_names() { return {test_only.begin(), test_only.end()}; }

bool is_planned_operation(std::string_view name) { return find_planned(name) != nullptr; }

std::string_view planned_operation_needs(std::string_view name) {
  const Planned* row = find_planned(name);
  return row == nullptr ? std::string_view() : row->needs;
}

}  // namespace pk::sema
