// Expressions of test items, but for calls.

#include <fmt/format.h>

#include "host_eval.h"

namespace pk::runtime {
namespace {

using ir::Dtype;
using ir::Op;

Op operation(ast::BinaryOp op) {
  switch (op) {
    case ast::BinaryOp::add:
      return Op::add;
    case ast::BinaryOp::sub:
      return Op::sub;
    case ast::BinaryOp::mul:
      return Op::mul;
    case ast::BinaryOp::div:
      return Op::div;
    case ast::BinaryOp::rem:
      return Op::rem;
    case ast::BinaryOp::shl:
      return Op::shl;
    case ast::BinaryOp::shr:
      return Op::shr;
    case ast::BinaryOp::bit_and:
      return Op::bit_and;
    case ast::BinaryOp::bit_or:
      return Op::bit_or;
    case ast::BinaryOp::bit_xor:
      return Op::bit_xor;
    case ast::BinaryOp::eq:
      return Op::eq;
    case ast::BinaryOp::ne:
      return Op::ne;
    case ast::BinaryOp::lt:
      return Op::lt;
    case ast::BinaryOp::le:
      return Op::le;
    case ast::BinaryOp::gt:
      return Op::gt;
    case ast::BinaryOp::ge:
      return Op::ge;
    case ast::BinaryOp::logical_and:
      return Op::bit_and;
    case ast::BinaryOp::logical_or:
      return Op::bit_or;
  }
  return Op::add;  // not reached: the switch is complete
}

Array bool_array(bool b) { return scalar_array({Dtype::boolean, b ? 1U : 0U}); }

/// A literal over 2^63 - 1 is kept as an untyped u64.
Array int_literal(std::uint64_t value) {
  if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return untyped_int(static_cast<std::int64_t>(value));
  Array a = scalar_array({Dtype::u64, value});
  a.untyped = true;
  return a;
}

}  // namespace

std::optional<Value> HostEvaluator::eval(ast::ExprId id) {
  const ast::Expr& expr = tree()[id];
  if (const auto* n = std::get_if<ast::IntLiteral>(&expr.node)) return Value(int_literal(n->value));
  if (const auto* n = std::get_if<ast::FloatLiteral>(&expr.node)) return Value(untyped_float(n->value));
  if (const auto* n = std::get_if<ast::BoolLiteral>(&expr.node)) return Value(bool_array(n->value));
  if (const auto* n = std::get_if<ast::StringLiteral>(&expr.node)) return Value(n->value);
  if (const auto* n = std::get_if<ast::NameExpr>(&expr.node)) return name(n->name);
  if (const auto* n = std::get_if<ast::Unary>(&expr.node)) return unary(*n, expr.span);
  if (const auto* n = std::get_if<ast::Binary>(&expr.node)) return binary(*n);
  if (const auto* n = std::get_if<ast::Cast>(&expr.node)) return cast_to(*n);
  if (const auto* n = std::get_if<ast::IndexExpr>(&expr.node)) return index(*n);
  if (const auto* n = std::get_if<ast::Member>(&expr.node)) return member(*n);
  if (const auto* n = std::get_if<ast::Call>(&expr.node)) return call(*n, expr.span);
  if (const auto* n = std::get_if<ast::Launch>(&expr.node)) return launch_kernel(*n, expr.span);
  if (const auto* n = std::get_if<ast::Tuple>(&expr.node)) {
    Value::Tuple elements;
    for (const ast::ExprId element : n->elements) {
      std::optional<Value> value = eval(element);
      if (!value) return std::nullopt;
      elements.push_back(std::move(*value));
    }
    return Value(std::move(elements));
  }
  if (!std::holds_alternative<ast::ErrorExpr>(expr.node)) {  // an ErrorExpr is reported by the parser
    report<diag::bad_argument>(expr.span, "this has no value in a test");
  }
  return std::nullopt;
}

std::optional<Array> HostEvaluator::eval_array(ast::ExprId id) {
  std::optional<Value> value = eval(id);
  if (!value) return std::nullopt;
  if (const Array* array = value->array()) return *array;
  report<diag::type_mismatch>(span_of(id),
                              fmt::format("an array or a scalar is expected here, this is {}", value->describe()));
  return std::nullopt;
}

std::optional<std::int64_t> HostEvaluator::eval_int(ast::ExprId id, std::string_view what) {
  const std::optional<Array> array = eval_array(id);
  if (!array) return std::nullopt;
  if (array->shape.empty() && ir::is_integer(array->dtype)) {
    const ir::Scalar value = scalar_of(*array);
    if (value.dtype != Dtype::u64 || value.as_int() >= 0) return value.as_int();
  }
  report<diag::type_mismatch>(span_of(id), fmt::format("{} is one integer, this is `{}`", what, type_text(*array)));
  return std::nullopt;
}

std::optional<double> HostEvaluator::eval_real(ast::ExprId id, std::string_view what) {
  const std::optional<Array> array = eval_array(id);
  if (!array) return std::nullopt;
  if (array->shape.empty() && array->dtype != Dtype::boolean) return scalar_of(*array).as_double();
  report<diag::type_mismatch>(span_of(id), fmt::format("{} is one number, this is `{}`", what, type_text(*array)));
  return std::nullopt;
}

std::optional<bool> HostEvaluator::eval_condition(ast::ExprId id) {
  const std::optional<Array> array = eval_array(id);
  if (!array) return std::nullopt;
  if (array->shape.empty() && array->dtype == Dtype::boolean) return scalar_of(*array).as_bool();
  report<diag::bad_condition>(span_of(id), fmt::format("`{}`", type_text(*array)));
  return std::nullopt;
}

std::optional<ir::Shape> HostEvaluator::eval_shape(ast::ExprId id) {
  const auto* list = std::get_if<ast::ListExpr>(&tree()[id].node);
  if (list == nullptr) {
    report<diag::bad_argument>(span_of(id), "a list of integers in brackets is expected here");
    return std::nullopt;
  }
  ir::Shape shape;
  for (const ast::ExprId element : list->elements) {
    const std::optional<std::int64_t> extent = eval_int(element, "an entry of the list");
    if (!extent) return std::nullopt;
    shape.push_back(*extent);
  }
  return shape;
}

std::optional<Dtype> HostEvaluator::find_dtype(std::string_view name) const {
  const std::vector<Scope>& scopes = frames_.back().scopes;
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
    const auto found = scope->find(name);
    if (found == scope->end()) continue;
    const Dtype* dtype = found->second.value.dtype();
    return dtype == nullptr ? std::nullopt : std::optional(*dtype);
  }
  return ir::parse_dtype(name);
}

