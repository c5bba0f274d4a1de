// Fault injection: from right programs, one synchronising operation at a time is deleted, after the pipelines are
// expanded. Each mutant has to be reported, or compute the same under every schedule because the operation was not
// needed; those are listed. Prints the table of mutants and verdicts.

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "pk/interp/interp.h"
#include "pk/ir/passes.h"
#include "pk/ir/text.h"
#include "pk/sema/sema.h"

using namespace pk;

namespace {

/// A kernel of the examples with arguments that make it synchronise often.
struct Subject {
  std::string file, kernel;
  std::vector<ir::Shape> shapes;  ///< of the parameters
  std::map<std::string, sema::GenericValue, std::less<>> generics;
  std::vector<std::string> needless;  ///< operations whose deletion changes nothing, in order
};

const std::vector<Subject>& subjects() {
  static const std::vector<Subject> list{
      {"relay.pk", "relay", {{8, 128}, {8, 128}}, {}, {}},
      {"gemm.pk",
       "gemm",
       {{128, 128}, {128, 32}, {128, 32}},
       {{"T", ir::Dtype::bf16}, {"BM", std::int64_t{128}}, {"BN", std::int64_t{32}}, {"BK", std::int64_t{16}}},
       {}},
      {"gemm_pipelined.pk",
       "gemm_pipelined",
       {{128, 128}, {128, 64}, {128, 64}},
       {{"T", ir::Dtype::bf16}, {"BM", std::int64_t{128}}, {"BN", std::int64_t{32}}, {"BK", std::int64_t{16}}},
       {"wgmma_wait {count = 0}"}},  // reading the accumulator waits for its MMAs anyway
      {"blocked.pk", "add_one", {{64, 512}, {64, 512}}, {}, {}},
  };
  return list;
}

bool synchronises(ir::Op op) {
  switch (op) {
    using enum ir::Op;
    case barrier_arrive:
    case barrier_wait:
    case commit_smem:
    case commit_copies:
    case wait_smem_to_gmem:
    case wgmma_wait:
    case semaphore_signal:
    case semaphore_wait:
    case sync:
      return true;
    default:
      return false;  // everything else
  }
}

/// Deletes synchronising operation number `n` (in text order); what it was, or empty when there are fewer.
std::string delete_operation(const ir::Kernel& kernel, ir::Region& region, std::size_t& n) {
  for (std::size_t i = 0; i < region.insts.size(); ++i) {
    ir::Inst& inst = region.insts[i];
    if (synchronises(inst.op) && n-- == 0) {
      const std::string text = ir::print(kernel, inst);
      region.insts.erase(region.insts.begin() + static_cast<std::ptrdiff_t>(i));
      return text;
    }
    for (ir::Region& inner : inst.regions) {
      if (std::string text = delete_operation(kernel, inner, n); !text.empty()) return text;
    }
  }
  return {};
}

struct Outcome {
  std::vector<std::vector<std::uint8_t>> memory;
  std::string code;  ///< of the first error
};

Outcome run(const ir::Kernel& kernel, const Subject& subject, const interp::Options& options) {
  Outcome outcome;
  std::vector<interp::Argument> args;
  outcome.memory.reserve(kernel.params.size());
  for (std::size_t i = 0; i < kernel.params.size(); ++i) {
    const ir::Param& param = kernel.params[i];
    auto& memory = outcome.memory.emplace_back(
        static_cast<std::size_t>(ir::element_count(subject.shapes[i]) * ir::byte_size(param.type.dtype)));
    // Small, varied values of every type: in the highest byte of each element, below the exponents that overflow.
    const std::size_t size = static_cast<std::size_t>(ir::byte_size(param.type.dtype));
    for (std::size_t e = 0; param.mode != ir::Mode::out && e * size < memory.size(); ++e)
      memory[e * size + size - 1] = static_cast<std::uint8_t>(0x3c + (e * 7 + e / 13) % 4);
    args.push_back({memory.data(), subject.shapes[i], 0, param.mode != ir::Mode::out});
  }
  Diagnostics diags;
  interp::run(*interp::prepare(kernel), args, {}, options, diags);
  for (const Diagnostic& d : diags.all()) {
    if (d.severity == Severity::error && outcome.code.empty()) outcome.code = code_name(d.code);
  }
  return outcome;
}

std::vector<interp::Options> schedules() {
  std::vector<interp::Options> out(5);
  out[1].schedule = interp::Schedule::lazy;
  out[2].schedule = interp::Schedule::eager;
  for (std::size_t i : {3U, 4U}) {
    out[i].schedule = interp::Schedule::random;
    out[i].seed = i;
  }
  return out;
}

ir::Kernel compile(const Subject& subject) {
  const std::string path = std::string(PK_EXAMPLES) + "/" + subject.file;
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  Sources sources;
  Diagnostics diags;
  const FileId file = sources.add(path, text.str());
  const sema::ModulePtr module = sema::load(sources, file, diags);
  const ast::Kernel* kernel = sema::find_kernel(*module, subject.kernel);
  REQUIRE(kernel != nullptr);
  auto made = sema::elaborate(*module, *kernel, {subject.generics, {}}, ir::sm_90a, diags);
  for (const Diagnostic& d : diags.all()) UNSCOPED_INFO(d.message);
  REQUIRE(made.has_value());
  return ir::run_shared_passes(std::move(*made), {});
}

}  // namespace

TEST_CASE("a deleted synchronisation is reported, or was not needed") {
  std::size_t mutants = 0, found = 0;
  for (const Subject& subject : subjects()) {
    const ir::Kernel kernel = compile(subject);
    const Outcome right = run(kernel, subject, {});
    INFO(subject.kernel << " " << right.code);
    REQUIRE(right.code.empty());
    std::vector<std::string> needless;
    for (std::size_t n = 0;; ++n) {
      ir::Kernel mutant = kernel;
      std::size_t rest = n;
      const std::string what = delete_operation(mutant, mutant.body, rest);
      if (what.empty()) break;
      ++mutants;
      std::string verdict;
      for (const interp::Options& options : schedules()) {
        const Outcome outcome = run(mutant, subject, options);
        if (!outcome.code.empty()) verdict += (verdict.empty() ? "" : " ") + outcome.code;
        INFO(subject.kernel << ": " << what);
        CHECK((!outcome.code.empty() || outcome.memory == right.memory));
      }
      fmt::print("{:16} {:60} {}\n", subject.kernel, what, verdict.empty() ? "not needed" : verdict);
      if (verdict.empty()) needless.push_back(what);
      if (!verdict.empty()) ++found;
    }
    CHECK(needless == subject.needless);
  }
  fmt::print("{} of {} mutants reported; the others compute the same\n", found, mutants);
}
