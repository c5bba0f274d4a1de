// The evaluator of test items without kernels: values, control flow, functions, and the reports of mistakes.

#include <catch2/catch.hpp>
#include <string>

#include "pk/runtime/test_runner.h"
#include "pk/sema/sema.h"

using namespace pk;

namespace {

/// Runs the only test of `text`.
runtime::TestResult run(const std::string& text) {
  Sources sources;
  const FileId file = sources.add("test.pk", text);
  Diagnostics diags;
  const sema::ModulePtr module = sema::load(sources, file, diags);
  INFO(text);
  REQUIRE_FALSE(diags.has_errors());
  REQUIRE(sema::tests(*module).size() == 1);
  return runtime::run_test(sources, *module, *sema::tests(*module)[0], {});
}

void passes(const std::string& body) {
  const runtime::TestResult result = run("test t { " + body + " }");
  INFO(body);
  for (const Diagnostic& d : result.diagnostics) UNSCOPED_INFO(code_name(d.code) << " " << d.message);
  if (result.mismatch && !result.mismatch->first.empty())
    UNSCOPED_INFO(result.mismatch->first[0].got << " instead of " << result.mismatch->first[0].expected);
  CHECK(result.status == runtime::Status::pass);
}

/// The test must fail with this diagnostic, whose message has `word`.
void fails(const std::string& body, const std::string& code, const std::string& word) {
  const runtime::TestResult result = run("test t { " + body + " }");
  INFO(body);
  CHECK(result.status == runtime::Status::fail);
  REQUIRE(result.diagnostics.size() == 1);
  const Diagnostic& d = result.diagnostics[0];
  INFO(d.message);
  CHECK(code_name(d.code) == code);
  CHECK(d.message.find(word) != std::string::npos);
  CHECK(d.span.valid());
}

}  // namespace

TEST_CASE("arithmetic, literals and broadcasting in tests", "[host]") {
  passes(
      "expect_equal(iota(i32[4]) * 2 + 1, concat(full(i32[1], 1), full(i32[1], 3), full(i32[1], 5), full(i32[1], 7), "
      "axis = 0));");
  passes(
      "expect_equal(iota(f32[2])[:, new] * 10.0 + iota(f32[3])[new, :], reshape(iota(f32[6]), [2, 3]) + "
      "iota(f32[2])[:, new] * 7.0);");
  passes("expect_equal(full(u8[2], 200) + 100, full(u8[2], 44));");
  passes("expect_equal(-7 / 2, -3); expect_equal(floordiv(-7, 2), -4); expect_equal(7 % 3 == 1, true);");
  passes("expect_equal(full(u64[1], 18446744073709551615), ~zeros(u64[1]));");
  passes("expect_equal(full(i64[1], -9223372036854775808) < 0, full(bool[1], true));");
  passes("expect_equal(2.0 * 3, 6.0); expect_equal(sqrt(16.0), 4.0); expect_equal(exp(0), 1.0);");
  passes("expect_equal(1.0 / zeros(f32[2]), full(f32[2], inf)); expect_equal(zeros(f32[1]) / 0.0, full(f32[1], nan));");
  passes("expect_equal((257.0 as bf16) as f32, 256.0); expect_equal(1000.0 as f8e4m3 as f32, 448.0);");
  passes("expect_equal(true && !false, true); expect_equal(false && (1 / 0 == 1), false);");
  passes("expect_equal(select(zeros(i32[2]) == 0, full(i32[2], 5), 1 / zeros(i32[2])), full(i32[2], 5));");
  passes("expect_equal(clamp(iota(i32[5]), 1, 3), min(max(iota(i32[5]), 1), 3));");
}

TEST_CASE("indexing and shapes in tests", "[host]") {
  passes(
      "let x = reshape(iota(i32[24]), [2, 3, 4]); expect_equal(x[1, 2, 3], 23); expect_equal(x[1, ..., 0], "
      "iota(i32[3]) * 4 + 12);");
  passes(
      "let x = iota(i32[10]); expect_equal(x[2:5], iota(i32[3]) + 2); expect_equal(x[:2], x[0 +: 2]); "
      "expect_equal(x[8:], iota(i32[2]) + 8);");
  passes(
      "let x = reshape(iota(i32[6]), [2, 3]); expect_equal(x.T, transpose(x)); expect_equal(x.T[2, 1], 5); "
      "expect_equal(x.reshape[6], iota(i32[6]));");
  passes("let x = reshape(iota(i32[24]), [2, 3, 4]); expect_equal(transpose(x, [2, 0, 1])[3, 1, 2], 23);");
  passes(
      "expect_equal(broadcast(iota(i32[2])[:, new], [2, 2]), reshape(concat(zeros(i32[2]), full(i32[2], 1), axis = 0), "
      "[2, 2]));");
  passes(
      "var x = zeros(i32[2, 3]); x[1, :] = iota(i32[3]); x[0, 1] += 7; expect_equal(sum(sum(x, axis = 0), axis = 0), "
      "10);");
  passes("expect_equal(bitcast(u32, full(f32[1], 1.5)), full(u32[1], 1069547520));");
  passes(
      "expect_equal(zeros(f32[0, 4])[:, 1:3], zeros(f32[0, 2])); expect_equal(sum(zeros(f32[0, 2]), axis = 0), "
      "zeros(f32[2]));");
}

