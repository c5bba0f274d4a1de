#pragma once
// The IR as text, both ways: print(parse(print(k))) == print(k).

#include <optional>
#include <string>
#include <string_view>

#include "pk/frontend/diagnostics.h"
#include "pk/ir/ir.h"

namespace pk::ir {

[[nodiscard]] std::string print(const Kernel& kernel);
/// One instruction without its regions, for messages.
[[nodiscard]] std::string print(const Kernel& kernel, const Inst& inst);
[[nodiscard]] std::string print(const Type& type);
[[nodiscard]] std::string print(const Shape& shape);

/// Reads what `print` writes. `file` is where the text stands in `sources`; errors are reported as PK0110.
[[nodiscard]] std::optional<Kernel> parse_kernel(const Sources& sources, FileId file, Diagnostics& diags);

}  // namespace pk::ir
