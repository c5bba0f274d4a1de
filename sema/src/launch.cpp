// Binding a launch: generics from arguments, then everything that the sizes decide (shapes, where clauses), so that a
// refused launch is explained in terms of its arguments.

#include <map>

#include "elaborator.h"
#include "suggest.h"

namespace pk::sema {
namespace {

std::string shape_of(const ir::Shape& shape) {
  std::string text = "[";
  for (const std::int64_t extent : shape) text += fmt::format("{}{}", text.size() > 1 ? ", " : "", extent);
  return text + "]";
}

std::string value_text(const GenericValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *number);
  return std::string(ir::spelling(std::get<ir::Dtype>(value)));
}

class LaunchBinder {
 public:
  LaunchBinder(const Module& module, const ast::Kernel& kernel, Span span, Diagnostics& diags)
      : module_(module), tree_(module.main().tree), kernel_(kernel), span_(span), diags_(diags) {}

  std::optional<Bindings> bind(std::span<const ExplicitGeneric> generics, std::span<const ArgInfo> args) {
    if (!take_generics(generics) || !match_args(args)) return std::nullopt;
    for (const Matched& m : matched_) {
      if (!deduce(m)) return std::nullopt;
    }
    if (!fill_defaults() || !check_shapes() || !check_where()) return std::nullopt;
    return bindings_;
  }

 private:
  struct Matched {
    const ast::Param* param;
    const ArgInfo* arg;
  };

  DiagnosticBuilder refuse(Span at, std::string text) {
    return diags_.report<diag::run_launch>(at.valid() ? at : span_, text);
  }

  [[nodiscard]] const ast::Generic* generic_named(std::string_view name) const {
    for (const ast::Generic& generic : kernel_.generics) {
      if (generic.name.text == name) return &generic;
    }
    return nullptr;
  }

  bool accept(const ast::Generic& generic, const GenericValue& value, Span at) {
    if (is_int_generic(generic) != std::holds_alternative<std::int64_t>(value)) {
      refuse(at, fmt::format("`{}` of `{}` is {}, not {}", generic.name.text, kernel_.name.text,
                             is_int_generic(generic) ? "an integer" : "a type", value_text(value)))
          .label(generic.span, "declared here");
      return false;
    }
    if (is_int_generic(generic)) return true;
    std::vector<std::string> allowed;
    for (const ast::Name& kind : generic.kinds) {
      if (kind.text == value_text(value)) return true;
      allowed.emplace_back(kind.text);
    }
    refuse(at, fmt::format("`{}` of `{}` may be {}, not `{}`", generic.name.text, kernel_.name.text,
                           quoted_list(allowed), value_text(value)))
        .label(generic.span, "declared here");
    return false;
  }

  bool take_generics(std::span<const ExplicitGeneric> generics) {
    std::size_t next = 0;
    for (const ExplicitGeneric& given : generics) {
      const ast::Generic* generic = nullptr;
      if (!given.name.empty()) {
        generic = generic_named(given.name);
      } else if (next < kernel_.generics.size()) {
        generic = &kernel_.generics[next++];
      }
      if (generic == nullptr) {
        refuse(given.span,
               given.name.empty()
                   ? fmt::format("`{}` has {} generic parameters", kernel_.name.text, kernel_.generics.size())
                   : fmt::format("`{}` has no generic parameter `{}`", kernel_.name.text, given.name));
        return false;
      }
      if (!accept(*generic, given.value, given.span)) return false;
      bindings_.generics.insert_or_assign(std::string(generic->name.text), given.value);
      origin_.insert_or_assign(std::string(generic->name.text), std::string("given"));
    }
    return true;
  }

  bool match_args(std::span<const ArgInfo> args) {
    std::size_t next = 0;
    std::size_t inputs = 0;
    for (const ast::Param& param : kernel_.params) {
      if (param.mode == ast::Mode::out) continue;
      ++inputs;
      if (next < args.size()) matched_.push_back({&param, &args[next++]});
    }
    if (inputs == args.size()) return true;
    refuse(span_, fmt::format("`{}` takes {} argument{}, not {}", kernel_.name.text, inputs, inputs == 1 ? "" : "s",
                              args.size()))
        .label(kernel_.name.span, "defined here");
    return false;
  }

