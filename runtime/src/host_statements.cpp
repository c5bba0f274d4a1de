// Statements of test items and of the functions that they call.

#include <fmt/format.h>

#include "host_eval.h"

namespace pk::runtime {

HostEvaluator::HostEvaluator(const Sources& sources, const sema::Module& module, const RunOptions& options,
                             KernelCache& cache, TestResult& result)
    : sources_(sources), module_(module), options_(options), cache_(cache), result_(result) {
  Frame frame;
  frame.tree = &sema::tree(module);
  frames_.push_back(std::move(frame));
}

Flow HostEvaluator::run(const ast::Block& block) {
  frames_.back().scopes.emplace_back();
  Flow flow = Flow::next;
  for (const ast::StmtId id : block.stmts) {
    flow = statement(id);
    if (flow != Flow::next) break;
  }
  frames_.back().scopes.pop_back();
  return flow;
}

Flow HostEvaluator::statement(ast::StmtId id) {
  const ast::Stmt& stmt = tree()[id];
  if (const auto* n = std::get_if<ast::Let>(&stmt.node)) return let(*n, stmt.span);
  if (const auto* n = std::get_if<ast::Const>(&stmt.node)) return constant(*n);
  if (const auto* n = std::get_if<ast::Assign>(&stmt.node)) return assign(*n);
  if (const auto* n = std::get_if<ast::ExprStmt>(&stmt.node)) {
    return eval(n->expr) && !result_.mismatch && result_.skip_reason.empty() ? Flow::next : Flow::stop;
  }
  if (const auto* n = std::get_if<ast::If>(&stmt.node)) return if_statement(*n);
  if (const auto* n = std::get_if<ast::For>(&stmt.node)) return for_statement(*n);
  if (const auto* n = std::get_if<ast::While>(&stmt.node)) return while_statement(*n);
  if (std::holds_alternative<ast::Break>(stmt.node)) return Flow::break_;
  if (std::holds_alternative<ast::Continue>(stmt.node)) return Flow::continue_;
  if (const auto* n = std::get_if<ast::Return>(&stmt.node)) {
    if (n->value.valid()) {
      std::optional<Value> value = eval(n->value);
      if (!value) return Flow::stop;
      frames_.back().returned = std::move(*value);
    }
    return Flow::return_;
  }
  if (const auto* n = std::get_if<ast::BlockStmt>(&stmt.node)) return run(n->block);
  if (const auto* n = std::get_if<ast::Fast>(&stmt.node)) return run(n->block);
  if (const auto* n = std::get_if<ast::ExpectError>(&stmt.node)) return expect_error(*n, stmt.span);
  if (std::holds_alternative<ast::ErrorStmt>(stmt.node)) return Flow::stop;  // reported by the parser
  report<diag::misplaced_statement>(stmt.span, "this statement belongs in a kernel: tests run on the host");
  return Flow::stop;
}

bool HostEvaluator::define(ast::Name name, Value value, bool is_mutable) {
  if (name.text == "_") return true;
  const bool added = frames_.back().scopes.back().try_emplace(name.text, Variable{std::move(value), is_mutable}).second;
  if (!added) report<diag::duplicate_name>(name.span, name.text);
  return added;
}

std::optional<Value> HostEvaluator::as_declared(Value value, ast::TypeId type, Span span) {
  if (!type.valid()) return value;
  const ast::TypeExpr& declared = tree()[type];
  if (!declared.tuple.empty()) {
    const Value::Tuple* tuple = value.tuple();
    if (tuple == nullptr || tuple->size() != declared.tuple.size()) {
      report<diag::type_mismatch>(
          span, fmt::format("a tuple of {} is expected here, this is {}", declared.tuple.size(), value.describe()));
      return std::nullopt;
    }
    Value::Tuple result;
    for (std::size_t i = 0; i < tuple->size(); ++i) {
      std::optional<Value> element = as_declared((*tuple)[i], declared.tuple[i], span);
      if (!element) return std::nullopt;
      result.push_back(std::move(*element));
    }
    return Value(std::move(result));
  }
  const Array* array = value.array();
  if (array == nullptr) {
    report<diag::type_mismatch>(span,
                                fmt::format("an array or a scalar is expected here, this is {}", value.describe()));
    return std::nullopt;
  }
  if (declared.base.text == "int") return value;
  const std::optional<ir::Dtype> dtype = find_dtype(declared.base.text);
  if (!dtype) {
    report<diag::unknown_type>(declared.base.span, declared.base.text);
    return std::nullopt;
  }
  std::optional<Value> adapted = checked(adapt(*array, *dtype), span);
  if (!adapted || declared.any_shape) return adapted;
  ir::Shape shape;
  for (const ast::ExprId dim : declared.dims) {
    const std::optional<std::int64_t> extent = eval_int(dim, "an extent");
    if (!extent) return std::nullopt;
    shape.push_back(*extent);
  }
  if (shape == array->shape) return adapted;
  report<diag::shape_mismatch>(
      span, fmt::format("shape {} is expected here, this is `{}`", shape_text(shape), type_text(*array)));
  return std::nullopt;
}

Flow HostEvaluator::let(const ast::Let& node, Span span) {
  std::optional<Value> value = eval(node.init);
  if (!value || result_.mismatch) return Flow::stop;
  value = as_declared(std::move(*value), node.type, span_of(node.init));
  if (!value) return Flow::stop;
  if (node.names.size() == 1) return define(node.names[0], std::move(*value), node.mutable_) ? Flow::next : Flow::stop;
  const Value::Tuple* tuple = value->tuple();
  if (tuple == nullptr || tuple->size() != node.names.size()) {
    report<diag::type_mismatch>(span, fmt::format("{} names for {}", node.names.size(), value->describe()));
    return Flow::stop;
  }
  for (std::size_t i = 0; i < tuple->size(); ++i) {
    if (!define(node.names[i], (*tuple)[i], node.mutable_)) return Flow::stop;
  }
  return Flow::next;
}

Flow HostEvaluator::constant(const ast::Const& node) {
  std::optional<Value> value = eval(node.value);
  if (value) value = as_declared(std::move(*value), node.type, span_of(node.value));
  return value && define(node.name, std::move(*value), false) ? Flow::next : Flow::stop;
}

Flow HostEvaluator::assign(const ast::Assign& node) {
  const auto* part = std::get_if<ast::IndexExpr>(&tree()[node.target].node);
  const ast::ExprId base = part == nullptr ? node.target : part->base;
  const auto* named = std::get_if<ast::NameExpr>(&tree()[base].node);
  Variable* variable = named == nullptr ? nullptr : find_variable(named->name.text);
  if (variable == nullptr || !variable->is_mutable) {
    report<diag::not_assignable>(span_of(base), "only a `var` of this test can be changed")
        .help("define it with `var` instead of `let`");
    return Flow::stop;
  }
  // `x op= y` is x = x op y; the target is evaluated once more, which has no effects.
  std::optional<Value> value = node.op ? binary({*node.op, node.op_span, node.target, node.value}) : eval(node.value);
  if (!value) return Flow::stop;
  const Array* old = variable->value.array();
  const Array* now = value->array();
  if (old == nullptr || now == nullptr) {
    if (part != nullptr || (old != nullptr) != (now != nullptr)) {
      report<diag::type_mismatch>(span_of(node.value),
                                  fmt::format("{} cannot replace {}", value->describe(), variable->value.describe()));
      return Flow::stop;
    }
    variable->value = std::move(*value);
    return Flow::next;
  }
  if (old->untyped && now->untyped && part == nullptr) {
    variable->value = std::move(*value);
    return Flow::next;
  }
  Result<Array> adapted = adapt(*now, old->dtype);
  if (!adapted) {
    report(adapted.error(), span_of(node.value));
    return Flow::stop;
  }
  Array next = *old;
  std::optional<Part> place;
  if (part != nullptr) {
    place = part_of(next, *part);
    if (!place) return Flow::stop;
  }
  const ir::Shape& wanted = place ? place->shape : next.shape;
  const bool fits = adapted->shape == wanted || (part != nullptr && adapted->shape.empty());
  if (!fits) {
    report<diag::shape_mismatch>(span_of(node.value), fmt::format("shape {} is expected here, this is {}",
                                                                  shape_text(wanted), shape_text(adapted->shape)));
    return Flow::stop;
  }
  if (place) {
    put(next, *place, *adapted);
    variable->value = Value(std::move(next));
  } else {
    variable->value = Value(std::move(*adapted));
  }
  return Flow::next;
}

Flow HostEvaluator::if_statement(const ast::If& node) {
  const std::optional<bool> condition = eval_condition(node.condition);
  if (!condition) return Flow::stop;
  if (*condition) return run(node.then);
  return node.otherwise ? run(*node.otherwise) : Flow::next;
}

Flow HostEvaluator::for_statement(const ast::For& node) {
  std::vector<Array> bounds;
  for (const ast::ExprId id : {node.low, node.high, node.step}) {
    if (!id.valid()) {
      bounds.push_back(untyped_int(1));
      continue;
    }
    if (!eval_int(id, "a bound of a loop")) return Flow::stop;
    std::optional<Array> bound = eval_array(id);
    if (!bound) return Flow::stop;
    bounds.push_back(std::move(*bound));
  }
  if (const std::optional<Error> error = unify(bounds)) {
    report(*error, cover(span_of(node.low), span_of(node.high)));
    return Flow::stop;
  }
  const ir::Dtype dtype = bounds[0].untyped ? ir::Dtype::index : bounds[0].dtype;
  const std::int64_t high = scalar_of(bounds[1]).as_int(), step = scalar_of(bounds[2]).as_int();
  if (step <= 0) {
    report<diag::run_arithmetic>(span_of(node.step),
                                 fmt::format("the step of the loop is {}, it must be positive", step));
    return Flow::stop;
  }
  std::int64_t i = scalar_of(bounds[0]).as_int();
  while (i < high) {
    frames_.back().scopes.emplace_back();
    Flow flow = define(node.variable, scalar_array(ir::Scalar::of_int(dtype, i)), false) ? run(node.body) : Flow::stop;
    frames_.back().scopes.pop_back();
    if (flow == Flow::break_) break;
    if (flow == Flow::return_ || flow == Flow::stop) return flow;
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return Flow::next;
}

Flow HostEvaluator::while_statement(const ast::While& node) {
  for (std::uint64_t rounds = 0;; ++rounds) {
    if (options_.interp.step_limit != 0 && rounds >= options_.interp.step_limit) {
      report<diag::run_limit>(span_of(node.condition),
                              fmt::format("the loop is still running after {} rounds", rounds));
      return Flow::stop;
    }
    const std::optional<bool> condition = eval_condition(node.condition);
    if (!condition) return Flow::stop;
    if (!*condition) return Flow::next;
    const Flow flow = run(node.body);
    if (flow == Flow::break_) return Flow::next;
    if (flow == Flow::return_ || flow == Flow::stop) return flow;
  }
}

DiagnosticBuilder HostEvaluator::add(Diagnostic d) {
  DiagnosticBuilder builder = diags_->add(std::move(d));
  for (std::size_t i = frames_.size(); i-- > 1;) {
    if (frames_[i].call.valid())
      builder.label(frames_[i].call, fmt::format("in this call of `{}`", frames_[i].function));
  }
  return builder;
}

void HostEvaluator::report(const Error& error, Span span) {
  const DiagnosticInfo* row = find_diagnostic(error.code);
  PK_CHECK(row != nullptr, "an error of host maths without a row in the catalogue");
  Diagnostic d;
  d.code = row->code;
  d.severity = row->severity;
  d.run_class = row->run_class;
  d.message = error.message;
  d.span = span;
  add(std::move(d));
}

std::optional<Value> HostEvaluator::checked(Result<Array> result, Span span) {
  if (result) return Value(std::move(*result));
  report(result.error(), span);
  return std::nullopt;
}

}  // namespace pk::runtime
