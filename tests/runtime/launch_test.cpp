// Launches from outside a test: outputs are allocated, literals take the parameters' types, in-outs are copied, kernels
// are compiled once, and arguments that do not fit are refused.

#include <catch2/catch.hpp>
#include <string>

#include "pk/ir/numerics.h"
#include "pk/runtime/test_runner.h"
#include "pk/sema/sema.h"

using namespace pk;
using ir::Dtype;
using runtime::Array;

namespace {

const char* const text = R"(
kernel add<T: f32 | f16>(in x: T[N], in by: T, inout count: i32[1], out y: T[N], out last: T[N - 4])
where N % 128 == 0
mesh(grid b: N / 128)
{
    y[b * 128 +: 128] = x[b * 128 +: 128] + by;
    atomic_add(count.at[0], 1);
    if b == 0 { for i in 0 .. N - 4 { last[i] = x[i + 4]; } }
}
)";

/// A module that holds `add`, and what came of the last launch.
struct Fixture {
  Sources sources;
  Diagnostics diags;
  sema::ModulePtr module;
  runtime::KernelCache cache;

  Fixture() {
    const FileId file = sources.add("launch.pk", text);
    module = sema::load(sources, file, diags);
    sema::check(*module, ir::sm_90a, diags);
    REQUIRE_FALSE(diags.has_errors());
  }
  std::optional<std::vector<Array>> add(std::vector<Array> inputs) {
    runtime::LaunchRequest request;
    request.kernel = sema::find_kernel(*module, "add");
    request.inputs = std::move(inputs);
    return runtime::launch(sources, *module, request, {}, &cache, diags);
  }
};

Array full(Dtype dtype, ir::Shape shape, double value) {
  Array a = runtime::make_array(dtype, std::move(shape));
  for (std::int64_t i = 0; i < a.size(); ++i) {
    ir::Scalar::of_double(dtype, value).store(a.data.data() + i * ir::byte_size(dtype));
  }
  return a;
}
double element(const Array& a, std::int64_t i) {
  return ir::Scalar::load(a.dtype, a.data.data() + i * ir::byte_size(a.dtype)).as_double();
}

}  // namespace

TEST_CASE("a launch allocates outputs and leaves its inputs alone", "[launch]") {
  Fixture f;
  Array literal = full(Dtype::f64, {}, 0.5);
  literal.untyped = true;
  const Array count = full(Dtype::i32, {1}, 10);
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::f32}) {
    const auto outputs = f.add({full(dtype, {256}, 2), literal, count});
    REQUIRE(outputs);
    REQUIRE(outputs->size() == 3);
    CHECK(element((*outputs)[0], 0) == 12);  // `count`: one for each of two blocks
    CHECK((*outputs)[1].dtype == dtype);
    CHECK((*outputs)[1].shape == ir::Shape{256});
    CHECK(element((*outputs)[1], 255) == 2.5);
    CHECK((*outputs)[2].shape == ir::Shape{252});
    CHECK(element((*outputs)[2], 251) == 2);
  }
  CHECK(element(count, 0) == 10);
}

TEST_CASE("arguments that do not fit are refused with PK0907", "[launch]") {
  const Array one = full(Dtype::i32, {1}, 0), by = full(Dtype::f32, {}, 1);
  const std::vector<std::vector<Array>> wrong{
      {full(Dtype::f32, {100}, 2), by, one},                       // the where clause is false
      {full(Dtype::i32, {128}, 2), by, one},                       // T cannot be i32
      {full(Dtype::f16, {128}, 2), by, one},                       // T is f16 and f32
      {full(Dtype::f32, {128, 2}, 2), by, one},                    // another rank
      {full(Dtype::f32, {128}, 2), by, full(Dtype::i32, {2}, 0)},  // another extent
      {full(Dtype::f32, {128}, 2), by},                            // too few
      {full(Dtype::f32, {128}, 2), by, one, one},                  // too many
  };
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    INFO("case " << i);
    Fixture f;
    CHECK_FALSE(f.add(wrong[i]));
    REQUIRE(f.diags.has_errors());
    CHECK(code_name(f.diags.all().front().code) == "PK0907");
  }
}

TEST_CASE("a zero-sized launch gives zero-sized outputs, or a message where an extent would be negative", "[launch]") {
  Fixture f;
  CHECK_FALSE(f.add({full(Dtype::f32, {0}, 0), full(Dtype::f32, {}, 1), full(Dtype::i32, {1}, 0)}));
  REQUIRE(f.diags.error_count() == 1);
  CHECK(f.diags.all().front().message.find("last") != std::string::npos);
}
