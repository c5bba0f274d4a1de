// IR text is read back as it was written, for every form that instructions have.

#include "pk/ir/text.h"

#include <catch2/catch.hpp>

#include "support.h"

using namespace pk::ir;
using namespace pk::ir::testing;

namespace {
void round_trip(const std::string& text) { CHECK(print(kernel_of(text)) == text); }
}  // namespace

TEST_CASE("a kernel's head is read back") {
  round_trip(R"(kernel @gemm bind(BM = "128", T = "bf16") dims(M, N)
  (A: in bf16[M, 64], s: value f32, C: out f32[M, = 0, N])
  mesh(grid m: ?, cluster c: 2, wg w: 3) nonportable {
  launch (%A: gmem bf16[?, 64], %s: f32, %C: gmem f32[?, ?, ?]) {
    %0 = dim_value {dim = 0} : index
    %c128 = constant {value_int = 128} : index
    %1 = rem %0, %c128 : index
    %c0 = constant {value_int = 0} : index
    %2 = eq %1, %c0 : bool
    require %2 {text = "M % \"BM\" == 0"}
    yield %0, %c128, %c128, %1
  }
  body (%A.1: gmem bf16[?, 64], %s.1: f32, %C.1: gmem f32[?, ?, ?]) {
  }
}
)");
}

TEST_CASE("types, attributes and views are read back") {
  round_trip(with_body(R"(    %0 = constant {value_float = 0.5} : f32
    %1 = splat %0 : f32[64, 128]
    %2 = constant {value_int = -3} : i8
    %v = var %1 : cell f32[64, 128]
    %3 = var_get %v : f32[64, 128]
    %4 = reduce_sum %3 {axis = 1} : f32[64]
    %5 = cast %4 : f8e4m3[64]
    scoped {collective = false} {
      %tile = alloc {name = "tile", tiled = [8, 64], swizzle = 128} : smem bf16[4, 128, 64]
      %ready = alloc {name = "ready", arrivals = 2} : barrier[4]
      %once = alloc {name = "once", arrivals = 1} : barrier[]
      %acc = alloc {name = "acc"} : acc f32[64, 256]
      %turn = alloc {name = "turn", global} : semaphore[8]
      %c2 = constant {value_int = 2} : index
      %c0 = constant {value_int = 0} : index
      %6 = subview %tile, %c2, %c0, %c0 {sizes = [1, 128, 64], squeeze = [0]} : smem bf16[128, 64]
      %7 = ref_transpose %6 : smem bf16[64, 128]
      %8 = subview %ready, %c2 {sizes = [1], squeeze = [0]} : barrier[]
      barrier_wait %8
      print %2 {texts = ["a \"quoted\" word", ""]}
    }
)"));
}

TEST_CASE("control flow is read back") {
  round_trip(with_body(R"(    %c0 = constant {value_int = 0} : index
    %c1.1 = constant {value_int = 1} : index
    %c9 = constant {value_int = 9} : index
    for %c0, %c9, %c1.1 {unroll} (%i: index) {
      %0 = lt %i, %c1.1 : bool
      if %0 {
        continue
      } {
        break
      }
      if %0 {
        commit_smem
      }
    }
    while {
      %1 = constant {value_int = 0} : bool
      yield %1
    } {
    }
    specialize {arms = [0, 1, 1], registers = [40, 232]} {
      wgmma_wait {count = 0}
    } {
      sync {threads = [1, 2]}
    }
    block {
      exit_block
    }
)",
                       "wg w: 3"));
}

TEST_CASE("text that is no IR gets one report with its place") {
  CHECK(parse_error("") == "expected `kernel`, found `the end`");
  CHECK(parse_error(with_body("    frobnicate %n.1\n")) == "there is no operation `frobnicate`");
  CHECK(parse_error(with_body("    barrier_wait %nowhere\n")) == "`%nowhere` is not defined here");
  CHECK(parse_error(with_body("    wgmma_wait {counts = 1}\n")) ==
        "expected an attribute; there is no `counts`, found `=`");
  CHECK(parse_error(with_body("    %0 = neg %n.1 : f33\n")) == "expected an element type, found `f33`");
}

TEST_CASE("deep nesting and cut text do not bring the reader down") {
  std::string deep;
  for (int i = 0; i < 5000; ++i) deep += "block {\n";
  CHECK_FALSE(parse_error(with_body(deep)).empty());
  const std::string whole =
      with_body("    %0 = constant {value_int = 1} : index\n    print %0 {texts = [\"x\", \"y\"]}\n");
  for (std::size_t length = 0; length + 2 < whole.size(); ++length)
    CHECK_FALSE(parse_error(whole.substr(0, length)).empty());
}
