// Calls of functions of the file and of libraries, interpreted on host arrays, and launches of kernels.

#include <fmt/format.h>

#include "host_eval.h"

namespace pk::runtime {
namespace {

constexpr std::size_t max_depth = 100;  ///< frames; functions cannot recurse, so real programs stay far below

bool has_kind(const ast::Generic& generic, std::string_view kind) {
  for (const ast::Name& name : generic.kinds) {
    if (name.text == kind) return true;
  }
  return false;
}

bool is_int_generic(const ast::Generic& generic) { return has_kind(generic, "int"); }

const ast::Generic* find_generic(const ast::Function& function, std::string_view name) {
  for (const ast::Generic& g : function.generics) {
    if (g.name.text == name) return &g;
  }
  return nullptr;
}

}  // namespace

sema::FunctionRef HostEvaluator::find_function(std::string_view name) const {
  // Functions of the file in which the call stands come first: a library's own are not shadowed by the user's.
  for (const ast::Item& item : tree().items) {
    const auto* function = std::get_if<ast::Function>(&item.node);
    if (function != nullptr && function->name.text == name) return {function, &tree()};
  }
  return sema::find_function(module_, name);
}

std::optional<Value> HostEvaluator::call(const ast::Call& node, Span span) {
  const ast::Expr& callee = tree()[node.callee];
  const auto* named = std::get_if<ast::NameExpr>(&callee.node);
  const auto* member = std::get_if<ast::Member>(&callee.node);  // `math.gelu(x)`
  if (named == nullptr && member == nullptr) {
    report<diag::wrong_kind_of_name>(callee.span, sources_.text(callee.span), "no function", "a function");
    return std::nullopt;
  }
  const ast::Name& name = named != nullptr ? named->name : member->name;
  if (const sema::FunctionRef function = find_function(name.text); function.function != nullptr)
    return function_call(function, node, span);
  bool known = false;
  std::optional<Value> result = builtin(name.text, node, span, known);
  if (known) return result;
  if (sema::find_kernel(module_, name.text) != nullptr) {
    report<diag::wrong_kind_of_name>(name.span, name.text, "a kernel", "a function")
        .help(fmt::format("write `launch {}(…)`", name.text));
  } else {
    report<diag::unknown_function>(name.span, name.text);
  }
  return std::nullopt;
}

std::optional<Value> HostEvaluator::function_call(const sema::FunctionRef& found, const ast::Call& node, Span span) {
  const ast::Function& function = *found.function;
  if (frames_.size() > max_depth) {
    report<diag::recursion>(span, function.name.text);
    return std::nullopt;
  }
  std::vector<std::optional<Value>> given(function.params.size());
  std::size_t next = 0;
  for (const ast::Arg& arg : node.args) {
    std::size_t at = next;
    if (arg.name.present()) {
      for (at = 0; at < given.size() && function.params[at].name.text != arg.name.text; ++at) {
      }
      if (at == given.size()) {
        report<diag::unknown_argument>(arg.name.span, function.name.text, arg.name.text);
        return std::nullopt;
      }
    } else {
      ++next;
    }
    if (at >= given.size() || given[at]) {
      report<diag::wrong_argument_count>(
          span_of(arg.value),
          fmt::format("`{}` takes {} arguments, {} given", function.name.text, given.size(), node.args.size()));
      return std::nullopt;
    }
    given[at] = eval(arg.value);
    if (!given[at]) return std::nullopt;
  }
  std::vector<Value> values;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const ast::Param& param = function.params[i];
    if (param.mode == ast::Mode::out || param.mode == ast::Mode::inout) {
      report<diag::not_supported>(
          span, fmt::format("`{}` writes to its parameter `{}`: it can be called in kernels only", function.name.text,
                            param.name.text));
      return std::nullopt;
    }
    if (!given[i]) {
      report<diag::wrong_argument_count>(
          span, fmt::format("`{}` needs an argument for `{}`", function.name.text, param.name.text));
      return std::nullopt;
    }
    values.push_back(std::move(*given[i]));
  }
  Frame frame;
  frame.tree = found.tree;
  frame.function = function.name.text;
  frame.call = span;
  frame.scopes.emplace_back();
  if (!bind_generics(function, node, values, frame, span)) return std::nullopt;
  // Guards of a `select` around the call go on to count: what happens inside is part of its operand.
  frames_.push_back(std::move(frame));
  std::optional<Value> result;
  if (bind_parameters(function, std::move(values), span) && check_where(function)) {
    const Flow flow = run(function.body);
    if (flow != Flow::stop) {
      result = as_declared(std::move(frames_.back().returned), flow == Flow::return_ ? function.result : ast::TypeId{},
                           function.name.span);
    }
  }
  frames_.pop_back();
  return result;
}

