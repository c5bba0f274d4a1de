#pragma once
// The inputs of `pkc run`: files, or arrays made to fit the kernel's parameters.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pk/runtime/array.h"
#include "pk/sema/sema.h"

namespace pk::tools {

/// One array for each `in` and `inout` parameter, in order, from `inputs` ("x" -> "file.npy", "random(seed=1)", "iota",
/// "full(0)", "3.5"). Extents of generated arrays come from `dims` (NAME=value), `settings` (NAME=value or NAME=dtype)
/// and the generics' defaults; the settings are also put into `fixed`. Nothing, after a message on stderr, when
/// something is missing.
[[nodiscard]] std::optional<std::vector<runtime::Array>> make_inputs(
    const sema::Module& module, const ast::Kernel& kernel, const std::map<std::string, std::string>& inputs,
    const std::vector<std::string>& dims, const std::vector<std::string>& settings, sema::Bindings& fixed);

/// Element `i` (row-major) for people.
[[nodiscard]] std::string element_text(const runtime::Array& array, std::int64_t i);

}  // namespace pk::tools