TEST_CASE("reductions, products and random numbers in tests", "[host]") {
  passes(
      "let x = reshape(iota(f32[6]), [2, 3]); expect_equal(sum(x, axis = 1), 9.0 * iota(f32[2]) + 3.0); "
      "expect_equal(max(x, axis = -1)[1], 5.0);");
  passes("expect_equal(cumsum(iota(i32[4]), axis = 0)[3], 6); expect_equal(prod(iota(i64[4]) + 1, axis = 0), 24);");
  passes(
      "expect_equal(any(iota(i32[3]) == 2, axis = 0), true); expect_equal(all(iota(i32[3]) == 2, axis = 0), false);");
  passes(
      "let a = reshape(iota(i32[6]), [2, 3]); expect_equal(matmul(a, transpose(a))[1, 1], 50); expect_equal(matmul(a "
      "as f16, transpose(a) as f16)[0, 1], 14.0);");
  passes(
      "let x = random(f32[100], seed = 1); expect_equal(x, random(f32[100], 1)); expect_equal(all(abs(x) <= 1.0, axis "
      "= 0), true);");
  passes("let x = random(i32[500], seed = 1, lo = 3, hi = 4); expect_equal(min(x, axis = 0) + max(x, axis = 0), 7);");
}

TEST_CASE("statements and functions in tests", "[host]") {
  passes("var n = 0; for i in 0 .. 10 step 3 { n += 1; } expect_equal(n, 4);");
  passes(
      "var n = 27; var steps = 0; while n != 1 { if n % 2 == 0 { n = n / 2; } else { n = n * 3 + 1; } steps += 1; } "
      "expect_equal(steps, 111);");
  passes(
      "var n = 0; for i in 0 .. 100 { if i % 2 == 0 { continue; } if i > 9 { break; } n += 1; } expect_equal(n, 5);");
  passes("let (a, b) = (1, full(f32[2], 2.0)); expect_equal(b * 2.0, full(f32[2], 4.0)); expect_equal(a, 1);");
  passes(
      "expect_error(\"PK0908\") { let x = 1 / 0; } expect_error(\"arithmetic\") { let y = iota(i32[3]) / "
      "zeros(i32[3]); }");
  passes("assert(1 < 2, \"fine\"); expect_close(full(f32[1], 1.0), 1.0 + zeros(f32[1]), rtol = 1e-6);");
  const auto passes_with = [](const std::string& items, const std::string& body) {
    const runtime::TestResult result = run(items + " test t { " + body + " }");
    for (const Diagnostic& d : result.diagnostics) UNSCOPED_INFO(code_name(d.code) << " " << d.message);
    CHECK(result.status == runtime::Status::pass);
  };
  passes_with("const N = 4; const HALF = N / 2;", "expect_equal(iota(i32[N])[HALF], 2);");
  passes_with("fn f<T: f16 | f32, N: int>(x: T[N], by: T) -> T[N] { let n = N as index; return x * by + (n as T); }",
              "expect_equal(f(iota(f16[3]), 2.0), iota(f16[3]) * 2.0 + 3.0);");
  passes_with("fn two(x: i32[...]) -> (i32[...], i32) { if true { return (x + 1, 7); } return (x, 0); }",
              "let (a, b) = two(iota(i32[2])); expect_equal(a, iota(i32[2]) + 1); expect_equal(b, 7);");
  passes_with("import std.math;",
              "expect_equal(relu(iota(f32[3]) - 1.0), math.relu(iota(f32[3]) - 1.0)); expect_close(std.math.PI, "
              "3.14159, atol = 1e-5);");
}

