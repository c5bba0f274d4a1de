#pragma once
// Helpers of sema's tests: programs annotated with the errors they must get, and the IR of their kernels.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pk/frontend/diagnostics.h"
#include "pk/ir/ir.h"
#include "pk/sema/sema.h"

namespace pk::test {

/// What differs between the errors of `pkc check` and those announced by `//! PK0402: word` at the end of lines: each
/// announced error has to be reported on its line with the word in some of its text, and no other error may be. Several
/// announcements on a line are separated by `;`. Empty when all is as announced.
[[nodiscard]] std::string mismatches(std::string_view source);

/// A parsed program that lives as long as the test needs it.
class Program {
 public:
  explicit Program(std::string_view source);
  [[nodiscard]] const sema::Module& module() const { return *module_; }
  [[nodiscard]] const Sources& sources() const { return sources_; }
  /// The kernel's IR; an empty kernel and a failed test when there are errors.
  [[nodiscard]] ir::Kernel kernel(std::string_view name, const sema::Bindings& bindings = {}) const;
  /// Codes of the errors of that instance.
  [[nodiscard]] std::vector<int> errors(std::string_view name, const sema::Bindings& bindings) const;

 private:
  Sources sources_;
  sema::ModulePtr module_;
};

/// All instructions of the region in order, those of inner regions included.
[[nodiscard]] std::vector<const ir::Inst*> all_insts(const ir::Region& region);
/// Those of one operation.
[[nodiscard]] std::vector<const ir::Inst*> find_insts(const ir::Kernel& kernel, ir::Op op);

}  // namespace pk::test
