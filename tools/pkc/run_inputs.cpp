#include "run_inputs.h"

#include <fmt/format.h>

#include <charconv>

#include "commands.h"
#include "pk/ir/numerics.h"

namespace pk::tools {
namespace {

using runtime::Array;

/// What names in a parameter's type stand for.
class Names {
 public:
  Names(const sema::Module& module, const ast::Kernel& kernel, const std::vector<std::string>& dims,
        const std::vector<std::string>& settings, sema::Bindings& fixed)
      : tree_(sema::tree(module)) {
    for (const ast::Generic& generic : kernel.generics) {
      if (!generic.default_value.valid()) continue;
      const ast::Expr& value = tree_[generic.default_value];
      if (const auto* name = std::get_if<ast::NameExpr>(&value.node)) {
        if (const auto dtype = ir::parse_dtype(name->name.text)) dtypes_[std::string(generic.name.text)] = *dtype;
      } else if (const auto number = evaluate(generic.default_value)) {
        numbers_[std::string(generic.name.text)] = *number;
      }
    }
    for (const std::string& text : settings) {
      const std::size_t equals = text.find('=');
      const auto dtype =
          equals == std::string::npos ? std::nullopt : ir::parse_dtype(std::string_view(text).substr(equals + 1));
      const auto named = parse_named_integer(text);
      if (dtype) {
        fixed.generics[text.substr(0, equals)] = dtypes_[text.substr(0, equals)] = *dtype;
      } else if (named) {
        fixed.generics[named->name] = numbers_[named->name] = named->value;
      } else {
        fail(fmt::format("`--set {}` is not NAME=integer or NAME=dtype", text));
      }
    }
    for (const std::string& text : dims) {
      const auto named = parse_named_integer(text);
      if (!named) {
        fail(fmt::format("`-D {}` is not NAME=integer", text));
        continue;
      }
      numbers_[named->name] = named->value;
    }
  }

  [[nodiscard]] bool ok() const { return ok_; }

  [[nodiscard]] std::optional<ir::Dtype> dtype(std::string_view name) const {
    if (const auto own = ir::parse_dtype(name)) return own;
    const auto at = dtypes_.find(name);
    return at == dtypes_.end() ? std::nullopt : std::optional(at->second);
  }
  [[nodiscard]] std::optional<std::int64_t> evaluate(ast::ExprId id) const {
    const ast::Expr& e = tree_[id];
    if (const auto* literal = std::get_if<ast::IntLiteral>(&e.node)) return static_cast<std::int64_t>(literal->value);
    if (const auto* name = std::get_if<ast::NameExpr>(&e.node)) {
      const auto at = numbers_.find(name->name.text);
      return at == numbers_.end() ? std::nullopt : std::optional(at->second);
    }
    if (const auto* binary = std::get_if<ast::Binary>(&e.node)) {
      const auto a = evaluate(binary->left);
      const auto b = evaluate(binary->right);
      if (!a || !b) return std::nullopt;
      if (binary->op == ast::BinaryOp::add) return *a + *b;
      if (binary->op == ast::BinaryOp::sub) return *a - *b;
      if (binary->op == ast::BinaryOp::mul) return *a * *b;
      if (binary->op == ast::BinaryOp::div && *b > 0) return *a / *b;
    }
    return std::nullopt;
  }
  void fail(const std::string& message) {
    fmt::print(stderr, "pkc: {}\n", message);
    ok_ = false;
  }

