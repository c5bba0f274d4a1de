#pragma once
// Checks a kernel and builds its IR in one walk over the tree. One Elaborator serves one instance of one kernel (or one
// function that no kernel calls). Its members are spread over files by concern: names.cpp, emit.cpp, convert.cpp,
// expr.cpp, operators.cpp, index.cpp, call*.cpp, function.cpp, stmt.cpp, control.cpp, scoped.cpp, pipeline.cpp,
// blocked.cpp, kernel.cpp.

#include <fmt/format.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "module.h"
#include "pk/frontend/diagnostics.h"
#include "pk/ir/ir.h"
#include "pk/ir/target.h"
#include "rules/rules.h"
#include "sym.h"
#include "value.h"

namespace pk::sema {

/// Whether ints without a value may stay symbolic (`pkc check`) or must be known (a real instance).
enum class Purpose : std::uint8_t { check, instance };

/// A name and what it stands for. A `var` is held in a cell.
struct Binding {
  std::string_view name;
  Span span;
  Val val;
  bool is_var = false;
};

/// Arguments of a call sorted by parameter: expression ids that are invalid where an argument is absent.
struct SortedArgs {
  std::vector<ast::ExprId> positional;  ///< one for each parameter name
  std::vector<std::pair<std::string_view, ast::ExprId>> options;
  std::vector<ast::ExprId> rest;  ///< further ones, where the callee takes any number
  [[nodiscard]] ast::ExprId option(std::string_view name) const;
};

/// Parameters and options that a builtin takes. `flags` may be written as bare words or in call form: `read_only`,
/// `oob(zero)`.
struct Signature {
  std::string_view callee;
  std::vector<std::string_view> params;
  std::size_t required = 0;
  std::vector<std::string_view> options;
  bool any_number = false;
};

/// A range, index or slice of one axis after evaluation.
struct AxisIndex {
  Val start;  ///< integer or index value
  Sym size;
  bool squeeze = false;
  bool to_end = false;  ///< the size is the rest of a dynamic axis
  Span span;
};
struct IndexPlan {
  std::vector<AxisIndex> axes;         ///< one for each axis of the base
  std::vector<std::int64_t> new_axes;  ///< positions of `new` in the result
  bool whole = true;                   ///< selects everything
};

class Elaborator {
 public:
  Elaborator(const Module& module, const ir::Target& target, Diagnostics& diags, Purpose purpose);

  /// The kernel's IR; also when errors were reported, so that rules may look at it.
  ir::Kernel elaborate_kernel(const ast::Kernel& kernel, const Bindings& bindings);
  /// Checks a function on its own, with symbolic generics.
  void check_function(const ItemRef& item);
  /// Checks a named mesh on its own, with symbolic parameters.
  void check_mesh(const ast::MeshItem& item);

  [[nodiscard]] int errors() const { return errors_; }
  /// Functions that were inlined, for finding those that no kernel calls.
  [[nodiscard]] const std::unordered_set<const ast::Function*>& inlined() const { return inlined_; }
  /// Names that may be axes of a caller; unknown ones among them are not reported (functions that no kernel calls).
  void set_possible_axes(const std::unordered_set<std::string_view>* names) { possible_axes_ = names; }

  // ---- what bind_launch needs: the kernel's names with known values, and values of expressions over them
  void begin_host(const ModuleFile& file);
  void define(std::string_view name, Span span, Val val) { bindings_.push_back({name, span, std::move(val), false}); }
  [[nodiscard]] Val evaluate(ast::ExprId id) { return value_expr(id); }
  [[nodiscard]] Val evaluate_type_or_value(ast::ExprId id) { return expr(id); }

 private:
  // ---- diagnostics
  template <class D, class... Args>
  DiagnosticBuilder error(Span span, const Args&... args) {
    if (quiet_ > 0 && D::code / 100 != 2) return DiagnosticBuilder(nullptr);
    ++errors_;
    DiagnosticBuilder builder = diags_.report<D>(span, args...);
    label_calls(builder);
    return builder;
  }
  void label_calls(DiagnosticBuilder& builder) const;
  [[nodiscard]] std::string source_text(Span span) const;

