#pragma once
// Kernels from IR text, for the tests of this folder.

#include <string>

#include "pk/ir/ir.h"

namespace pk::ir::testing {

/// The kernel of `text`; a test that gives text that does not parse fails with the report.
[[nodiscard]] Kernel kernel_of(const std::string& text);

/// The first report of parsing `text`, or "" when it parses.
[[nodiscard]] std::string parse_error(const std::string& text);

/// A kernel with one output and this body: `in f32[K, 128]` is %x, `out f32[K, 128]` is %y, and %n an i32 scalar.
[[nodiscard]] std::string with_body(const std::string& body, const std::string& mesh = "grid b: 1");

}  // namespace pk::ir::testing