 private:
  const ast::Ast& tree_;
  std::map<std::string, ir::Dtype, std::less<>> dtypes_;
  std::map<std::string, std::int64_t, std::less<>> numbers_;
  bool ok_ = true;
};

/// `word(argument)` or `word`.
struct Recipe {
  std::string_view word;
  std::string_view argument;
};
Recipe split_recipe(std::string_view text) {
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos || !text.ends_with(')')) return {text, {}};
  return {text.substr(0, open), text.substr(open + 1, text.size() - open - 2)};
}

std::optional<ir::Shape> param_shape(const sema::Module& module, const ast::Param& param, Names& names) {
  ir::Shape shape;
  for (const ast::ExprId dim : sema::tree(module)[param.type].dims) {
    const auto extent = names.evaluate(dim);
    if (!extent || *extent < 0) {
      names.fail(fmt::format(
          "the shape of `{}` is not known: give its dimensions with -D NAME=value (and generics with --set)",
          param.name.text));
      return std::nullopt;
    }
    shape.push_back(*extent);
  }
  return shape;
}

std::optional<Array> scalar_input(std::string_view name, ir::Dtype dtype, std::string_view text, Names& names) {
  const auto value = ir::parse_scalar(dtype, text);
  if (!value) {
    names.fail(fmt::format("`{}` is no {} for `{}`", text, ir::spelling(dtype), name));
    return std::nullopt;
  }
  Array array = runtime::make_array(dtype, {});
  value->store(array.data.data());
  return array;
}

std::optional<Array> generated(const sema::Module& module, const ast::Param& param, ir::Dtype dtype,
                               const Recipe& recipe, Names& names) {
  const auto shape = param_shape(module, param, names);
  if (!shape) return std::nullopt;
  if (recipe.word == "random") {
    std::string_view seed = recipe.argument;
    if (seed.starts_with("seed=")) seed.remove_prefix(5);
    std::uint64_t value = 0;
    std::from_chars(seed.data(), seed.data() + seed.size(), value);
    const bool floating = ir::is_floating(dtype);
    return runtime::random_array(dtype, *shape, value, floating ? -1.0 : 0.0, floating ? 1.0 : 9.0);
  }
  Array array = runtime::make_array(dtype, *shape);
  const auto fill =
      recipe.word == "full" ? ir::parse_scalar(dtype, recipe.argument) : std::optional(ir::Scalar::of_int(dtype, 0));
  if (!fill) {
    names.fail(fmt::format("`{}` is no {} for `{}`", recipe.argument, ir::spelling(dtype), param.name.text));
    return std::nullopt;
  }
  for (std::int64_t i = 0; i < array.size(); ++i) {
    const ir::Scalar value = recipe.word == "iota" ? ir::Scalar::of_int(dtype, i) : *fill;
    value.store(array.data.data() + i * ir::byte_size(dtype));
  }
  return array;
}

std::optional<Array> make_input(const sema::Module& module, const ast::Param& param, const std::string& text,
                                Names& names) {
  const ast::TypeExpr& type = sema::tree(module)[param.type];
  const auto dtype = names.dtype(type.base.text);
  if (!dtype) {
    names.fail(fmt::format("the element type of `{}` is not known: give it with --set {}=f32", param.name.text,
                           type.base.text));
    return std::nullopt;
  }
  if (!type.brackets) return scalar_input(param.name.text, *dtype, text, names);
  const Recipe recipe = split_recipe(text);
  if (recipe.word == "random" || recipe.word == "iota" || recipe.word == "full" || recipe.word == "zeros")
    return generated(module, param, *dtype, recipe, names);
  Result<Array> array = runtime::read_npy(text);
  if (!array) {
    names.fail(array.error().message);
    return std::nullopt;
  }
  // NumPy has no bf16 and fp8: files hold their bits.
  if (ir::byte_size(array->dtype) == ir::byte_size(*dtype) && ir::info(array->dtype).cls == ir::DtypeClass::uint)
    array->dtype = *dtype;
  return std::move(*array);
}

}  // namespace

std::optional<std::vector<Array>> make_inputs(const sema::Module& module, const ast::Kernel& kernel,
                                              const std::map<std::string, std::string>& inputs,
                                              const std::vector<std::string>& dims,
                                              const std::vector<std::string>& settings, sema::Bindings& fixed) {
  Names names(module, kernel, dims, settings, fixed);
  std::vector<Array> out;
  for (const ast::Param& param : kernel.params) {
    if (param.mode == ast::Mode::out) continue;
    const auto text = inputs.find(std::string(param.name.text));
    if (text == inputs.end()) {
      names.fail(fmt::format("parameter `{0}` has no input: give --in {0}=file.npy, --in {0}=random(seed=1), …",
                             param.name.text));
      continue;
    }
    auto array = make_input(module, param, text->second, names);
    if (array) out.push_back(std::move(*array));
  }
  if (!names.ok()) return std::nullopt;
  return out;
}

std::string element_text(const Array& array, std::int64_t i) {
  return ir::format(ir::Scalar::load(array.dtype, array.data.data() + i * ir::byte_size(array.dtype)));
}

}  // namespace pk::tools