  // ---- trees
  [[nodiscard]] const ast::Ast& tree() const { return file_->tree; }
  /// The expression; one that was missing in the text (and is reported) reads as ErrorExpr.
  [[nodiscard]] const ast::Expr& node_of(ast::ExprId id) const {
    static const ast::Expr missing;
    return id.valid() ? tree()[id] : missing;
  }
  [[nodiscard]] Span span_of(ast::ExprId id) const { return node_of(id).span; }

  // ---- names (names.cpp)
  class ScopeGuard;
  class FrameGuard;
  void declare(const ast::Name& name, Val val, bool is_var = false);
  [[nodiscard]] const Binding* find_local(std::string_view name) const;
  [[nodiscard]] Val name_value(const ast::Name& name);
  [[nodiscard]] Val item_value(const ItemRef& item, Span span);
  [[nodiscard]] Val const_value(const ItemRef& item);
  [[nodiscard]] const Val* find_axis(std::string_view name) const;
  void report_unknown(const ast::Name& name);
  [[nodiscard]] std::vector<std::string> visible_names() const;

  // ---- IR (emit.cpp)
  class RegionGuard;
  class DeadGuard;
  ir::Inst& push(ir::Op op, Span span, std::vector<ir::Value> operands = {}, ir::Attrs attrs = {});
  ir::Value emit(ir::Op op, Span span, std::vector<ir::Value> operands, ir::Type type, ir::Attrs attrs = {});
  [[nodiscard]] ir::Type lower(const SemType& type) const;
  [[nodiscard]] std::int64_t lower(const Sym& extent) const;
  [[nodiscard]] ir::Shape lower(const SymShape& shape) const;
  ir::Value new_value(const SemType& type, std::string_view hint = {});
  ir::Value constant_int(std::int64_t value, ir::Dtype dtype, Span span);
  ir::Value constant_real(double value, ir::Dtype dtype, Span span);
  ir::Value constant_bool(bool value, Span span);
  ir::Value materialise(const Sym& sym, Span span);
  Val load(const Val& ref, Span span);
  void store(const Val& ref, const Val& value, Span ref_span, Span value_span);

  // ---- conversions (convert.cpp)
  [[nodiscard]] Val rvalue(Val val, Span span);
  [[nodiscard]] Val adapt(const Val& val, ir::Dtype dtype, Span span);  ///< to an IR value of `dtype`; poison on error
  [[nodiscard]] ir::Value index_value(const Val& val, Span span, std::string_view what);  ///< invalid on error
  [[nodiscard]] std::optional<Sym> static_int(const Val& val, Span span, std::string_view what);
  [[nodiscard]] std::optional<std::int64_t> static_constant(ast::ExprId id, std::string_view what, bool& unresolved);
  [[nodiscard]] Val broadcast_to(const Val& val, const SymShape& shape, Span span);
  [[nodiscard]] std::optional<SymShape> broadcast_shape(const SymShape& a, const SymShape& b) const;
  [[nodiscard]] Val fix_type(const Val& val, Span span);  ///< untyped constants take their default type
  bool require_static(const SymShape& shape, Span span, std::string_view what);
  [[nodiscard]] std::string type_text(const SemType& type) const;
  [[nodiscard]] std::string shape_text(const SymShape& shape) const;
  [[nodiscard]] std::string describe(const Val& val) const;
  [[nodiscard]] std::string ref_name(const Val& ref) const;

