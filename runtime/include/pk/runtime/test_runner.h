#pragma once
// Runs `test` items: evaluates their statements on host arrays, launches kernels, compares.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pk/interp/interp.h"
#include "pk/runtime/array.h"
#include "pk/runtime/backend.h"
#include "pk/runtime/kernel_cache.h"
#include "pk/sema/sema.h"

namespace pk::runtime {

/// Where and how kernels run. `launch` failures are diagnostics (PK09xx, or compile-time ones of the instance).
struct RunOptions {
  std::string backend = "interp";  ///< "interp", or the name of `device`
  Backend* device = nullptr;       ///< runs kernels when `backend` is not "interp"; without one their tests are skipped
  interp::Options interp;
  ir::Target target = ir::sm_90a;
};

/// First differences of an expectation.
struct Mismatch {
  std::int64_t count = 0;  ///< differing elements
  std::int64_t total = 0;
  struct Element {
    std::vector<std::int64_t> index;
    std::string got, expected;
  };
  std::vector<Element> first;  ///< at most 8
  std::string what;            ///< "expect_equal" or "expect_close" with its tolerances
};

enum class Status : std::uint8_t { pass, fail, skip };
struct TestResult {
  std::string name;
  Status status = Status::pass;
  double seconds = 0;
  std::vector<Diagnostic> diagnostics;
  std::optional<Mismatch> mismatch;
  Span mismatch_span;
  std::string skip_reason;
};

/// Runs one test. `cache` (of this module and target) lets tests share compiled kernels; without it each test has its
/// own.
[[nodiscard]] TestResult run_test(const Sources& sources, const sema::Module& module, const ast::Test& test,
                                  const RunOptions& options, KernelCache* cache = nullptr);

/// One launch from outside a test (`pkc run`): inputs are the `in` and `inout` arguments in order; returns the `out`
/// and `inout` arrays in order, or nothing after an error. Compiled kernels are cached in `cache` when given.
struct LaunchRequest {
  const ast::Kernel* kernel = nullptr;
  std::vector<sema::ExplicitGeneric> generics;
  sema::Bindings fixed;  ///< -D and --set values
  std::vector<Array> inputs;
  Span span;
};
[[nodiscard]] std::optional<std::vector<Array>> launch(const Sources& sources, const sema::Module& module,
                                                       const LaunchRequest& request, const RunOptions& options,
                                                       KernelCache* cache, Diagnostics& diags);

}  // namespace pk::runtime