std::optional<HostEvaluator::TypeArgument> HostEvaluator::eval_type(ast::ExprId id) {
  const ast::Expr& expr = tree()[id];
  const auto* indexed = std::get_if<ast::IndexExpr>(&expr.node);
  const ast::ExprId base = indexed == nullptr ? id : indexed->base;
  const auto* named = std::get_if<ast::NameExpr>(&tree()[base].node);
  const std::optional<Dtype> dtype = named == nullptr ? std::nullopt : find_dtype(named->name.text);
  if (!dtype) {
    report<diag::unknown_type>(span_of(base), sources_.text(span_of(base)));
    return std::nullopt;
  }
  TypeArgument type{*dtype, {}};
  if (indexed == nullptr) return type;
  for (const ast::Index& entry : indexed->indices) {
    if (entry.kind != ast::Index::Kind::single) {
      report<diag::bad_argument>(entry.span, "the extents of a type are single integers");
      return std::nullopt;
    }
    const std::optional<std::int64_t> extent = eval_int(entry.first, "an extent");
    if (!extent) return std::nullopt;
    type.shape.push_back(*extent);
  }
  return type;
}

HostEvaluator::Variable* HostEvaluator::find_variable(std::string_view name) {
  std::vector<Scope>& scopes = frames_.back().scopes;
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
    const auto found = scope->find(name);
    if (found != scope->end()) return &found->second;
  }
  return nullptr;
}

