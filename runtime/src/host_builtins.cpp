// Builtins in test items: the elementwise operations come from the operation table; those with arguments of their own
// are here.

#include <fmt/format.h>

#include <cstdio>

#include "host_eval.h"

namespace pk::runtime {
namespace {

using ir::Dtype;
using ir::Op;

std::optional<Op> reduction_of(std::string_view name) {
  if (name == "sum") return Op::reduce_sum;
  if (name == "prod") return Op::reduce_prod;
  if (name == "min") return Op::reduce_min;
  if (name == "max") return Op::reduce_max;
  if (name == "any") return Op::reduce_any;
  if (name == "all") return Op::reduce_all;
  if (name == "cumsum") return Op::cumsum;
  return std::nullopt;
}

/// `min` and `max` of two operands are elementwise, of one with `axis` reductions.
bool is_reduction_call(std::string_view name, const ast::Call& node) {
  if (!reduction_of(name)) return false;
  if (name != "min" && name != "max") return true;
  for (const ast::Arg& arg : node.args) {
    if (arg.name.text == "axis") return true;
  }
  return node.args.size() == 1;
}

}  // namespace

std::optional<HostEvaluator::Arguments> HostEvaluator::match(const ast::Call& node, std::string_view callee,
                                                             std::initializer_list<std::string_view> names,
                                                             std::size_t required, Span span) {
  Arguments matched(names.size());
  std::size_t next = 0;
  for (const ast::Arg& arg : node.args) {
    std::size_t at = next;
    if (arg.name.present()) {
      for (at = 0; at < names.size() && names.begin()[at] != arg.name.text; ++at) {
      }
      if (at == names.size()) {
        report<diag::unknown_argument>(arg.name.span, callee, arg.name.text);
        return std::nullopt;
      }
    } else {
      ++next;
    }
    if (at >= names.size() || matched[at].valid()) {
      report<diag::wrong_argument_count>(span_of(arg.value),
                                         fmt::format("`{}` has no parameter for this argument", callee))
          .help(fmt::format("its parameters are {}", fmt::join(names, ", ")));
      return std::nullopt;
    }
    matched[at] = arg.value;
  }
  for (std::size_t i = 0; i < required; ++i) {
    if (matched[i].valid()) continue;
    report<diag::wrong_argument_count>(span, fmt::format("`{}` needs an argument for `{}`", callee, names.begin()[i]));
    return std::nullopt;
  }
  return matched;
}

std::optional<Value> HostEvaluator::builtin(std::string_view name, const ast::Call& node, Span span, bool& known) {
  known = true;
  if (is_reduction_call(name, node)) return reduction_call(*reduction_of(name), node, span);
  if (name == "select") return select_call(node, span);
  if (name == "concat") return concat_call(node, span);
  if (name == "random") return random_call(node, span);
  if (name == "iota" || name == "full" || name == "zeros" || name == "bitcast") return make_call(name, node, span);
  if (name == "transpose" || name == "reshape" || name == "broadcast" || name == "matmul" || name == "layout_cast")
    return shape_call(name, node, span);
  if (name == "print") return print_call(node);
  if (name == "assert") return assert_call(node, span);
  if (name == "expect_equal" || name == "expect_close") return expect_call(name == "expect_close", node, span);
  const std::optional<Op> op = ir::find_builtin(name);
  if (op && ir::is_elementwise(*op)) return elementwise_call(*op, node, span);
  if (op) {
    report<diag::not_supported>(span, fmt::format("`{}` works in kernels only: tests run on the host", name));
    return std::nullopt;
  }
  known = false;
  return std::nullopt;
}

std::optional<Value> HostEvaluator::elementwise_call(Op op, const ast::Call& node, Span span) {
  const ir::OpInfo& row = ir::info(op);
  if (static_cast<int>(node.args.size()) != row.min_operands) {
    report<diag::wrong_argument_count>(span,
                                       fmt::format("`{}` takes {} argument{}, {} given", row.spelling, row.min_operands,
                                                   row.min_operands == 1 ? "" : "s", node.args.size()))
        .help(fmt::format("its form is `{}`", row.signature));
    return std::nullopt;
  }
  std::vector<Array> operands;
  for (const ast::Arg& arg : node.args) {
    if (arg.name.present()) {
      report<diag::unknown_argument>(arg.name.span, row.spelling, arg.name.text);
      return std::nullopt;
    }
    std::optional<Array> operand = eval_array(arg.value);
    if (!operand) return std::nullopt;
    operands.push_back(std::move(*operand));
  }
  return checked(elementwise(op, std::move(operands), guards_), span);
}

std::optional<Value> HostEvaluator::select_call(const ast::Call& node, Span span) {
  const std::optional<Arguments> args = match(node, "select", {"condition", "if_true", "if_false"}, 3, span);
  if (!args) return std::nullopt;
  std::optional<Array> condition = eval_array((*args)[0]);
  if (!condition) return std::nullopt;
  if (condition->dtype != Dtype::boolean) {
    report<diag::type_mismatch>(
        span_of((*args)[0]), fmt::format("the condition of `select` is a bool, this is `{}`", type_text(*condition)));
    return std::nullopt;
  }
  std::vector<Array> operands{std::move(*condition)};
  for (const std::size_t side : {std::size_t{1}, std::size_t{2}}) {
    // Divisions on the side that is not taken leave no trace.
    DivisionGuard guard{operands[0].shape, {}};
    for (const std::byte c : operands[0].data) guard.ignored.push_back((c != std::byte{0}) == (side == 2) ? 1 : 0);
    guards_.push_back(std::move(guard));
    std::optional<Array> value = eval_array((*args)[side]);
    guards_.pop_back();
    if (!value) return std::nullopt;
    operands.push_back(std::move(*value));
  }
  return checked(elementwise(Op::select, std::move(operands), guards_), span);
}

std::optional<Value> HostEvaluator::reduction_call(Op op, const ast::Call& node, Span span) {
  const std::string_view callee = op == Op::reduce_min ? "min" : (op == Op::reduce_max ? "max" : ir::info(op).spelling);
  const std::optional<Arguments> args = match(node, callee, {"x", "axis"}, 2, span);
  if (!args) return std::nullopt;
  const std::optional<Array> x = eval_array((*args)[0]);
  const std::optional<std::int64_t> axis = x ? eval_int((*args)[1], "`axis`") : std::nullopt;
  if (!axis) return std::nullopt;
  return checked(op == Op::cumsum ? cumsum(*x, *axis) : reduce(op, *x, *axis), span);
}

std::optional<Value> HostEvaluator::concat_call(const ast::Call& node, Span span) {
  std::vector<Array> parts;
  std::optional<std::int64_t> axis;
  for (const ast::Arg& arg : node.args) {
    if (arg.name.text == "axis") {
      axis = eval_int(arg.value, "`axis`");
      if (!axis) return std::nullopt;
    } else if (arg.name.present()) {
      report<diag::unknown_argument>(arg.name.span, "concat", arg.name.text);
      return std::nullopt;
    } else {
      std::optional<Array> part = eval_array(arg.value);
      if (!part) return std::nullopt;
      parts.push_back(std::move(*part));
    }
  }
  if (!axis || parts.empty()) {
    report<diag::wrong_argument_count>(span, "`concat` needs arrays and an `axis`")
        .help("its form is `concat(a, b, axis = n)`");
    return std::nullopt;
  }
  return checked(concat(std::move(parts), *axis), span);
}

std::optional<Value> HostEvaluator::random_call(const ast::Call& node, Span span) {
  const std::optional<Arguments> args = match(node, "random", {"type", "seed", "lo", "hi"}, 2, span);
  if (!args) return std::nullopt;
  const std::optional<TypeArgument> type = eval_type((*args)[0]);
  const std::optional<std::int64_t> seed = type ? eval_int((*args)[1], "`seed`") : std::nullopt;
  if (!seed) return std::nullopt;
  const bool is_float = ir::is_floating(type->dtype);
  const bool is_bool = type->dtype == Dtype::boolean;
  double bounds[2] = {is_float ? -1.0 : 0.0, is_float || is_bool ? 1.0 : 9.0};
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const ast::ExprId given = (*args)[2 + i];
    if (!given.valid()) continue;
    const std::optional<double> bound = eval_real(given, i == 0 ? "`lo`" : "`hi`");
    if (!bound) return std::nullopt;
    bounds[i] = *bound;
  }
  if (!(bounds[0] <= bounds[1])) {
    report<diag::bad_argument>(span,
                               fmt::format("`random` from {} to {}: `lo` is larger than `hi`", bounds[0], bounds[1]));
    return std::nullopt;
  }
  if (Result<Array> room = checked_array(type->dtype, type->shape); !room) return checked(std::move(room), span);
  return Value(random_array(type->dtype, type->shape, static_cast<std::uint64_t>(*seed), bounds[0], bounds[1]));
}

