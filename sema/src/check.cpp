// The entry points: `check` for a file, `elaborate` for one instance of a kernel.

#include "elaborator.h"
#include "rules/rules.h"
#include "test_check.h"

namespace pk::sema {
namespace {

/// All choices of the dtype parameters, at most `limit`; the first one takes the defaults.
std::vector<Bindings> dtype_choices(const ast::Kernel& kernel) {
  constexpr std::size_t limit = 64;
  std::vector<Bindings> choices(1);
  for (const ast::Generic& generic : kernel.generics) {
    if (is_int_generic(generic)) continue;
    std::vector<Bindings> extended;
    for (const Bindings& choice : choices) {
      for (const ast::Name& kind : generic.kinds) {
        const auto dtype = ir::parse_dtype(kind.text);
        if (!dtype || extended.size() >= limit) continue;
        Bindings next = choice;
        next.generics.insert_or_assign(std::string(generic.name.text), *dtype);
        extended.push_back(std::move(next));
      }
    }
    if (!extended.empty()) choices = std::move(extended);
  }
  return choices;
}

std::optional<ir::Kernel> run(const Module& module, const ast::Kernel& kernel, const Bindings& bindings,
                              const ir::Target& target, Diagnostics& diags, Purpose purpose,
                              std::unordered_set<const ast::Function*>* inlined) {
  Diagnostics local;
  Elaborator elaborator(module, target, local, purpose);
  ir::Kernel result = elaborator.elaborate_kernel(kernel, bindings);
  if (inlined != nullptr) inlined->insert(elaborator.inlined().begin(), elaborator.inlined().end());
  if (!local.has_errors()) rules::check_kernel(result, target, local);
  const bool failed = local.has_errors();
  for (Diagnostic& d : local.take()) diags.add(std::move(d));
  if (failed) return std::nullopt;
  return result;
}

class Checker {
 public:
  Checker(const Module& module, const ir::Target& target, Diagnostics& diags)
      : module_(module), target_(target), diags_(diags) {}

  void run_all() {
    collect_axes();
    for (const ast::Item& item : tree(module_).items) {
      if (const auto* kernel = std::get_if<ast::Kernel>(&item.node)) {
        check_generics(*kernel);
        for (const Bindings& choice : dtype_choices(*kernel))
          (void)run(module_, *kernel, choice, target_, diags_, Purpose::check, &inlined_);
      } else if (const auto* constant = std::get_if<ast::Const>(&item.node)) {
        check_const(*constant);
      } else if (const auto* mesh = std::get_if<ast::MeshItem>(&item.node)) {
        Elaborator elaborator(module_, target_, diags_, Purpose::check);
        elaborator.begin_host(module_.main());
        elaborator.check_mesh(*mesh);
      } else if (const auto* test = std::get_if<ast::Test>(&item.node)) {
        check_test(module_, *test, diags_);
      }
    }
    for (const ast::Item& item : tree(module_).items) check_function(item);
  }

 private:
  void collect_axes() {
    for (const ast::Item& item : tree(module_).items) {
      if (const auto* mesh = std::get_if<ast::MeshItem>(&item.node)) {
        for (const ast::Axis& axis : mesh->axes) axes_.insert(axis.name.text);
      } else if (const auto* kernel = std::get_if<ast::Kernel>(&item.node)) {
        if (kernel->mesh) {
          for (const ast::Axis& axis : kernel->mesh->axes) axes_.insert(axis.name.text);
        }
        if (kernel->blocked) {
          for (const ast::BlockedAxis& axis : kernel->blocked->axes) axes_.insert(axis.name.text);
        }
      }
    }
  }

  // The kinds of dtype parameters are names of types.
  void check_generics(const ast::Kernel& kernel) {
    for (const ast::Generic& generic : kernel.generics) {
      for (const ast::Name& kind : generic.kinds) {
        if (kind.text == "int" || ir::parse_dtype(kind.text)) continue;
        diags_.report<diag::unknown_type>(kind.span, kind.text);
      }
    }
  }

  void check_const(const ast::Const& constant) {
    Elaborator elaborator(module_, target_, diags_, Purpose::check);
    elaborator.begin_host(module_.main());
    (void)elaborator.evaluate(constant.value);
  }

  void check_function(const ast::Item& item) {
    const auto* function = std::get_if<ast::Function>(&item.node);
    if (function == nullptr || inlined_.contains(function)) return;
    Elaborator elaborator(module_, target_, diags_, Purpose::check);
    elaborator.set_possible_axes(&axes_);
    elaborator.check_function({&item, &module_.main()});
    inlined_.insert(elaborator.inlined().begin(), elaborator.inlined().end());
  }

  const Module& module_;
  const ir::Target& target_;
  Diagnostics& diags_;
  std::unordered_set<const ast::Function*> inlined_;
  std::unordered_set<std::string_view> axes_;
};

}  // namespace

void check(const Module& module, const ir::Target& target, Diagnostics& diags) {
  Checker(module, target, diags).run_all();
}

std::optional<ir::Kernel> elaborate(const Module& module, const ast::Kernel& kernel, const Bindings& bindings,
                                    const ir::Target& target, Diagnostics& diags) {
  return run(module, kernel, bindings, target, diags, Purpose::instance, nullptr);
}

}  // namespace pk::sema