std::optional<Value> HostEvaluator::constant_item(std::string_view name) {
  sema::ConstRef found;
  // Constants of the file in which the name stands come first: a library's own are not shadowed by the user's.
  for (const ast::Item& item : tree().items) {
    const auto* constant = std::get_if<ast::Const>(&item.node);
    if (constant != nullptr && constant->name.text == name) found = {constant, &tree()};
  }
  if (found.constant == nullptr) found = sema::find_const(module_, name);
  if (found.constant == nullptr) return std::nullopt;
  if (frames_.size() > 100) {
    report<diag::recursion>(found.constant->name.span, name);
    return std::nullopt;
  }
  Frame frame;
  frame.tree = found.tree;
  frame.scopes.emplace_back();
  frames_.push_back(std::move(frame));
  std::optional<Value> value = eval(found.constant->value);
  if (value) value = as_declared(std::move(*value), found.constant->type, span_of(found.constant->value));
  frames_.pop_back();
  return value;
}

std::optional<Value> HostEvaluator::name(const ast::Name& name) {
  if (const Variable* variable = find_variable(name.text)) return variable->value;
  const int errors = diags_->error_count();
  if (std::optional<Value> value = constant_item(name.text)) return value;
  if (diags_->error_count() > errors) return std::nullopt;
  if (const std::optional<Dtype> dtype = ir::parse_dtype(name.text)) return Value(*dtype);
  report<diag::unknown_name>(name.span, name.text);
  return std::nullopt;
}

std::optional<Value> HostEvaluator::unary(const ast::Unary& node, Span span) {
  std::optional<Array> operand = eval_array(node.operand);
  if (!operand) return std::nullopt;
  if (operand->untyped && operand->dtype == Dtype::u64) {  // -9223372036854775808 is a literal of i64
    if (node.op == ast::UnaryOp::negate)
      return Value(untyped_int(static_cast<std::int64_t>(~scalar_of(*operand).bits + 1)));
  }
  switch (node.op) {
    case ast::UnaryOp::negate:
      return checked(elementwise(Op::neg, {std::move(*operand)}, guards_), span);
    case ast::UnaryOp::logical_not:
      return checked(elementwise(Op::logical_not, {std::move(*operand)}, guards_), span);
    case ast::UnaryOp::bit_not:
      return checked(elementwise(Op::bit_not, {std::move(*operand)}, guards_), span);
  }
  return std::nullopt;
}

std::optional<Value> HostEvaluator::binary(const ast::Binary& node) {
  const bool logical = node.op == ast::BinaryOp::logical_and || node.op == ast::BinaryOp::logical_or;
  std::optional<Array> left = eval_array(node.left);
  if (!left) return std::nullopt;
  if (logical && left->dtype != Dtype::boolean) {
    report<diag::type_mismatch>(span_of(node.left),
                                fmt::format("`&&` and `||` take bools, this is `{}`", type_text(*left)));
    return std::nullopt;
  }
  // The right side of a scalar && or || counts only when the left one does not decide.
  if (logical && left->shape.empty() && scalar_of(*left).as_bool() == (node.op == ast::BinaryOp::logical_or))
    return Value(std::move(*left));
  std::optional<Array> right = eval_array(node.right);
  if (!right) return std::nullopt;
  return checked(elementwise(operation(node.op), {std::move(*left), std::move(*right)}, guards_), node.op_span);
}

std::optional<Value> HostEvaluator::cast_to(const ast::Cast& node) {
  const std::optional<Array> operand = eval_array(node.operand);
  if (!operand) return std::nullopt;
  const std::optional<Dtype> dtype = find_dtype(node.type.text);
  if (!dtype) {
    report<diag::unknown_type>(node.type.span, node.type.text);
    return std::nullopt;
  }
  return Value(cast(*operand, *dtype));
}

std::optional<Value> HostEvaluator::member(const ast::Member& node) {
  if (node.name.text == "T") {
    const std::optional<Array> base = eval_array(node.base);
    if (!base) return std::nullopt;
    if (base->shape.size() == 2) return checked(transpose(*base, {1, 0}), node.name.span);
    report<diag::bad_axis>(node.name.span,
                           fmt::format("`.T` exchanges the axes of a 2-D value, this is `{}`", type_text(*base)));
    return std::nullopt;
  }
  // `math.PI`, `std.math.PI`: a constant of a library.
  const int errors = diags_->error_count();
  if (std::optional<Value> value = constant_item(node.name.text)) return value;
  if (diags_->error_count() == errors)
    report<diag::unknown_member>(node.name.span, fmt::format("there is no member `{}` here", node.name.text));
  return std::nullopt;
}

}  // namespace pk::runtime
