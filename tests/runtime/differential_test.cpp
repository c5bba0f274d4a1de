// One table of numeric semantics: the same expression, made at random, in a kernel over tiles, in a kernel over scalars
// (where constants fold at compile time) and in a test item on the host must give the same bits.

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "pk/frontend/render.h"
#include "pk/runtime/test_runner.h"
#include "pk/sema/sema.h"

using namespace pk;

namespace {

using Words = std::vector<std::string_view>;

const Words floats{"f16", "bf16", "f32", "f64"};
const Words integers{"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"};
const Words functions{"abs",   "sign", "exp", "exp2", "expm1", "log", "log2",  "log10", "log1p", "sqrt",
                      "rsqrt", "sin",  "cos", "tan",  "tanh",  "erf", "floor", "ceil",  "trunc", "round"};
const Words float_pairs{"min", "max", "fmin", "fmax", "pow", "atan2", "copysign"};
const Words integer_operators{"+", "-", "*", "&", "|", "^", "<<", ">>"};
const Words comparisons{"<", "<=", "==", "!=", ">", ">="};

/// Makes expressions whose leaves are `x` and `z`, cast to the type that is wanted.
class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  std::string_view any_type() { return chance(40) ? pick(floats) : pick(integers); }
  std::string expression(std::string_view type, int depth) {
    if (depth == 0) return leaf(type);
    const auto sub = [&] { return expression(type, depth - 1); };
    if (chance(15)) return fmt::format("({} as {})", expression(any_type(), depth - 1), type);
    if (chance(15)) {
      const std::string left = sub(), right = sub(), yes = sub();
      return fmt::format("select({} {} {}, {}, {})", left, pick(comparisons), right, yes, sub());
    }
    return is_float(type) ? float_expression(sub) : integer_expression(sub);
  }

 private:
  static bool is_float(std::string_view type) { return type.find('f') != std::string_view::npos; }
  bool chance(unsigned percent) { return random_() % 100 < percent; }
  std::string_view pick(const Words& words) { return words[random_() % words.size()]; }
  std::string leaf(std::string_view type) {
    if (chance(20))
      return fmt::format("(({}) as {})", pick({"1.5", "0.1", "-3.25", "65504.0", "200", "-7", "70000", "-129"}), type);
    return fmt::format("({} as {})", pick({"{x}", "{z}"}), type);
  }
  template <class Sub>
  std::string float_expression(Sub sub) {
    switch (random_() % 5) {
      case 0:
        return fmt::format("{}({})", pick(functions), sub());
      case 1: {
        const std::string left = sub();
        return fmt::format("{}({}, {})", pick(float_pairs), left, sub());
      }
      case 2: {
        const std::string a = sub(), b = sub();
        return fmt::format("fma({}, {}, {})", a, b, sub());
      }
      case 3:
        return fmt::format("clamp({}, -1.5, 100.0)", sub());
      default: {
        const std::string left = sub();
        return fmt::format("({} {} {})", left, pick({"+", "-", "*", "/", "%"}), sub());
      }
    }
  }
  template <class Sub>
  std::string integer_expression(Sub sub) {
    switch (random_() % 5) {
      case 0:
        return fmt::format("{}({})", pick({"abs", "sign", "popcount", "clz", "-", "~"}), sub());
      case 1:
        return fmt::format("{}({}, {})", pick({"floordiv", "mod", "cdiv"}), sub(), pick({"3", "7"}));
      case 2:
        return fmt::format("({} {} {})", sub(), pick({"/", "%"}), pick({"3", "7"}));
      case 3: {
        const std::string left = sub();
        return fmt::format("{}({}, {})", pick({"min", "max"}), left, sub());
      }
      default: {
        const std::string left = sub();
        return fmt::format("({} {} {})", left, pick(integer_operators), sub());
      }
    }
  }

  std::mt19937 random_;
};

/// `expression` with what stands for its leaves.
std::string with_leaves(std::string expression, std::string_view x, std::string_view z) {
  for (const auto& [leaf, text] : {std::pair<std::string_view, std::string_view>{"{x}", x}, {"{z}", z}}) {
    for (std::size_t at = expression.find(leaf); at != std::string::npos; at = expression.find(leaf, at))
      expression.replace(at, leaf.size(), text);
  }
  return expression;
}

/// A kernel and its test: over whole tiles, over one scalar, or of constants only.
std::string program(Generator& generator, int number) {
  const std::string_view result = generator.any_type();
  const std::string expression = generator.expression(result, 3);
  const std::string types = fmt::format("in x: f32[96], in z: f32[96], out y: {}[96]", result);
  const std::string inputs =
      "let x = random(f32[96], seed = 1, lo = -300.0, hi = 300.0); let z = random(f32[96], seed = 2, lo = -3.0, hi = "
      "3.0);";
  const auto one = [&](std::string_view x, std::string_view z) {
    return fmt::format("full({}[96], {})", result, with_leaves(expression, x, z));
  };
  switch (number % 3) {
    case 0:
      // The outer select gives the array's shape to an expression in which neither x nor z occurs.
      return fmt::format(
          "kernel k({}) mesh(grid b: 1) {{ y[...] = {}; }}\ntest t {{ {} let e = {}; expect_equal(launch k(x, z), "
          "select(x == x, e, e)); }}\n",
          types, with_leaves(expression, "x[...]", "z[...]"), inputs, with_leaves(expression, "x", "z"));
    case 1:
      return fmt::format(
          "kernel k({}) mesh(grid b: 1) {{ y[...] = {}; }}\ntest t {{ {} expect_equal(launch k(x, z), {}); }}\n", types,
          one("x[1]", "z[2]"), inputs, one("x[1]", "z[2]"));
    default:
      return fmt::format(
          "kernel k(out y: {}[96]) mesh(grid b: 1) {{ y[...] = {}; }}\ntest t {{ expect_equal(launch k(), {}); }}\n",
          result, one("250.75", "-1.5"), one("250.75", "-1.5"));
  }
}

}  // namespace

TEST_CASE("kernels, folded constants and the host agree bit for bit", "[differential]") {
  Generator generator(20240607);
  for (int number = 0; number < 300; ++number) {
    Sources sources;
    const std::string text = program(generator, number);
    const FileId file = sources.add("generated.pk", text);
    Diagnostics diags;
    const sema::ModulePtr module = sema::load(sources, file, diags);
    sema::check(*module, ir::sm_90a, diags);
    INFO(text);
    for (const Diagnostic& d : diags.all()) UNSCOPED_INFO(render(d, sources, Style{}));
    REQUIRE_FALSE(diags.has_errors());
    const runtime::TestResult result = runtime::run_test(sources, *module, *sema::tests(*module).front(), {});
    for (const Diagnostic& d : result.diagnostics) UNSCOPED_INFO(render(d, sources, Style{}));
    CHECK(result.status == runtime::Status::pass);
  }
}