  // ---- types (types.cpp)
  struct TypeUse {
    SemType type;  ///< ref types: `space` is meaningful when `has_space`
    bool has_space = false;
    bool brackets = false;
    bool any_shape = false;
    std::vector<TypeUse> tuple;
    bool ok = false;
    bool is_unit_barrier = false;
  };
  [[nodiscard]] TypeUse type_use(ast::TypeId id, bool with_dims = true);
  [[nodiscard]] std::optional<ir::Dtype> dtype_named(const ast::Name& name);
  [[nodiscard]] std::optional<SemType> type_argument(ast::ExprId id,
                                                     std::string_view what);  ///< `f32[128]` as a call's argument
  [[nodiscard]] std::optional<SymShape> shape_list(ast::ExprId id, std::string_view what);  ///< `[8, 16]`

  // ---- expressions (expr.cpp, operators.cpp, index.cpp)
  [[nodiscard]] Val expr(ast::ExprId id);
  [[nodiscard]] Val value_expr(ast::ExprId id) { return rvalue(expr(id), span_of(id)); }
  /// `id` where a value of `dtype` is wanted: what is made of literals alone takes this type.
  [[nodiscard]] Val value_expr(ast::ExprId id, std::optional<ir::Dtype> wanted);
  [[nodiscard]] Val expr_node(const ast::Expr& node);
  [[nodiscard]] bool is_elementwise_call(const ast::Expr& node) const;
  [[nodiscard]] std::optional<ir::Dtype> target_dtype(ast::ExprId id) const;
  [[nodiscard]] Val member(const ast::Member& node, Span span);
  [[nodiscard]] Val transpose_ref(const Val& base, Span span);
  [[nodiscard]] Val peer(const ast::Peer& node, Span span);
  [[nodiscard]] Val cast(const ast::Cast& node, Span span);
  [[nodiscard]] Val cast_to(const Val& val, ir::Dtype dtype, Span span);
  [[nodiscard]] Val unary(const ast::Unary& node, Span span);
  [[nodiscard]] Val binary(const ast::Binary& node, Span span);
  [[nodiscard]] Val binary_values(ast::BinaryOp op, const Val& left, const Val& right, Span left_span, Span right_span,
                                  Span op_span, Span span);
  [[nodiscard]] Val logical(const ast::Binary& node, Span span);
  [[nodiscard]] std::optional<Val> fold_binary(ir::Op op, const Val& left, const Val& right, Span right_span,
                                               Span span);
  [[nodiscard]] Val elementwise(ir::Op op, std::vector<Val> operands, const std::vector<Span>& spans, Span span);
  bool unify(std::vector<Val>& operands, const std::vector<Span>& spans, std::size_t first, Span span);
  bool unify_shapes(std::vector<Val>& operands, const std::vector<Span>& spans, Span span, SymShape& shape,
                    bool& is_tile);
  bool check_domain(ir::Op op, ir::Dtype dtype, Span span);

  [[nodiscard]] Val index(const ast::IndexExpr& node, Span span);
  [[nodiscard]] Val reshape_ref(const Val& base, const ast::IndexExpr& node, Span span);
  [[nodiscard]] std::optional<IndexPlan> plan_index(const Val& base, const ast::IndexExpr& node, Span span);
  [[nodiscard]] std::optional<AxisIndex> plan_axis(const ast::Index& index, const Sym& extent, const Val& base,
                                                   std::size_t axis);
  bool check_bounds(const AxisIndex& index, const Sym& extent, const Val& base, bool is_range);
  [[nodiscard]] Val subview(const Val& base, const IndexPlan& plan, Span span);
  [[nodiscard]] Val slice_tile(const Val& base, const IndexPlan& plan, Span span);
  [[nodiscard]] Val insert_axes(const Val& tile, const std::vector<std::int64_t>& new_axes, Span span);
  [[nodiscard]] Val reshape_tile(const Val& tile, SymShape shape, Span span);
  [[nodiscard]] Val only_element(const Val& tile, Span span);

  // ---- memory rules
  void note_write(const Val& ref, Span span);
  void note_read(const Val& ref, Span span);
  void note_wait() { waits_seen_ = true; }