bool HostEvaluator::bind_generics(const ast::Function& function, const ast::Call& node,
                                  const std::vector<Value>& values, Frame& frame, Span span) {
  Scope& bound = frame.scopes.back();
  std::size_t next = 0;
  for (const ast::Arg& arg : node.generics) {
    const ast::Generic* generic = arg.name.present()                ? find_generic(function, arg.name.text)
                                  : next < function.generics.size() ? &function.generics[next++]
                                                                    : nullptr;
    if (generic == nullptr) {
      report<diag::bad_generic>(span_of(arg.value),
                                fmt::format("`{}` has no generic parameter for this", function.name.text));
      return false;
    }
    std::optional<Value> value = eval(arg.value);
    if (!value) return false;
    bound.insert_or_assign(generic->name.text, Variable{std::move(*value), false});
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!deduce(*frame.tree, function, function.params[i].type, values[i], bound)) return false;
  }
  for (const ast::Generic& generic : function.generics) {
    const auto found = bound.find(generic.name.text);
    if (found == bound.end() && generic.default_value.valid()) {
      frames_.push_back(frame);
      std::optional<Value> value = eval(generic.default_value);
      frames_.pop_back();
      if (!value) return false;
      bound.insert_or_assign(generic.name.text, Variable{std::move(*value), false});
    } else if (found == bound.end()) {
      report<diag::missing_generic>(span, generic.name.text);
      return false;
    } else if (const ir::Dtype* dtype = found->second.value.dtype();
               dtype != nullptr && !has_kind(generic, ir::spelling(*dtype))) {
      report<diag::bad_generic>(span, fmt::format("`{}` of `{}` cannot be `{}`", generic.name.text, function.name.text,
                                                  ir::spelling(*dtype)));
      return false;
    } else if ((dtype == nullptr) != is_int_generic(generic)) {
      report<diag::bad_generic>(span, fmt::format("`{}` of `{}` cannot be {}", generic.name.text, function.name.text,
                                                  found->second.value.describe()));
      return false;
    }
  }
  return true;
}

bool HostEvaluator::deduce(const ast::Ast& tree, const ast::Function& function, ast::TypeId type, const Value& value,
                           Scope& generics) {
  const Array* array = value.array();
  if (!type.valid() || array == nullptr) return true;
  const ast::TypeExpr& declared = tree[type];
  if (find_generic(function, declared.base.text) != nullptr && !array->untyped) {
    generics.try_emplace(declared.base.text, Variable{Value(array->dtype), false});
  }
  if (declared.any_shape || declared.dims.size() != array->shape.size()) return true;
  for (std::size_t i = 0; i < declared.dims.size(); ++i) {
    const auto* named = std::get_if<ast::NameExpr>(&tree[declared.dims[i]].node);
    if (named == nullptr || find_generic(function, named->name.text) == nullptr) continue;
    generics.try_emplace(named->name.text, Variable{Value(untyped_int(array->shape[i])), false});
  }
  return true;
}

bool HostEvaluator::bind_parameters(const ast::Function& function, std::vector<Value> values, Span span) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::optional<Value> value = as_declared(std::move(values[i]), function.params[i].type, span);
    if (!value || !define(function.params[i].name, std::move(*value), false)) return false;
  }
  return true;
}

bool HostEvaluator::check_where(const ast::Function& function) {
  for (const ast::ExprId clause : function.where) {
    const std::optional<bool> holds = eval_condition(clause);
    if (!holds) return false;
    if (!*holds) {
      report<diag::where_is_false>(span_of(clause), sources_.text(span_of(clause)), "");
      return false;
    }
  }
  return true;
}

std::optional<std::vector<sema::ExplicitGeneric>> HostEvaluator::launch_generics(const ast::Launch& node) {
  std::vector<sema::ExplicitGeneric> generics;
  for (const ast::Arg& arg : node.generics) {
    const std::optional<Value> value = eval(arg.value);
    if (!value) return std::nullopt;
    sema::ExplicitGeneric generic{std::string(arg.name.text), std::int64_t{0}, span_of(arg.value)};
    if (const ir::Dtype* dtype = value->dtype()) {
      generic.value = *dtype;
    } else if (const Array* array = value->array();
               array != nullptr && array->shape.empty() && ir::is_integer(array->dtype)) {
      generic.value = scalar_of(*array).as_int();
    } else {
      report<diag::bad_generic>(
          span_of(arg.value), fmt::format("a generic argument is an integer or a type, this is {}", value->describe()));
      return std::nullopt;
    }
    generics.push_back(std::move(generic));
  }
  return generics;
}

std::optional<Value> HostEvaluator::launch_kernel(const ast::Launch& node, Span span) {
  LaunchRequest request;
  request.kernel = sema::find_kernel(module_, node.kernel.text);
  request.span = span;
  if (request.kernel == nullptr) {
    report<diag::unknown_kernel>(node.kernel.span, node.kernel.text);
    return std::nullopt;
  }
  std::optional<std::vector<sema::ExplicitGeneric>> generics = launch_generics(node);
  if (!generics) return std::nullopt;
  request.generics = std::move(*generics);
  for (const ast::Arg& arg : node.args) {
    if (arg.name.present()) {
      report<diag::unknown_argument>(arg.name.span, node.kernel.text, arg.name.text)
          .help("arguments of a launch are given in order");
      return std::nullopt;
    }
    std::optional<Array> input = eval_array(arg.value);
    if (!input) return std::nullopt;
    request.inputs.push_back(std::move(*input));
  }
  if (options_.backend != "interp") {
    result_.skip_reason = options_.device == nullptr
                              ? fmt::format("there is no back end `{}` in this build", options_.backend)
                              : options_.device->unavailable_reason();
    if (!result_.skip_reason.empty()) return std::nullopt;
  }
  std::optional<std::vector<Array>> outputs = launch(sources_, module_, request, options_, &cache_, *diags_);
  if (!outputs) return std::nullopt;
  if (outputs->empty()) return Value();
  if (outputs->size() == 1) return Value(std::move(outputs->front()));
  Value::Tuple tuple;
  for (Array& array : *outputs) tuple.emplace_back(std::move(array));
  return Value(std::move(tuple));
}

}  // namespace pk::runtime
