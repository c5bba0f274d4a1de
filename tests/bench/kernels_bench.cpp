// Whole launches in the interpreter, with all checks on: the GEMM of examples/gemm.pk, beside one BLAS call on the same
// sizes.

#include <benchmark/benchmark.h>

#include <fstream>
#include <sstream>
#include <string>

#include "pk/runtime/test_runner.h"
#include "pk/sema/sema.h"

namespace {

using namespace pk;

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void run_gemm(benchmark::State& state, bool checks) {
  const std::string path = std::string(PK_EXAMPLES) + "/gemm.pk";
  Sources sources;
  const FileId file = sources.add(path, read_file(path));
  Diagnostics diags;
  const sema::ModulePtr module = sema::load(sources, file, diags);
  const ast::Kernel* kernel = sema::find_kernel(*module, "gemm");
  if (kernel == nullptr) {
    state.SkipWithError("examples/gemm.pk has no kernel `gemm`");
    return;
  }
  const std::int64_t n = state.range(0);
  runtime::LaunchRequest request;
  request.kernel = kernel;
  request.inputs = {runtime::random_array(ir::Dtype::bf16, {n, n}, 1, -1, 1),
                    runtime::random_array(ir::Dtype::bf16, {n, n}, 2, -1, 1)};
  runtime::RunOptions options;
  options.interp.check_races = options.interp.check_init = options.interp.check_bounds = checks;
  runtime::KernelCache cache;
  for (auto _ : state) {
    if (runtime::launch(sources, *module, request, options, &cache, diags)) continue;
    state.SkipWithError(diags.all().empty() ? "the launch failed" : diags.all().front().message.c_str());
    return;
  }
  state.counters["GFLOPS"] = benchmark::Counter(
      2.0 * static_cast<double>(n * n * n), benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
}

void gemm_checked(benchmark::State& state) { run_gemm(state, true); }
void gemm_unchecked(benchmark::State& state) { run_gemm(state, false); }

}  // namespace

BENCHMARK(gemm_checked)->Arg(512)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(gemm_unchecked)->Arg(512)->Unit(benchmark::kMillisecond)->UseRealTime();