  // ---- calls (call.cpp and call_*.cpp, function.cpp)
  [[nodiscard]] Val call(const ast::Call& node, Span span);
  [[nodiscard]] Val call_item(const ItemRef& item, const ast::Call& node, Span span);
  [[nodiscard]] Val call_member(const ast::Member& callee, const ast::Call& node, Span span);
  [[nodiscard]] Val call_builtin(ir::Op op, std::string_view name, const ast::Call& node, Span span);
  [[nodiscard]] std::optional<SortedArgs> sort_args(const ast::Call& node, const Signature& signature, Span span);
  [[nodiscard]] std::string option_word(ast::ExprId id) const;  ///< the word of `tf32`, `oob(zero)`, "" otherwise
  [[nodiscard]] std::optional<std::int64_t> axis_argument(ast::ExprId id, std::size_t rank, std::string_view what);

  [[nodiscard]] Val call_elementwise(ir::Op op, std::string_view name, const ast::Call& node, Span span);
  [[nodiscard]] Val call_minmax(ir::Op op, std::string_view name, const ast::Call& node, Span span);
  [[nodiscard]] Val call_reduction(ir::Op op, std::string_view name, const ast::Call& node, Span span);
  [[nodiscard]] Val call_cumsum(const ast::Call& node, Span span);
  [[nodiscard]] Val reduce(ir::Op op, const Val& x, std::int64_t axis, Span span);
  [[nodiscard]] Val call_full(std::string_view name, const ast::Call& node, Span span);
  [[nodiscard]] Val call_iota(const ast::Call& node, Span span);
  [[nodiscard]] Val call_size(const ast::Call& node, Span span);
  [[nodiscard]] Val call_index(const ast::Call& node, Span span);
  [[nodiscard]] Val call_bitcast(const ast::Call& node, Span span);
  [[nodiscard]] Val call_broadcast(const ast::Call& node, Span span);
  [[nodiscard]] Val call_reshape(const ast::Call& node, Span span);
  [[nodiscard]] Val call_transpose(const ast::Call& node, Span span);
  [[nodiscard]] Val call_concat(const ast::Call& node, Span span);
  [[nodiscard]] Val call_layout_cast(const ast::Call& node, Span span);

  [[nodiscard]] Val ref_argument(ast::ExprId id, std::string_view callee, std::string_view what);
  [[nodiscard]] Val call_load(const ast::Call& node, Span span);
  [[nodiscard]] Val call_store(const ast::Call& node, Span span);
  [[nodiscard]] Val mask_argument(ast::ExprId id, const SymShape& shape, bool is_scalar);
  [[nodiscard]] Val call_atomic(std::string_view name, const ast::Call& node, Span span);
  [[nodiscard]] Val call_acc_load(const Val& acc, const ast::Call& node, Span span);

  [[nodiscard]] Val call_copy_in(const ast::Call& node, Span span);
  [[nodiscard]] Val call_copy_out(const ast::Call& node, Span span);
  bool check_copy(const Val& source, const Val& target, const ast::Call& node, ast::ExprId source_id,
                  ast::ExprId target_id, ir::Space source_space, Span span, const std::vector<std::int64_t>& multicast,
                  std::int64_t partition);
  [[nodiscard]] std::optional<std::vector<std::int64_t>> cluster_axes(ast::ExprId id, std::string_view what);
  bool copy_attributes(const SortedArgs& args, ir::Attrs& attrs);
  [[nodiscard]] Val barrier_argument(ast::ExprId id, std::string_view callee, bool allow_cluster);
  [[nodiscard]] Val call_async_store(const ast::Call& node, Span span);
  [[nodiscard]] Val call_wait_copies(const ast::Call& node, Span span);
  [[nodiscard]] Val call_barrier(ir::Op op, std::string_view name, const ast::Call& node, Span span);
  [[nodiscard]] Val call_semaphore(ir::Op op, std::string_view name, const ast::Call& node, Span span);
  [[nodiscard]] Val call_sync(const ast::Call& node, Span span);
  [[nodiscard]] Val call_plain(ir::Op op, std::string_view name, const ast::Call& node, Span span);
  [[nodiscard]] Val call_prefetch(const ast::Call& node, Span span);

