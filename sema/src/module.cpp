#include "module.h"

#include <fmt/format.h>

#include "pk/frontend/parse.h"
#include "pk/stdlib/stdlib.h"
#include "suggest.h"

namespace pk::sema {
namespace {

std::string dotted(const std::vector<ast::Name>& path) {
  std::string text;
  for (const ast::Name& part : path) {
    if (!text.empty()) text += '.';
    text += part.text;
  }
  return text;
}

class Loader {
 public:
  Loader(Sources& sources, Module& module, Diagnostics& diags) : sources_(sources), module_(module), diags_(diags) {}

  ModuleFile& add(FileId file, std::string name) {
    ModuleFile& added = module_.files().emplace_back();
    added.name = std::move(name);
    added.tree = parse(sources_, file, diags_);
    collect(added);
    return added;
  }

 private:
  void collect(ModuleFile& file) {
    for (const ast::Item& item : file.tree.items) {
      if (const auto* import = std::get_if<ast::Import>(&item.node)) {
        add_import(file, *import);
        continue;
      }
      const ast::Name name = item_name_token(item);
      if (!name.present() || std::holds_alternative<ast::Test>(item.node)) continue;
      const auto [place, fresh] = file.items.emplace(name.text, &item);
      if (!fresh) {
        diags_.report<diag::duplicate_name>(name.span, name.text)
            .label(item_name_token(*place->second).span, "first defined here")
            .help("rename one of them");
      }
    }
    check_tests(file);
  }

  void check_tests(const ModuleFile& file) {
    std::unordered_map<std::string_view, Span> names;
    for (const ast::Item& item : file.tree.items) {
      const auto* test = std::get_if<ast::Test>(&item.node);
      if (test == nullptr || !test->name.present()) continue;
      const auto [place, fresh] = names.emplace(test->name.text, test->name.span);
      if (fresh) continue;
      diags_.report<diag::duplicate_name>(test->name.span, test->name.text)
          .label(place->second, "first defined here")
          .help("rename one of the tests");
    }
  }

  void add_import(ModuleFile& file, const ast::Import& import) {
    if (import.path.empty()) return;
    const std::string name = dotted(import.path);
    const Span span = cover(import.path.front().span, import.path.back().span);
    for (const ModuleFile& loaded : module_.files()) {
      if (loaded.name != name) continue;
      file.imports.push_back(&loaded);
      return;
    }
    const std::string_view text = stdlib_module(name);
    if (text.empty()) {
      std::vector<std::string> known;
      for (const EmbeddedText& embedded : stdlib_texts()) known.push_back(fmt::format("std.{}", embedded.name));
      auto error = diags_.report<diag::unknown_module>(span, name);
      if (const auto near = closest(name, known)) error.help(fmt::format("did you mean `{}`?", *near));
      error.help(fmt::format("the library has {}", quoted_list(known)));
      return;
    }
    const FileId library = sources_.add(fmt::format("<{}>", name), std::string(text));
    file.imports.push_back(&add(library, name));
  }

  Sources& sources_;
  Module& module_;
  Diagnostics& diags_;
};

}  // namespace

void ModuleDeleter::operator()(Module* module) const { delete module; }

ast::Name item_name_token(const ast::Item& item) {
  return std::visit(
      [](const auto& node) -> ast::Name {
        if constexpr (requires { node.name; }) return node.name;
        return {};
      },
      item.node);
}

bool is_int_generic(const ast::Generic& generic) { return generic.kinds.size() == 1 && generic.kinds[0].text == "int"; }

std::string_view item_name(const ast::Item& item) { return item_name_token(item).text; }

ItemRef Module::find(const ModuleFile& from, std::string_view name) const {
  if (const auto own = from.items.find(name); own != from.items.end()) return {own->second, &from};
  for (const ModuleFile* import : from.imports) {
    if (const auto it = import->items.find(name); it != import->items.end()) return {it->second, import};
  }
  return {};
}

const ModuleFile* Module::find_import(const ModuleFile& from, std::string_view path) const {
  for (const ModuleFile* import : from.imports) {
    const std::string_view name = import->name;
    if (name == path || name.substr(name.rfind('.') + 1) == path) return import;
  }
  return nullptr;
}

ModulePtr load(Sources& sources, FileId file, Diagnostics& diags) {
  ModulePtr module(new Module(sources));
  Loader(sources, *module, diags).add(file, {});
  return module;
}

const ast::Ast& tree(const Module& module) { return module.main().tree; }

const ast::Kernel* find_kernel(const Module& module, std::string_view name) {
  const ItemRef found = module.find(module.main(), name);
  return found ? std::get_if<ast::Kernel>(&found.item->node) : nullptr;
}

FunctionRef find_function(const Module& module, std::string_view name) {
  const std::size_t dot = name.rfind('.');
  const ModuleFile* from =
      dot == std::string_view::npos ? &module.main() : module.find_import(module.main(), name.substr(0, dot));
  if (from == nullptr) return {};
  const ItemRef found = module.find(*from, dot == std::string_view::npos ? name : name.substr(dot + 1));
  if (!found) return {};
  const auto* function = std::get_if<ast::Function>(&found.item->node);
  return function == nullptr ? FunctionRef{} : FunctionRef{function, &found.file->tree};
}

ConstRef find_const(const Module& module, std::string_view name) {
  const std::size_t dot = name.rfind('.');
  const ModuleFile* from =
      dot == std::string_view::npos ? &module.main() : module.find_import(module.main(), name.substr(0, dot));
  if (from == nullptr) return {};
  const ItemRef found = module.find(*from, dot == std::string_view::npos ? name : name.substr(dot + 1));
  if (!found) return {};
  const auto* constant = std::get_if<ast::Const>(&found.item->node);
  return constant == nullptr ? ConstRef{} : ConstRef{constant, &found.file->tree};
}

std::vector<std::string_view> kernel_names(const Module& module) {
  std::vector<std::string_view> names;
  for (const ast::Item& item : module.main().tree.items) {
    if (const auto* kernel = std::get_if<ast::Kernel>(&item.node)) names.push_back(kernel->name.text);
  }
  return names;
}

std::vector<const ast::Test*> tests(const Module& module) {
  std::vector<const ast::Test*> found;
  for (const ast::Item& item : module.main().tree.items) {
    if (const auto* test = std::get_if<ast::Test>(&item.node)) found.push_back(test);
  }
  return found;
}

}  // namespace pk::sema