std::optional<Value> HostEvaluator::make_call(std::string_view name, const ast::Call& node, Span span) {
  const std::string_view second = name == "iota" ? "axis" : (name == "full" ? "value" : "x");
  const std::optional<Arguments> args = name == "zeros"  ? match(node, name, {"type"}, 1, span)
                                        : name == "iota" ? match(node, name, {"type", second}, 1, span)
                                                         : match(node, name, {"type", second}, 2, span);
  if (!args) return std::nullopt;
  const std::optional<TypeArgument> type = eval_type((*args)[0]);
  if (!type) return std::nullopt;
  if (name == "zeros") return checked(checked_array(type->dtype, type->shape), span);
  if (name == "iota") {
    std::optional<std::int64_t> axis;
    if ((*args)[1].valid()) {
      axis = eval_int((*args)[1], "`axis`");
      if (!axis) return std::nullopt;
    }
    return checked(iota(type->dtype, type->shape, axis), span);
  }
  const std::optional<Array> value = eval_array((*args)[1]);
  if (!value) return std::nullopt;
  if (name == "bitcast") return checked(bitcast(*value, type->dtype), span);
  const std::optional<Value> adapted = checked(adapt(*value, type->dtype), span_of((*args)[1]));
  if (!adapted) return std::nullopt;
  if (!value->shape.empty()) {
    report<diag::shape_mismatch>(span_of((*args)[1]),
                                 fmt::format("`full` repeats one value, this is `{}`", type_text(*value)));
    return std::nullopt;
  }
  return checked(broadcast_to(*adapted->array(), type->shape), span);
}

