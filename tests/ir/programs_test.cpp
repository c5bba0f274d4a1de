// The IR of all programs that the project has: every kernel verifies after each pass, and its text is read back as it
// was written. Together the programs use every operation.

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "pk/ir/passes.h"
#include "pk/ir/text.h"
#include "pk/sema/sema.h"
#include "support.h"

using namespace pk;

namespace {

std::vector<std::filesystem::path> programs() {
  std::vector<std::filesystem::path> out;
  for (const char* folder : {PK_PROGRAMS, PK_EXAMPLES}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.path().extension() == ".pk") out.push_back(entry.path());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// Values for the generics that have no default: the first type, or a number that most sizes go into.
sema::Bindings bindings_of(const ast::Kernel& kernel) {
  sema::Bindings bindings;
  for (const ast::Generic& generic : kernel.generics) {
    if (generic.default_value.valid()) continue;
    const auto dtype = ir::parse_dtype(generic.kinds.front().text);
    bindings.generics[std::string(generic.name.text)] =
        dtype ? sema::GenericValue(*dtype) : sema::GenericValue(std::int64_t{64});
  }
  return bindings;
}

void note_operations(const ir::Region& region, std::set<std::string>& seen) {
  for (const ir::Inst& inst : region.insts) {
    seen.emplace(ir::info(inst.op).name);
    for (const ir::Region& inner : inst.regions) note_operations(inner, seen);
  }
}

/// Checks one kernel as it is now.
void check_kernel(const ir::Kernel& kernel, std::set<std::string>& seen) {
  CHECK(ir::verify(kernel) == std::vector<std::string>{});
  const std::string text = ir::print(kernel);
  const ir::Kernel again = ir::testing::kernel_of(text);
  CHECK(ir::print(again) == text);
  CHECK(ir::verify(again) == std::vector<std::string>{});
  note_operations(kernel.launch, seen);
  note_operations(kernel.body, seen);
}

/// Checks the kernels of one file that have no errors; how many.
int check_file(const std::filesystem::path& path, std::set<std::string>& seen) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  Sources sources;
  Diagnostics diags;
  const FileId file = sources.add(path.string(), text.str());
  const sema::ModulePtr module = sema::load(sources, file, diags);
  if (diags.error_count() > 0) return 0;
  int checked = 0;
  for (const std::string_view name : sema::kernel_names(*module)) {
    const ast::Kernel& kernel = *sema::find_kernel(*module, name);
    Diagnostics of_kernel;
    auto made = sema::elaborate(*module, kernel, bindings_of(kernel), ir::sm_90a, of_kernel);
    if (!made) continue;
    INFO(path << ": " << name);
    check_kernel(*made, seen);
    const ir::Kernel last =
        ir::run_shared_passes(std::move(*made), [&](std::string_view pass, const ir::Kernel& result) {
          INFO("after " << pass);
          check_kernel(result, seen);
        });
    CHECK(ir::print(ir::simplify(last)) == ir::print(last));
    ++checked;
  }
  return checked;
}

}  // namespace

TEST_CASE("the IR of every program verifies and is read back, and programs use every operation") {
  std::set<std::string> seen;
  int kernels = 0;
  for (const std::filesystem::path& path : programs()) kernels += check_file(path, seen);
  CHECK(kernels > 100);
  std::string unused;
  for (const ir::OpInfo& row : ir::op_table) {
    if (!seen.contains(std::string(row.name))) unused += std::string(row.name) + " ";
  }
  CHECK(unused == "");
}