  [[nodiscard]] Val call_wgmma(const ast::Call& node, Span span);
  bool check_mma_types(const Val& acc, const Val& a, const Val& b, bool tf32, const std::vector<Span>& spans,
                       Span span);
  bool check_mma_shapes(const Val& acc, const Val& a, const Val& b, const std::vector<Span>& spans, Span span);
  bool check_mma_majors(const Val& a, const Val& b, const std::vector<Span>& spans);
  [[nodiscard]] Val call_wgmma_wait(const ast::Call& node, Span span);
  [[nodiscard]] Val call_dot(const ast::Call& node, Span span);

  [[nodiscard]] Val call_print(const ast::Call& node, Span span);
  [[nodiscard]] Val call_assert(ir::Op op, std::string_view name, const ast::Call& node, Span span);
  [[nodiscard]] Val call_trap(const ast::Call& node, Span span);

  [[nodiscard]] Val call_function(const ItemRef& item, const ast::Call& node, Span span);
  /// What a call knows of the callee's generics and of the dimensions that its parameters' shapes declare.
  struct Deduction {
    std::vector<std::pair<ast::Name, Val>> names;  ///< `none` while unknown; generics in order come first
    [[nodiscard]] Val* find(std::string_view name);
  };
  bool explicit_generics(const ast::Function& function, const ast::Call& node, Deduction& found);
  bool deduce_param(const ast::Param& param, const Val& arg, Span arg_span, Deduction& found);
  bool settle_generics(const ast::Function& function, Deduction& found, Span span);
  bool check_generic_kind(const ast::Generic& generic, const Val& val, Span span);
  [[nodiscard]] Val bind_param(const ast::Param& param, const Val& arg, Span arg_span,
                               std::optional<SymShape>& any_shape);
  [[nodiscard]] Val bind_ref_param(const ast::Param& param, const TypeUse& use, const Val& arg, Span arg_span);
  [[nodiscard]] Val function_body(const ast::Function& function, const std::optional<SymShape>& any_shape, Span span);
  [[nodiscard]] Val convert_result(const Val& val, const TypeUse& type, Span span);
  void store_result(const Val& val, Span span);
  void function_where(const ast::Function& function);

  // ---- statements (stmt.cpp, control.cpp)
  void block(const ast::Block& block);
  void statements(const std::vector<ast::StmtId>& stmts);
  void statement(const ast::Stmt& stmt);
  void let(const ast::Let& node, Span span);
  void let_tuple(const ast::Let& node, const Val& init, Span init_span);
  [[nodiscard]] std::optional<ir::Dtype> declared_dtype(ast::TypeId type) const;
  [[nodiscard]] Val checked_init(ast::TypeId type, const Val& val, Span span);
  void assign(const ast::Assign& node, Span span);
  void assign_var(const Binding& binding, const ast::Assign& node, Span span);
  void assign_memory(const ast::IndexExpr& target, Span target_span, const ast::Assign& node, Span span);
  [[nodiscard]] Val target_view(const ast::IndexExpr& target, Span span);
  void expression_statement(ast::ExprId id, Span span);
  void if_statement(const ast::If& node, Span span);
  [[nodiscard]] Val condition(ast::ExprId id);
  void for_statement(const ast::For& node, Span span);
  void unrolled(const ast::For& node, std::int64_t low, std::int64_t high, std::int64_t step);
  void while_statement(const ast::While& node, Span span);
  void leave_loop(ir::Op op, std::string_view word, Span span);
  void return_statement(const ast::Return& node, Span span);
  void specialize(const ast::Specialize& node, Span span);
  void const_statement(const ast::Const& node);

