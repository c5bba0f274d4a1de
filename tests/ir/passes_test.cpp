// What the shared passes make of small kernels, whole and in order, small enough to check by hand.

#include "pk/ir/passes.h"

#include <catch2/catch.hpp>

#include "pk/ir/text.h"
#include "support.h"

using namespace pk::ir;
using namespace pk::ir::testing;

namespace {
/// The lines of the body of `kernel`, without its arguments.
std::string body_of(const Kernel& kernel) {
  const std::string text = print(kernel);
  const std::size_t begin = text.find('\n', text.find("  body")) + 1;
  return text.substr(begin, text.rfind("  }\n}") - begin);
}
std::string simplified(const std::string& body) { return body_of(simplify(kernel_of(with_body(body)))); }
std::string expanded(const std::string& body, const std::string& mesh = "grid b: 1") {
  return body_of(run_shared_passes(kernel_of(with_body(body, mesh)), {}));
}
}  // namespace

TEST_CASE("scalars are folded, equal ones computed once, unused ones dropped") {
  CHECK(simplified(R"(    %a = constant {value_int = 6} : index
    %b = constant {value_int = 7} : index
    %c = mul %a, %b : index
    %unused = add %c, %a : index
    %d = dim_value {dim = 0} : index
    %e = dim_value {dim = 0} : index
    %f = add %d, %c : index
    %g = add %e, %c : index
    %h = add %f, %g : index
    print %h {texts = ["", ""]}
)") == R"(    %c = constant {value_int = 42} : index
    %d = dim_value {dim = 0} : index
    %f = add %d, %c : index
    %h = add %f, %f : index
    print %h {texts = ["", ""]}
)");
}

TEST_CASE("a division that may fail stays where it stands") {
  CHECK(simplified(R"(    %zero = constant {value_int = 0} : i32
    %q = div %n.1, %zero : i32
)") == R"(    %zero = constant {value_int = 0} : i32
    %q = div %n.1, %zero : i32
)");
}

TEST_CASE("the branch of a known condition takes the place of its if") {
  CHECK(simplified(R"(    %yes = constant {value_int = 1} : bool
    if %yes {
      commit_smem
    } {
      commit_copies
    }
)") == "    commit_smem\n");
}

TEST_CASE("a pipeline in a kernel with one thread") {
  // Two stages: one step is fetched ahead; slot t % 2 holds step t.
  CHECK(expanded(R"(    %c0 = constant {value_int = 0} : index
    %K = dim_value {dim = 0} : index
    pipeline %c0, %K {stages = 2, delay_release = 0} (%k: index) {
      %v = subview %x.1, %k, %c0 {sizes = [1, 128], squeeze = [0]} : gmem f32[128]
      transfer %v {name = "x_s"}
    } (%x_s: smem f32[128]) {
      step (%j: index) {
        %row = load %x_s : f32[128]
        print %row {texts = ["", ""]}
      }
    }
)") == R"(    %c0 = constant {value_int = 0} : index
    %K = dim_value {dim = 0} : index
    %steps = max %K, %c0 : index
    scoped {collective = false} {
      %x_s = alloc {name = "x_s"} : smem f32[2, 128]
      %full = alloc {name = "full", arrivals = 1} : barrier[2]
      %c1.1 = constant {value_int = 1} : index
      %0 = min %c1.1, %steps : index
      for %c0, %0, %c1.1 (%t: index) {
        %c2 = constant {value_int = 2} : index
        %slot = rem %t, %c2 : index
        %v = subview %x.1, %t, %c0 {sizes = [1, 128], squeeze = [0]} : gmem f32[128]
        %1 = subview %full, %slot {sizes = [1], squeeze = [0]} : barrier[]
        %2 = subview %x_s, %slot, %c0 {sizes = [1, 128], squeeze = [0]} : smem f32[128]
        copy_gmem_to_smem %v, %2, %1
      }
      for %c0, %steps, %c1.1 (%t.1: index) {
        %next = add %t.1, %c1.1 : index
        %3 = lt %next, %steps : bool
        if %3 {
          %c2.1 = constant {value_int = 2} : index
          %slot.1 = rem %next, %c2.1 : index
          %v.1 = subview %x.1, %next, %c0 {sizes = [1, 128], squeeze = [0]} : gmem f32[128]
          %4 = subview %full, %slot.1 {sizes = [1], squeeze = [0]} : barrier[]
          %5 = subview %x_s, %slot.1, %c0 {sizes = [1, 128], squeeze = [0]} : smem f32[128]
          copy_gmem_to_smem %v.1, %5, %4
        }
        %c2.2 = constant {value_int = 2} : index
        %slot.2 = rem %t.1, %c2.2 : index
        %6 = subview %full, %slot.2 {sizes = [1], squeeze = [0]} : barrier[]
        barrier_wait %6
        %x_s.1 = subview %x_s, %slot.2, %c0 {sizes = [1, 128], squeeze = [0]} : smem f32[128]
        %row = load %x_s.1 : f32[128]
        print %row {texts = ["", ""]}
      }
    }
)");
}

TEST_CASE("a memory thread and a compute thread") {
  // Three stages, and a slot is kept for one more step: step t gives back the slot of step t - 1.
  CHECK(expanded(R"(    %c0 = constant {value_int = 0} : index
    %K = dim_value {dim = 0} : index
    pipeline %c0, %K {stages = 3, delay_release = 1, memory = 1, compute = [0], memory_registers = 40, compute_registers = 232} (%k: index) {
      %v = subview %x.1, %k, %c0 {sizes = [1, 128], squeeze = [0]} : gmem f32[128]
      transfer %v {name = "x_s"}
      %w = subview %y.1, %k, %c0 {sizes = [1, 128], squeeze = [0]} : gmem f32[128]
      transfer %w {name = "y_s", store}
    } (%x_s: smem f32[128], %y_s: smem f32[128]) {
      step (%j: index) {
        %row = load %x_s : f32[128]
        store %y_s, %row
      }
    }
)",
                 "wg w: 2") == R"(    %c0 = constant {value_int = 0} : index
    %K = dim_value {dim = 0} : index
    %steps = max %K, %c0 : index
    scoped {collective} {
      %x_s = alloc {name = "x_s"} : smem f32[3, 128]
      %y_s = alloc {name = "y_s"} : smem f32[3, 128]
      %full = alloc {name = "full", arrivals = 1} : barrier[3]
      %empty = alloc {name = "empty", arrivals = 1} : barrier[3]
      specialize {arms = [1, 0], registers = [40, 232]} {
        %c1.1 = constant {value_int = 1} : index
        for %c0, %steps, %c1.1 (%t: index) {
          %c3 = constant {value_int = 3} : index
          %0 = ge %t, %c3 : bool
          if %0 {
            %slot = rem %t, %c3 : index
            %1 = subview %empty, %slot {sizes = [1], squeeze = [0]} : barrier[]
            barrier_wait %1
          }
          %slot.1 = rem %t, %c3 : index
          %v = subview %x.1, %t, %c0 {sizes = [1, 128], squeeze = [0]} : gmem f32[128]
          %2 = subview %full, %slot.1 {sizes = [1], squeeze = [0]} : barrier[]
          %3 = subview %x_s, %slot.1, %c0 {sizes = [1, 128], squeeze = [0]} : smem f32[128]
          copy_gmem_to_smem %v, %3, %2
        }
        %c3.1 = constant {value_int = 3} : index
        %4 = sub %steps, %c3.1 : index
        %5 = max %4, %c0 : index
        for %5, %steps, %c1.1 (%t.1: index) {
          %slot.2 = rem %t.1, %c3.1 : index
          %6 = subview %empty, %slot.2 {sizes = [1], squeeze = [0]} : barrier[]
          barrier_wait %6
        }
      } {
        %c1.2 = constant {value_int = 1} : index
        for %c0, %steps, %c1.2 (%t.2: index) {
          %c3.2 = constant {value_int = 3} : index
          %slot.3 = rem %t.2, %c3.2 : index
          %7 = subview %full, %slot.3 {sizes = [1], squeeze = [0]} : barrier[]
          barrier_wait %7
          %8 = ge %t.2, %c3.2 : bool
          if %8 {
            wait_smem_to_gmem {count = 2, read_only}
          }
          %x_s.1 = subview %x_s, %slot.3, %c0 {sizes = [1, 128], squeeze = [0]} : smem f32[128]
          %y_s.1 = subview %y_s, %slot.3, %c0 {sizes = [1, 128], squeeze = [0]} : smem f32[128]
          %row = load %x_s.1 : f32[128]
          store %y_s.1, %row
          commit_smem
          %w = subview %y.1, %t.2, %c0 {sizes = [1, 128], squeeze = [0]} : gmem f32[128]
          %y_s.2 = subview %y_s, %slot.3, %c0 {sizes = [1, 128], squeeze = [0]} : smem f32[128]
          copy_smem_to_gmem %y_s.2, %w {commit}
          %9 = ge %t.2, %c1.2 : bool
          if %9 {
            %10 = sub %t.2, %c1.2 : index
            %slot.4 = rem %10, %c3.2 : index
            %11 = subview %empty, %slot.4 {sizes = [1], squeeze = [0]} : barrier[]
            barrier_arrive %11
          }
        }
        %12 = sub %steps, %c1.2 : index
        %13 = max %12, %c0 : index
        for %13, %steps, %c1.2 (%t.3: index) {
          %c3.3 = constant {value_int = 3} : index
          %slot.5 = rem %t.3, %c3.3 : index
          %14 = subview %empty, %slot.5 {sizes = [1], squeeze = [0]} : barrier[]
          barrier_arrive %14
        }
        wait_smem_to_gmem {count = 0}
      }
    }
)");
}
