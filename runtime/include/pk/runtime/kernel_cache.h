#pragma once
// Kernels that are compiled already, by their name and bindings. One cache belongs to one module and target; several
// threads may use it.

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "pk/frontend/diagnostics.h"
#include "pk/interp/interp.h"
#include "pk/ir/ir.h"
#include "pk/ir/target.h"
#include "pk/sema/sema.h"

namespace pk::runtime {

/// A kernel with all generics bound, after the shared passes; `program` is null unless the interpreter is to run it.
struct CompiledKernel {
  ir::Kernel kernel;
  interp::ProgramPtr program;
};

class KernelCache {
 public:
  /// The kernel with these bindings, compiled if it is new. Null when it has errors, which are reported (each time).
  [[nodiscard]] std::shared_ptr<const CompiledKernel> get(const sema::Module& module, const ast::Kernel& kernel,
                                                          const sema::Bindings& bindings, const ir::Target& target,
                                                          bool interpret, Diagnostics& diags);

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const CompiledKernel>> kernels_;
};

}  // namespace pk::runtime