TEST_CASE("mistakes in tests are reported", "[host]") {
  fails("expect_equal(x, 1);", "PK0201", "x");
  fails("expect_equal(iota(i32[2]) + iota(f32[2]), 1);", "PK0401", "i32[2]");
  fails("expect_equal(iota(i32[2]) + iota(i32[3]), 1);", "PK0402", "[3]");
  fails("expect_equal(iota(i32[2]), iota(i32[3]));", "PK0402", "shapes");
  fails("let x = iota(i32[2])[2];", "PK0404", "outside axis 0");
  fails("let x = iota(i32[2])[-1];", "PK0404", "index -1");
  fails("let x = iota(i32[2])[1:3];", "PK0404", "1:3");
  fails("let x = iota(i32[2, 2])[1];", "PK0403", "1 indices");
  fails("let x = full(i8[1], 128);", "PK0408", "128");
  fails("let x = full(u32[1], -1);", "PK0408", "-1");
  fails("let x = full(i32[1], 1.5);", "PK0408", "i32");
  fails("let x = sum(iota(i32[2]), axis = 1);", "PK0405", "axis 1");
  fails("let x = sum(iota(i32[2]));", "PK0410", "axis");
  fails("let x = zeros(i32[-1]);", "PK0402", "negative");
  fails("let x = zeros(f64[1000000, 1000000]);", "PK0402", "larger");
  fails("let x = 7 / 0;", "PK0908", "zero");
  fails("let x = iota(i32[3]) % (iota(i32[3]) - 1);", "PK0908", "[1]");
  fails("let x = nothing(1);", "PK0204", "nothing");
  fails("launch nothing(1);", "PK0205", "nothing");
  fails("let x = 1; x = 2;", "PK0412", "var");
  fails("let x = 1; let x = 2;", "PK0202", "x");
  fails("if 1 { }", "PK0406", "integer");
  fails("for i in 0 .. 3 step 0 { }", "PK0908", "step");
  fails("expect_error(\"PK0908\") { let x = 1; }", "PK0807", "none");
  fails("assert(1 > 2, \"no way\");", "PK0909", "no way");
  fails("let (a, b) = iota(i32[2]);", "PK0401", "2 names");
  fails("let x = matmul(iota(f32[2]), iota(f32[2]));", "PK0402", "matmul");
  fails("let x = exp(iota(i32[2]));", "PK0401", "floats");
}

TEST_CASE("closeness is relative, with some room near zero", "[host]") {
  const auto status = [](const std::string& body) { return run("test t { " + body + " }").status; };
  CHECK(status("expect_close(full(f32[1], 101.0), full(f32[1], 100.0), rtol = 0.01);") == runtime::Status::pass);
  CHECK(status("expect_close(full(f32[1], 102.0), full(f32[1], 100.0), rtol = 0.01);") == runtime::Status::fail);
  CHECK(status("expect_close(full(f32[1], 102.0), full(f32[1], 100.0), rtol = 0.01, atol = 1.0);") ==
        runtime::Status::pass);
  CHECK(status("expect_close(full(f32[1], 1.0), full(f32[1], 1.0));") == runtime::Status::pass);
  CHECK(status("expect_close(full(f32[1], 1.0), full(f32[1], 1.0000001));") == runtime::Status::fail);
  CHECK(status("expect_close(full(f32[1], nan), full(f32[1], 1.0), rtol = 1.0);") == runtime::Status::fail);
  CHECK(status("expect_close(full(f32[1], inf), full(f32[1], inf), rtol = 0.1);") == runtime::Status::pass);
  // 100 and 0.000001: the second may be off by a ten thousandth of 1 % of the first, unless the test says otherwise.
  const std::string near = "let b = concat(full(f32[1], 100.0), full(f32[1], 0.000001), axis = 0); ";
  CHECK(status(near + "expect_close(b + 0.00005, b, rtol = 0.01);") == runtime::Status::pass);
  CHECK(status(near + "expect_close(b + 0.0005, b, rtol = 0.01);") == runtime::Status::fail);
  CHECK(status(near + "expect_close(b + 0.00005, b, rtol = 0.01, atol = 0.0);") == runtime::Status::fail);
}

TEST_CASE("differences are counted and listed", "[host]") {
  const runtime::TestResult result = run("test t { expect_equal(reshape(iota(i32[20]), [4, 5]), zeros(i32[4, 5])); }");
  CHECK(result.status == runtime::Status::fail);
  CHECK(result.diagnostics.empty());
  REQUIRE(result.mismatch);
  CHECK(result.mismatch->count == 19);
  CHECK(result.mismatch->total == 20);
  REQUIRE(result.mismatch->first.size() == 8);
  CHECK(result.mismatch->first[5].index == std::vector<std::int64_t>{1, 1});
  CHECK(result.mismatch->first[5].got == "6");
  CHECK(result.mismatch->first[5].expected == "0");
  CHECK(result.mismatch_span.valid());
}

TEST_CASE("a loop without end stops at the step limit", "[host]") {
  Sources sources;
  const FileId file = sources.add("test.pk", "test t { while true { } }");
  Diagnostics diags;
  const sema::ModulePtr module = sema::load(sources, file, diags);
  runtime::RunOptions options;
  options.interp.step_limit = 100;
  const runtime::TestResult result = runtime::run_test(sources, *module, *sema::tests(*module)[0], options);
  REQUIRE(result.diagnostics.size() == 1);
  CHECK(code_name(result.diagnostics[0].code) == "PK0914");
}

TEST_CASE("a test that needs a back end which is not there is skipped", "[host]") {
  Sources sources;
  const FileId file = sources.add(
      "test.pk", "kernel k(in x: f32[N], out y: f32[N]) mesh(grid b: 1) { } test t { launch k(zeros(f32[1])); }");
  Diagnostics diags;
  const sema::ModulePtr module = sema::load(sources, file, diags);
  runtime::RunOptions options;
  options.backend = "cuda";
  const runtime::TestResult result = runtime::run_test(sources, *module, *sema::tests(*module)[0], options);
  CHECK(result.status == runtime::Status::skip);
  CHECK(result.skip_reason.find("cuda") != std::string::npos);
}