  // ---- scopes (scoped.cpp)
  void scoped(const ast::Scoped& node, Span span);
  void allocate(const ast::Alloc& alloc, std::int64_t union_group,
                std::vector<std::pair<Val, const ast::Alloc*>>& inits);
  [[nodiscard]] std::optional<SemType> alloc_type(const ast::Alloc& alloc);
  bool alloc_attributes(const ast::Alloc& alloc, const SemType& type, ir::Attrs& attrs, RefRoot& root);
  bool check_tiling(const ast::Attribute& attribute, const SemType& type, RefRoot& root);
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integer_args(const ast::Attribute& attribute);

  // ---- pipelines (pipeline.cpp, blocked.cpp)
  void pipeline(const ast::Pipeline& node, Span span);
  struct PipelineContext {
    const ast::Pipeline* node;
    bool step_allowed;
    int steps;
  };
  bool pipeline_attributes(const std::vector<ast::Attribute>& attributes, Span span, ir::Attrs& attrs,
                           std::int64_t default_stages);
  void run_step(const ast::Block& body, Span span);
  bool pipeline_roles(const ast::PipelineRoles& roles, ir::Attrs& attrs);
  [[nodiscard]] Val transfer(const ast::Transfer& node);
  bool check_delays(const ast::Pipeline& node, const ir::Region& transfers, std::int64_t stages);
  void step(const ast::Step& node, Span span);
  void blocked_kernel(const ast::Kernel& kernel);
  [[nodiscard]] Val block_view(const ast::Param& param, const Val& ref);
  [[nodiscard]] Val block_transfer(const ast::Param& param, const Val& ref);

  // ---- kernels (kernel.cpp, mesh.cpp)
  void bind_kernel_generics(const ast::Kernel& kernel, const Bindings& bindings);
  void collect_dims(const ast::Kernel& kernel, const Bindings& bindings);
  [[nodiscard]] std::vector<Val> kernel_params(const ast::Kernel& kernel);
  [[nodiscard]] Val kernel_param(const ast::Param& param, std::size_t number);
  void declare_params(const ast::Kernel& kernel, const std::vector<Val>& params, const ir::Region& region);
  void mesh(const ast::Kernel& kernel);
  void mesh_axis(const ast::Axis& axis);
  void named_mesh(const ast::MeshUse& use);
  void blocked_mesh(const ast::BlockedGrid& grid);
  void add_axis(const ast::Name& name, Val val);
  void where_clauses(const ast::Kernel& kernel);
  void report_unbound_dims(const ast::Kernel& kernel);
  void kernel_body(const ast::Kernel& kernel);

  const Module& module_;
  const ir::Target& target_;
  Diagnostics& diags_;
  Purpose purpose_;
  int errors_ = 0;
  int quiet_ = 0;  // > 0: only names are reported (untaken branches)

  ir::Kernel kernel_;
  std::vector<ir::Inst>* out_ = nullptr;  // where instructions go
  std::vector<ir::Inst> nowhere_;
  bool in_launch_ = false;  // instructions go to the launch region
  ir::CallId call_;
  int fast_ = 0;
  std::optional<ir::Dtype> wanted_;  // the type that literals without other context take

  SymTable syms_;
  const ModuleFile* file_ = nullptr;
  std::vector<Binding> bindings_;
  std::size_t frame_base_ = 0;                     // first binding of the function or kernel being elaborated
  std::size_t block_base_ = 0;                     // first binding of the innermost block
  std::vector<std::pair<std::string, Val>> axes_;  // visible everywhere in the kernel
  std::vector<Sym> axis_extents_;
  std::vector<ast::Name> unbound_dims_;
  rules::MeshInfo mesh_info_;
  bool mesh_is_good_ = true;
  std::vector<ir::Value> launch_yields_;  // extents of the mesh axes, then computed extents of parameters
  std::vector<std::pair<std::size_t, Sym>> computed_dims_;
  const std::unordered_set<std::string_view>* possible_axes_ = nullptr;
  std::vector<std::unique_ptr<RefRoot>> roots_;
  std::vector<const ast::Item*> consts_open_;  // constants being evaluated, to find cycles

