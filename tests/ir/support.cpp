#include "support.h"

#include <catch2/catch.hpp>

#include "pk/ir/text.h"

namespace pk::ir::testing {

Kernel kernel_of(const std::string& text) {
  Sources sources;
  Diagnostics diags;
  const FileId file = sources.add("test.pkir", text);
  auto kernel = parse_kernel(sources, file, diags);
  if (!kernel) FAIL(diags.all().at(0).message << " at " << sources.position(file, diags.all().at(0).span.begin).line);
  return std::move(*kernel);
}

std::string parse_error(const std::string& text) {
  Sources sources;
  Diagnostics diags;
  const bool parsed = parse_kernel(sources, sources.add("test.pkir", text), diags).has_value();
  if (parsed) return {};
  REQUIRE(diags.error_count() == 1);
  return diags.all()[0].message;
}

std::string with_body(const std::string& body, const std::string& mesh) {
  return "kernel @k dims(K)\n  (x: in f32[K, 128], n: value i32, y: out f32[K, 128])\n  mesh(" + mesh +
         ") {\n  launch (%x: gmem f32[?, 128], %n: i32, %y: gmem f32[?, 128]) {\n    %c1 = constant {value_int = 1} : "
         "index\n"
         "    yield %c1\n  }\n  body (%x.1: gmem f32[?, 128], %n.1: i32, %y.1: gmem f32[?, 128]) {\n" +
         body + "  }\n}\n";
}

}  // namespace pk::ir::testing