std::optional<Value> HostEvaluator::shape_call(std::string_view name, const ast::Call& node, Span span) {
  const bool needs_two = name != "transpose";
  const std::string_view second =
      name == "transpose" ? "axes" : (name == "matmul" ? "b" : (name == "layout_cast" ? "layout" : "shape"));
  const std::optional<Arguments> args =
      match(node, name, {name == "matmul" ? "a" : "x", second}, needs_two ? 2 : 1, span);
  if (!args) return std::nullopt;
  std::optional<Array> x = eval_array((*args)[0]);
  if (!x) return std::nullopt;
  if (name == "layout_cast") return Value(std::move(*x));  // register layouts mean nothing to a host array
  if (name == "matmul") {
    const std::optional<Array> b = eval_array((*args)[1]);
    return b ? checked(matmul(*x, *b), span) : std::nullopt;
  }
  ir::Shape list;
  if ((*args)[1].valid()) {
    std::optional<ir::Shape> given = eval_shape((*args)[1]);
    if (!given) return std::nullopt;
    list = std::move(*given);
  } else if (x->shape.size() == 2) {
    list = {1, 0};
  } else {
    report<diag::bad_axis>(span, fmt::format("`transpose` of `{}`: name the order of its axes", type_text(*x)))
        .help("its form is `transpose(x, [2, 0, 1])`; without a list it exchanges the two axes of a 2-D array");
    return std::nullopt;
  }
  if (name == "transpose") return checked(transpose(*x, list), span);
  if (name == "reshape") return checked(reshape(std::move(*x), list), span);
  return checked(broadcast_to(*x, list), span);
}

std::optional<Value> HostEvaluator::print_call(const ast::Call& node) {
  std::string line;
  for (const ast::Arg& arg : node.args) {
    const std::optional<Value> value = eval(arg.value);
    if (!value) return std::nullopt;
    line += (line.empty() ? "" : " ") + display(*value);
  }
  line += '\n';
  if (options_.interp.print) {
    options_.interp.print(line);
  } else {
    std::fwrite(line.data(), 1, line.size(), stdout);
  }
  return Value();
}

std::optional<Value> HostEvaluator::assert_call(const ast::Call& node, Span span) {
  const std::optional<Arguments> args = match(node, "assert", {"condition", "text"}, 1, span);
  if (!args) return std::nullopt;
  std::optional<Array> condition = eval_array((*args)[0]);
  if (!condition) return std::nullopt;
  if (condition->dtype != Dtype::boolean) {
    report<diag::bad_condition>(span_of((*args)[0]), fmt::format("`{}`", type_text(*condition)));
    return std::nullopt;
  }
  std::string text;
  if ((*args)[1].valid()) {
    const std::optional<Value> given = eval((*args)[1]);
    if (!given) return std::nullopt;
    text = ": " + display(*given);
  }
  for (const std::byte element : condition->data) {
    if (element != std::byte{0}) continue;
    report<diag::run_assert>(span, "assertion failed" + text);
    return std::nullopt;
  }
  return Value();
}

}  // namespace pk::runtime