  // Where control flow may go.
  enum class Loop : std::uint8_t { plain, unrolled, barrier };
  std::vector<Loop> loops_;  // a `barrier` stops break and continue
  bool ended_ = false;       // the block ended in break, continue or return
  struct Frame {
    const ast::Function* function = nullptr;  // null: the kernel
    TypeUse result;
    std::optional<SymShape> any_shape;
    std::size_t loop_base = 0;  // loops of the callers
    bool early = false;         // results go to cells, and `return` leaves a block
    std::vector<ir::Value> cells;
    Val returned;
    bool has_returned = false;
    Span return_span;
  };
  std::deque<Frame> frames_;  // a deque: frames stay in place while calls inside them add more
  std::unordered_set<const ast::Function*> inlined_;
  PipelineContext* pipeline_ = nullptr;  // the innermost pipeline whose body is being elaborated
  bool checking_function_ = false;       // no mesh: scopes cannot be judged
  std::int64_t unions_ = 0;

  // Reads of `out` parameters before any write, held back until the enclosing loops are known.
  bool waits_seen_ = false;
  struct EarlyRead {
    const RefRoot* root;
    std::string name;
    Span span;
  };
  std::vector<EarlyRead> early_reads_;
  int loop_depth_ = 0;
  void flush_early_reads();
};

/// Restores the scope of names at the end of a block.
class Elaborator::ScopeGuard {
 public:
  explicit ScopeGuard(Elaborator& e) : e_(e), size_(e.bindings_.size()), base_(e.block_base_) { e.block_base_ = size_; }
  ~ScopeGuard() {
    e_.bindings_.resize(size_);
    e_.block_base_ = base_;
  }
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;

 private:
  Elaborator& e_;
  std::size_t size_, base_;
};

/// Hides the local names of the caller and switches to the callee's file.
class Elaborator::FrameGuard {
 public:
  FrameGuard(Elaborator& e, const ModuleFile& file) : scope_(e), e_(e), base_(e.frame_base_), file_(e.file_) {
    e.frame_base_ = e.bindings_.size();
    e.file_ = &file;
  }
  ~FrameGuard() {
    e_.frame_base_ = base_;
    e_.file_ = file_;
  }
  FrameGuard(const FrameGuard&) = delete;
  FrameGuard& operator=(const FrameGuard&) = delete;

 private:
  ScopeGuard scope_;
  Elaborator& e_;
  std::size_t base_;
  const ModuleFile* file_;
};

/// Sends instructions to `insts` while it lives.
class Elaborator::RegionGuard {
 public:
  RegionGuard(Elaborator& e, std::vector<ir::Inst>& insts) : e_(e), saved_(e.out_), ended_(e.ended_) {
    e.out_ = &insts;
    e.ended_ = false;
  }
  ~RegionGuard() {
    e_.out_ = saved_;
    e_.ended_ = ended_;
  }
  RegionGuard(const RegionGuard&) = delete;
  RegionGuard& operator=(const RegionGuard&) = delete;

 private:
  Elaborator& e_;
  std::vector<ir::Inst>* saved_;
  bool ended_;
};

/// Elaborates code that cannot be reached: names are checked, nothing is kept.
class Elaborator::DeadGuard {
 public:
  explicit DeadGuard(Elaborator& e) : e_(e), region_(e, insts_) { ++e.quiet_; }
  ~DeadGuard() { --e_.quiet_; }
  DeadGuard(const DeadGuard&) = delete;
  DeadGuard& operator=(const DeadGuard&) = delete;

 private:
  Elaborator& e_;
  std::vector<ir::Inst> insts_;
  RegionGuard region_;
};

}  // namespace pk::sema
