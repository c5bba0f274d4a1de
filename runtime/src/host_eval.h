#pragma once
// The evaluator of test items: walks statements and expressions of the tree over host arrays. Used by run_test only.
// Mistakes are reported with their span and end the test; nothing that a test contains can crash it.
// The member functions stand in host_statements.cpp, host_expr.cpp, host_index.cpp, host_builtins.cpp, host_calls.cpp
// and host_expect.cpp.

#include <initializer_list>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "host_maths.h"
#include "host_value.h"
#include "pk/frontend/ast.h"
#include "pk/frontend/diagnostics.h"
#include "pk/runtime/kernel_cache.h"
#include "pk/runtime/test_runner.h"
#include "pk/sema/sema.h"

namespace pk::runtime {

/// How a statement ended.
enum class Flow : std::uint8_t { next, break_, continue_, return_, stop };

class HostEvaluator {
 public:
  HostEvaluator(const Sources& sources, const sema::Module& module, const RunOptions& options, KernelCache& cache,
                TestResult& result);

  /// Runs the body of a test; `stop` when it failed.
  Flow run(const ast::Block& block);
  [[nodiscard]] Diagnostics& diagnostics() { return *diags_; }

 private:
  struct Variable {
    Value value;
    bool is_mutable = false;
  };
  using Scope = std::map<std::string_view, Variable, std::less<>>;
  /// A body being evaluated: the test's, or that of a function; names are looked up in its own scopes only.
  struct Frame {
    const ast::Ast* tree = nullptr;
    std::vector<Scope> scopes;
    std::string_view function;
    Span call;  ///< invalid for the test itself and for constants
    Value returned;
  };
  /// A type as an argument: `f32[3, 4]`, or `f32`.
  struct TypeArgument {
    ir::Dtype dtype = ir::Dtype::f32;
    ir::Shape shape;
  };
  using Arguments = std::vector<ast::ExprId>;  ///< by parameter; invalid where left out

  // statements
  Flow statement(ast::StmtId id);
  Flow let(const ast::Let& node, Span span);
  Flow constant(const ast::Const& node);
  Flow assign(const ast::Assign& node);
  Flow if_statement(const ast::If& node);
  Flow for_statement(const ast::For& node);
  Flow while_statement(const ast::While& node);
  Flow expect_error(const ast::ExpectError& node, Span span);
  bool define(ast::Name name, Value value, bool is_mutable);
  std::optional<Value> as_declared(Value value, ast::TypeId type, Span span);

  // expressions
  std::optional<Value> eval(ast::ExprId id);
  std::optional<Array> eval_array(ast::ExprId id);
  std::optional<std::int64_t> eval_int(ast::ExprId id, std::string_view what);
  std::optional<double> eval_real(ast::ExprId id, std::string_view what);
  std::optional<bool> eval_condition(ast::ExprId id);
  std::optional<ir::Shape> eval_shape(ast::ExprId id);
  std::optional<TypeArgument> eval_type(ast::ExprId id);
  std::optional<ir::Dtype> find_dtype(std::string_view name) const;
  std::optional<Value> name(const ast::Name& name);
  std::optional<Value> unary(const ast::Unary& node, Span span);
  std::optional<Value> binary(const ast::Binary& node);
  std::optional<Value> cast_to(const ast::Cast& node);
  std::optional<Value> member(const ast::Member& node);
  std::optional<Value> index(const ast::IndexExpr& node);
  std::optional<Part> part_of(const Array& array, const ast::IndexExpr& node);
  bool add_axis(Part& part, const ast::Index& index, std::int64_t extent, std::int64_t stride, std::size_t axis);
  Variable* find_variable(std::string_view name);
  std::optional<Value> constant_item(std::string_view name);

  // calls
  std::optional<Value> call(const ast::Call& node, Span span);
  std::optional<Value> builtin(std::string_view name, const ast::Call& node, Span span, bool& known);
  std::optional<Value> elementwise_call(ir::Op op, const ast::Call& node, Span span);
  std::optional<Value> select_call(const ast::Call& node, Span span);
  std::optional<Value> reduction_call(ir::Op op, const ast::Call& node, Span span);
  std::optional<Value> concat_call(const ast::Call& node, Span span);
  std::optional<Value> random_call(const ast::Call& node, Span span);
  std::optional<Value> make_call(std::string_view name, const ast::Call& node, Span span);
  std::optional<Value> shape_call(std::string_view name, const ast::Call& node, Span span);
  std::optional<Value> print_call(const ast::Call& node);
  std::optional<Value> assert_call(const ast::Call& node, Span span);
  std::optional<Value> expect_call(bool close, const ast::Call& node, Span span);
  std::optional<Value> function_call(const sema::FunctionRef& function, const ast::Call& node, Span span);
  bool bind_generics(const ast::Function& function, const ast::Call& node, const std::vector<Value>& values,
                     Frame& frame, Span span);
  bool deduce(const ast::Ast& tree, const ast::Function& function, ast::TypeId type, const Value& value,
              Scope& generics);
  bool bind_parameters(const ast::Function& function, std::vector<Value> values, Span span);
  bool check_where(const ast::Function& function);
  std::optional<Arguments> match(const ast::Call& node, std::string_view callee,
                                 std::initializer_list<std::string_view> names, std::size_t required, Span span);
  sema::FunctionRef find_function(std::string_view name) const;
  std::optional<Value> launch_kernel(const ast::Launch& node, Span span);
  std::optional<std::vector<sema::ExplicitGeneric>> launch_generics(const ast::Launch& node);

  // reporting
  template <class D, class... Args>
  DiagnosticBuilder report(Span span, const Args&... args) {
    return add(make_diagnostic<D>(span, args...));
  }
  DiagnosticBuilder add(Diagnostic d);
  void report(const Error& error, Span span);
  std::optional<Value> checked(Result<Array> result, Span span);
  void compare(const Array& got, const Array& expected, std::optional<double> rtol, double atol, Span span);

  [[nodiscard]] const ast::Ast& tree() const { return *frames_.back().tree; }
  [[nodiscard]] Span span_of(ast::ExprId id) const { return tree()[id].span; }

  const Sources& sources_;
  const sema::Module& module_;
  const RunOptions& options_;
  KernelCache& cache_;
  TestResult& result_;
  Diagnostics own_diags_;
  Diagnostics* diags_ = &own_diags_;  ///< changed inside expect_error
  std::vector<Frame> frames_;
  std::vector<DivisionGuard> guards_;  ///< of the `select` calls being evaluated
};

}  // namespace pk::runtime
