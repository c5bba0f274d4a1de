#include "pk/runtime/test_runner.h"

#include <chrono>
#include <new>

#include "host_eval.h"

namespace pk::runtime {

TestResult run_test(const Sources& sources, const sema::Module& module, const ast::Test& test,
                    const RunOptions& options, KernelCache* cache) {
  TestResult result;
  result.name = test.name.text;
  const auto start = std::chrono::steady_clock::now();
  KernelCache own;
  HostEvaluator evaluator(sources, module, options, cache == nullptr ? own : *cache, result);
  Flow flow = Flow::stop;
  try {
    flow = evaluator.run(test.body);
  } catch (const std::bad_alloc&) {
    evaluator.diagnostics().report<diag::not_supported>(test.name.span,
                                                        "the arrays of this test do not fit into memory");
  }
  result.diagnostics = evaluator.diagnostics().take();
  bool failed = result.mismatch.has_value() || flow == Flow::stop;
  for (const Diagnostic& d : result.diagnostics) failed = failed || d.severity == Severity::error;
  if (!result.skip_reason.empty()) {
    result.status = Status::skip;
  } else if (failed) {
    result.status = Status::fail;
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace pk::runtime
