#pragma once
// From trees to kernel IR: names, types, symbolic dimensions, mesh and allocation rules, protocol checks. `pkc check`
// is `load` + `check`; launching is `load` + `bind_launch` + `elaborate`.

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pk/frontend/ast.h"
#include "pk/frontend/diagnostics.h"
#include "pk/ir/ir.h"
#include "pk/ir/target.h"

namespace pk::sema {

/// A parsed file with the library modules that it imports and tables of its items. Keeps references to `sources`.
class Module;
struct ModuleDeleter {
  void operator()(Module*) const;
};
using ModulePtr = std::unique_ptr<Module, ModuleDeleter>;

/// Parses `file` and its imports (`std.*` are embedded) and collects items; reports syntax errors, duplicate items,
/// unknown imports. Never null.
[[nodiscard]] ModulePtr load(Sources& sources, FileId file, Diagnostics& diags);

/// Reports everything that is wrong with the module's items: all functions, kernels (with the defaults of their
/// generics; generics without default stay symbolic, dtype parameters take each of their dtypes) and tests.
void check(const Module& module, const ir::Target& target, Diagnostics& diags);

[[nodiscard]] const ast::Ast& tree(const Module& module);
[[nodiscard]] const ast::Kernel* find_kernel(const Module& module, std::string_view name);
/// A function of the file or of an imported library, with the tree that it stands in.
struct FunctionRef {
  const ast::Function* function = nullptr;
  const ast::Ast* tree = nullptr;
};
[[nodiscard]] FunctionRef find_function(const Module& module, std::string_view name);
/// Value expression of a `const` item, with its tree.
struct ConstRef {
  const ast::Const* constant = nullptr;
  const ast::Ast* tree = nullptr;
};
[[nodiscard]] ConstRef find_const(const Module& module, std::string_view name);
[[nodiscard]] std::vector<std::string_view> kernel_names(const Module& module);
[[nodiscard]] std::vector<const ast::Test*> tests(const Module& module);

/// A generic's value.
using GenericValue = std::variant<std::int64_t, ir::Dtype>;
struct Bindings {
  std::map<std::string, GenericValue, std::less<>> generics;
  std::map<std::string, std::int64_t, std::less<>> dims;  ///< run-time dimensions fixed with -D
};

/// What is known of an argument before a launch: `in` and `inout` parameters in order.
struct ArgInfo {
  ir::Dtype dtype;
  ir::Shape shape;
  bool scalar = false;   ///< passed for a scalar parameter
  bool literal = false;  ///< an untyped literal: takes the parameter's dtype
};

/// Deduces generics from the arguments and the explicit ones (positional or named, as the launch wrote them: name empty
/// for positional), and fills defaults. Failures are reported as PK0907 at `launch_span`, in terms of parameters and
/// arguments; nullopt then.
struct ExplicitGeneric {
  std::string name;
  GenericValue value;
  Span span;
};
[[nodiscard]] std::optional<Bindings> bind_launch(const Module& module, const ast::Kernel& kernel,
                                                  std::span<const ExplicitGeneric> generics,
                                                  std::span<const ArgInfo> args, Span launch_span, Diagnostics& diags);

/// The kernel's IR with `bindings`, before the shared passes. Generics that are missing take their defaults; one
/// without default is an error. Reports what is wrong in this instance; nullopt when there were errors.
[[nodiscard]] std::optional<ir::Kernel> elaborate(const Module& module, const ast::Kernel& kernel,
                                                  const Bindings& bindings, const ir::Target& target,
                                                  Diagnostics& diags);

}  // namespace pk::sema