  bool deduce(const Matched& m) {
    if (!m.param->type.valid()) return true;
    const ast::TypeExpr& type = tree_[m.param->type];
    const std::string_view name = m.param->name.text;
    if (type.brackets == m.arg->scalar) {
      refuse(span_, type.brackets ? fmt::format("`{}` is an array, and a scalar is passed", name)
                                  : fmt::format("`{}` is a scalar, and an array of the shape {} is passed", name,
                                                shape_of(m.arg->shape)))
          .label(m.param->span, "declared here");
      return false;
    }
    if (const ast::Generic* generic = generic_named(type.base.text)) {
      const auto known = bindings_.generics.find(generic->name.text);
      if (known == bindings_.generics.end()) {
        if (!m.arg->literal) {
          if (!accept(*generic, m.arg->dtype, span_)) return false;
          bindings_.generics.emplace(std::string(generic->name.text), m.arg->dtype);
          origin_.insert_or_assign(std::string(generic->name.text), fmt::format("from `{}`", name));
        }
      } else if (!m.arg->literal && std::holds_alternative<ir::Dtype>(known->second) &&
                 std::get<ir::Dtype>(known->second) != m.arg->dtype) {
        refuse(span_,
               fmt::format("`{}` has elements of type `{}`, but `{}` is `{}` ({})", name, ir::spelling(m.arg->dtype),
                           generic->name.text, value_text(known->second), origin_[std::string(generic->name.text)]))
            .label(m.param->span, "declared here");
        return false;
      }
    } else if (const auto dtype = ir::parse_dtype(type.base.text); dtype && !m.arg->literal && *dtype != m.arg->dtype) {
      refuse(span_, fmt::format("`{}` has elements of type `{}`, and `{}` is passed", name, ir::spelling(*dtype),
                                ir::spelling(m.arg->dtype)))
          .label(m.param->span, "declared here")
          .help(fmt::format("convert the argument: `x as {}`", ir::spelling(*dtype)));
      return false;
    }
    if (!type.brackets) return true;
    if (type.dims.size() != m.arg->shape.size()) {
      refuse(span_, fmt::format("`{}` has {} {}, and the shape {} is passed", name, type.dims.size(),
                                type.dims.size() == 1 ? "axis" : "axes", shape_of(m.arg->shape)))
          .label(m.param->span, "declared here");
      return false;
    }
    for (std::size_t i = 0; i < type.dims.size(); ++i) {
      const auto* dim = std::get_if<ast::NameExpr>(&tree_[type.dims[i]].node);
      if (dim != nullptr && !bind_extent(dim->name.text, m.arg->shape[i], *m.param)) return false;
    }
    return true;
  }

  bool bind_extent(std::string_view dim, std::int64_t extent, const ast::Param& param) {
    const ast::Generic* generic = generic_named(dim);
    const bool is_scalar_param = std::any_of(kernel_.params.begin(), kernel_.params.end(),
                                             [dim](const ast::Param& p) { return p.name.text == dim; });
    if (generic == nullptr && (is_scalar_param || module_.find(module_.main(), dim)))
      return true;  // compared in check_shapes
    std::optional<std::int64_t> known;
    if (generic != nullptr) {
      const auto it = bindings_.generics.find(dim);
      if (it != bindings_.generics.end() && std::holds_alternative<std::int64_t>(it->second))
        known = std::get<std::int64_t>(it->second);
    } else if (const auto it = dims_.find(dim); it != dims_.end()) {
      known = it->second;
    }
    if (!known) {
      if (generic != nullptr) {
        bindings_.generics.insert_or_assign(std::string(dim), extent);
      } else {
        dims_.emplace(std::string(dim), extent);
      }
      origin_.insert_or_assign(std::string(dim), fmt::format("from `{}`", param.name.text));
      return true;
    }
    if (*known == extent) return true;
    refuse(span_, fmt::format("`{}` is {} ({}), but `{}` has the extent {} there", dim, *known,
                              origin_[std::string(dim)], param.name.text, extent))
        .label(param.span, "declared here");
    return false;
  }

  /// An elaborator in which all names of the signature have their values.
  void define_names(Elaborator& host) {
    host.begin_host(module_.main());
    for (const ast::Generic& generic : kernel_.generics) {
      const auto it = bindings_.generics.find(generic.name.text);
      if (it == bindings_.generics.end()) continue;
      const auto* number = std::get_if<std::int64_t>(&it->second);
      host.define(generic.name.text, generic.span,
                  number != nullptr ? Val::integer(Sym(*number)) : Val::of_dtype(std::get<ir::Dtype>(it->second)));
    }
    for (const auto& [name, extent] : dims_) host.define(name, {}, Val::integer(Sym(extent), true));
  }

