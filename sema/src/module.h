#pragma once
// A parsed file, the library modules that it imports, and tables of their items. The public sema::Module.

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pk/frontend/ast.h"
#include "pk/sema/sema.h"

namespace pk::sema {

struct ModuleFile;

/// An item and the file that it stands in.
struct ItemRef {
  const ast::Item* item = nullptr;
  const ModuleFile* file = nullptr;
  explicit operator bool() const { return item != nullptr; }
};

struct ModuleFile {
  std::string name;  ///< "std.math", or empty for the user's file
  ast::Ast tree;
  std::unordered_map<std::string_view, const ast::Item*> items;  ///< functions, kernels, consts and meshes
  std::vector<const ModuleFile*> imports;
};

class Module {
 public:
  explicit Module(const Sources& sources) : sources_(sources) {}
  [[nodiscard]] const Sources& sources() const { return sources_; }
  [[nodiscard]] const ModuleFile& main() const { return files_.front(); }
  [[nodiscard]] std::deque<ModuleFile>& files() { return files_; }
  [[nodiscard]] const std::deque<ModuleFile>& files() const { return files_; }

  /// What `name` means in `from`: an item of the file, else of one of its imports.
  [[nodiscard]] ItemRef find(const ModuleFile& from, std::string_view name) const;
  /// `path` is "std.math", or its last part alone.
  [[nodiscard]] const ModuleFile* find_import(const ModuleFile& from, std::string_view path) const;

 private:
  const Sources& sources_;
  std::deque<ModuleFile> files_;
};

/// A parameter that stands for an integer; the others stand for dtypes.
[[nodiscard]] bool is_int_generic(const ast::Generic& generic);

/// Name of an item that has one, else empty.
[[nodiscard]] std::string_view item_name(const ast::Item& item);
[[nodiscard]] ast::Name item_name_token(const ast::Item& item);

}  // namespace pk::sema
