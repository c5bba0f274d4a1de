// The public entry points: IR to a module, through LLVM's passes, to PTX text.

#include <fmt/format.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>

#include <mutex>
#include <set>

#include "lowering.h"

namespace pk::codegen {
namespace {

constexpr const char* triple = "nvptx64-nvidia-cuda";
/// The PTX version that has everything the lowering uses, and no newer: drivers refuse what they do not know.
constexpr const char* ptx_features = "+ptx81";
/// Enough for straight-line code made from an IR that is already simplified; much faster than -O3, and as good here.
constexpr const char* passes =
    "always-inline,function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),loop-"
    "unroll-full,gvn,"
    "instcombine<no-verify-fixpoint>,simplifycfg,adce)";

std::unique_ptr<llvm::TargetMachine> make_target(const ir::Target& target) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string error;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple, error);
  PK_CHECK(found != nullptr, "LLVM has no NVPTX back end: " + error);
  return std::unique_ptr<llvm::TargetMachine>(
      found->createTargetMachine(triple, std::string(target.name), ptx_features, llvm::TargetOptions(), std::nullopt));
}

void report(const ir::Kernel& kernel, const Unsupported& u, Diagnostics& diags) {
  auto report = diags.report<diag::not_supported>(u.loc.span.valid() ? u.loc.span : kernel.span, u.what);
  for (ir::CallId call = u.loc.call; call.valid(); call = kernel.calls[call.raw].parent) {
    const ir::CallSite& site = kernel.calls[call.raw];
    report.label(site.span, fmt::format("in this call of `{}`", site.function));
  }
}

/// The kernel as LLVM IR; null after a diagnostic.
std::unique_ptr<llvm::Module> lower(llvm::LLVMContext& context, const llvm::TargetMachine& machine,
                                    const ir::Kernel& kernel, const Options& options, Manifest& manifest,
                                    Diagnostics& diags) {
  std::set<const ir::Inst*> by_lanes;
  for (;;) {
    auto module = std::make_unique<llvm::Module>(kernel.name, context);
    module->setTargetTriple(triple);
    module->setDataLayout(machine.createDataLayout());
    manifest = {};
    manifest.entry = kernel.name;
    manifest.target = options.target.name;
    manifest.lanes_per_block = static_cast<int>(kernel.thread_count()) * lane_count;
    manifest.cluster_size = static_cast<int>(kernel.cluster_size());
    const std::size_t known = by_lanes.size();
    try {
      Lowering(kernel, options, by_lanes, *module, manifest).run();
    } catch (const Unsupported& u) {
      report(kernel, u, diags);
      return nullptr;
    }
    if (by_lanes.size() != known) continue;
    std::string problems;
    llvm::raw_string_ostream out(problems);
    PK_CHECK(!llvm::verifyModule(*module, &out),
             fmt::format("kernel `{}` became invalid LLVM IR: {}", kernel.name, problems));
    return module;
  }
}

void optimise(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager calls;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(calls);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, calls, modules);
  llvm::ModulePassManager manager;
  llvm::cantFail(builder.parsePassPipeline(manager, passes));
  manager.run(module, modules);
}

std::string print_ptx(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream out(text);
  llvm::legacy::PassManager manager;
  PK_CHECK(!machine.addPassesToEmitFile(manager, out, nullptr, llvm::CodeGenFileType::AssemblyFile),
           "LLVM cannot print PTX");
  manager.run(module);
  return std::string(text);
}

/// LLVM 19 has no word for the size of clusters: two lines after the size of blocks say it.
void add_cluster_size(std::string& ptx, int size) {
  const std::size_t bounds = ptx.find(".maxntid");
  PK_CHECK(bounds != std::string::npos, "the PTX says how many lanes a block has");
  ptx.insert(ptx.find('\n', bounds) + 1, fmt::format(".explicitcluster\n.reqnctapercluster {}, 1, 1\n", size));
}

}  // namespace

std::optional<Ptx> emit(const ir::Kernel& kernel, const Options& options, Diagnostics& diags) {
  const std::unique_ptr<llvm::TargetMachine> machine = make_target(options.target);
  llvm::LLVMContext context;
  Ptx result;
  const std::unique_ptr<llvm::Module> module = lower(context, *machine, kernel, options, result.manifest, diags);
  if (module == nullptr) return std::nullopt;
  optimise(*module, *machine);
  result.text = print_ptx(*module, *machine);
  if (result.manifest.cluster_size > 1) add_cluster_size(result.text, result.manifest.cluster_size);
  return result;
}

std::optional<std::string> emit_llvm(const ir::Kernel& kernel, const Options& options, Diagnostics& diags) {
  const std::unique_ptr<llvm::TargetMachine> machine = make_target(options.target);
  llvm::LLVMContext context;
  Manifest manifest;
  const std::unique_ptr<llvm::Module> module = lower(context, *machine, kernel, options, manifest, diags);
  if (module == nullptr) return std::nullopt;
  std::string text;
  llvm::raw_string_ostream out(text);
  module->print(out, nullptr);
  return text;
}

}  // namespace pk::codegen