  bool fill_defaults() {
    for (const ast::Generic& generic : kernel_.generics) {
      const std::string name(generic.name.text);
      if (bindings_.generics.contains(name)) continue;
      if (!generic.default_value.valid()) {
        refuse(span_, fmt::format("`{}` of `{}` has no value: no argument says what it is, and it has no default", name,
                                  kernel_.name.text))
            .label(generic.span, "declared here")
            .help(fmt::format("give it: `launch {}<{} = …>(…)`", kernel_.name.text, name));
        return false;
      }
      Diagnostics ignored;  // a wrong default is reported by `check`
      Elaborator host(module_, ir::sm_90a, ignored, Purpose::instance);
      define_names(host);
      const Val v = host.evaluate_type_or_value(generic.default_value);
      if (v.is(Val::Kind::dtype)) {
        bindings_.generics.emplace(name, v.type.dtype);
      } else if (const auto c = v.constant()) {
        bindings_.generics.emplace(name, *c);
      } else {
        refuse(span_, fmt::format("the default of `{}` has no value here", name)).label(generic.span, "declared here");
        return false;
      }
      origin_.insert_or_assign(name, std::string("its default"));
    }
    return true;
  }

  // Extents that are expressions: `in x: f32[2 * N]`.
  bool check_shapes() {
    Diagnostics ignored;
    Elaborator host(module_, ir::sm_90a, ignored, Purpose::instance);
    define_names(host);
    for (const Matched& m : matched_) {
      if (!m.param->type.valid()) continue;
      const ast::TypeExpr& type = tree_[m.param->type];
      for (std::size_t i = 0; i < type.dims.size() && i < m.arg->shape.size(); ++i) {
        const auto* name = std::get_if<ast::NameExpr>(&tree_[type.dims[i]].node);
        if (name != nullptr && (dims_.contains(name->name.text) || generic_named(name->name.text) != nullptr)) continue;
        const auto expected = host.evaluate(type.dims[i]).constant();
        if (!expected || *expected == m.arg->shape[i]) continue;
        refuse(span_, fmt::format("axis {} of `{}` has the extent `{}` = {}, and {} is passed", i, m.param->name.text,
                                  module_.sources().text(tree_[type.dims[i]].span), *expected, m.arg->shape[i]))
            .label(m.param->span, "declared here");
        return false;
      }
    }
    return true;
  }

  // Clauses that depend on scalar arguments are left to the kernel's own check.
  bool check_where() {
    for (const ast::ExprId clause : kernel_.where) {
      Diagnostics ignored;
      Elaborator host(module_, ir::sm_90a, ignored, Purpose::instance);
      define_names(host);
      const Val v = host.evaluate(clause);
      if (!v.is(Val::Kind::boolean) || v.flag) continue;
      const std::string text(module_.sources().text(tree_[clause].span));
      auto builder =
          refuse(span_, fmt::format("`where {}` of `{}` is false{}", text, kernel_.name.text, values_in(text)));
      builder.label(tree_[clause].span, "the clause");
      return false;
    }
    return true;
  }

  /// " for M = 100, BM = 64": the names that occur in a clause.
  [[nodiscard]] std::string values_in(std::string_view text) const {
    std::string values;
    const auto add = [&](std::string_view name, const std::string& value) {
      const auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
      for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
        const bool begins = at == 0 || !word(text[at - 1]);
        const bool ends = at + name.size() == text.size() || !word(text[at + name.size()]);
        if (!begins || !ends) continue;
        values += fmt::format("{}{} = {}", values.empty() ? " for " : ", ", name, value);
        return;
      }
    };
    for (const auto& [name, extent] : dims_) add(name, fmt::format("{}", extent));
    for (const auto& [name, value] : bindings_.generics) add(name, value_text(value));
    return values;
  }

  const Module& module_;
  const ast::Ast& tree_;
  const ast::Kernel& kernel_;
  Span span_;
  Diagnostics& diags_;
  Bindings bindings_;
  std::map<std::string, std::int64_t, std::less<>> dims_;
  std::map<std::string, std::string, std::less<>> origin_;
  std::vector<Matched> matched_;
};

}  // namespace

std::optional<Bindings> bind_launch(const Module& module, const ast::Kernel& kernel,
                                    std::span<const ExplicitGeneric> generics, std::span<const ArgInfo> args,
                                    Span launch_span, Diagnostics& diags) {
  return LaunchBinder(module, kernel, launch_span, diags).bind(generics, args);
}

}  // namespace pk::sema
