// The verifier: what every pass may rely on. The table's operand counts; types of operands and results by class; values
// defined before use in an enclosing region; regions and terminators; and the allocation rules once more.

#include <fmt/format.h>

#include <algorithm>

#include "pk/ir/passes.h"
#include "pk/ir/text.h"

namespace pk::ir {
namespace {

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : kernel_(kernel), defined_(kernel.values.size(), false) {}

  std::vector<std::string> run() {
    check_mesh();
    check_params();
    check_region(kernel_.launch, Context{});
    check_region(kernel_.body, Context{});
    return std::move(problems_);
  }

 private:
  /// What encloses an instruction.
  struct Context {
    bool loop = false;
    bool block = false;
    const Inst* parent = nullptr;
  };

  template <class... Args>
  void problem(const Inst& inst, fmt::format_string<Args...> text, Args&&... args) {
    problems_.push_back(
        fmt::format("{}: in `{}`", fmt::format(text, std::forward<Args>(args)...), print(kernel_, inst)));
  }
  [[nodiscard]] const Type& type(Value v) const { return kernel_.type(v); }

  void check_mesh() {
    int wg = 0;
    for (const MeshAxis& axis : kernel_.axes) wg += axis.kind == MeshAxis::Kind::wg ? 1 : 0;
    if (wg > 1) problems_.push_back("PK0308: more than one wg axis");
  }
  void check_params() {
    if (kernel_.body.args.size() != kernel_.params.size())
      problems_.push_back("the body has one argument for each parameter");
    if (kernel_.launch.args.size() != kernel_.params.size())
      problems_.push_back("the launch region has one argument for each parameter");
    for (const Param& param : kernel_.params) {
      if (param.type.is_ref() && param.dims.size() != param.type.shape.size()) {
        problems_.push_back(fmt::format("parameter `{}` has one dimension for each axis", param.name));
      }
    }
  }

  void define(Value v) {
    if (v.id >= defined_.size()) {
      problems_.push_back(fmt::format("value {} is not in the kernel's table", v.id));
      return;
    }
    if (defined_[v.id]) problems_.push_back(fmt::format("value {} is defined twice", v.id));
    defined_[v.id] = true;
  }
  void undefine(Value v) {
    if (v.id < defined_.size()) defined_[v.id] = false;
  }

  void check_region(const Region& region, Context context) {
    for (const Value v : region.args) define(v);
    bool allocs_over = false;
    for (std::size_t i = 0; i < region.insts.size(); ++i) {
      const Inst& inst = region.insts[i];
      check_inst(inst, context);
      if (inst.op == Op::alloc && (allocs_over || context.parent == nullptr || context.parent->op != Op::scoped)) {
        problem(inst, "an alloc stands at the start of a scoped region");
      }
      allocs_over = allocs_over || inst.op != Op::alloc;
      if (info(inst.op).cls == OpClass::terminator && i + 1 < region.insts.size())
        problem(inst, "a terminator ends its region");
    }
    // Values are visible in their region only.
    for (const Inst& inst : region.insts) {
      for (const Value v : inst.results) undefine(v);
    }
    for (const Value v : region.args) undefine(v);
  }

  void check_inst(const Inst& inst, const Context& context) {
    const OpInfo& row = info(inst.op);
    const auto count = static_cast<int>(inst.operands.size());
    if (count < row.min_operands || (row.max_operands >= 0 && count > row.max_operands)) {
      problem(inst, "{} operands; the table wants {} to {}", count, row.min_operands, row.max_operands);
      return;
    }
    if (static_cast<int>(inst.results.size()) != row.results)
      problem(inst, "{} results; the table wants {}", inst.results.size(), row.results);
    if (row.regions >= 0 && static_cast<int>(inst.regions.size()) != row.regions) {
      problem(inst, "{} regions; the table wants {}", inst.regions.size(), row.regions);
      return;
    }
    for (const Value v : inst.operands) {
      if (v.id >= defined_.size() || !defined_[v.id]) {
        problem(inst, "an operand is not defined here");
        return;
      }
    }
    check_types(inst);
    check_structure(inst, context);
    Context inner = context;
    inner.parent = &inst;
    if (inst.op == Op::for_ || inst.op == Op::while_) inner.loop = true;
    if (inst.op == Op::block) inner.block = true;
    for (const Region& region : inst.regions) check_region(region, inner);
    for (const Value v : inst.results) define(v);
  }

  // ---- types

  void check_types(const Inst& inst) {
    switch (info(inst.op).cls) {
      case OpClass::unary:
      case OpClass::predicate:
      case OpClass::binary:
      case OpClass::comparison:
      case OpClass::ternary:
        check_elementwise(inst);
        return;
      case OpClass::view:
        if (!type(inst.operands[0]).is_ref()) problem(inst, "a view is made of a ref");
        if (inst.op == Op::subview) check_subview(inst);
        return;
      case OpClass::memory:
        check_memory(inst);
        return;
      case OpClass::reduction:
        check_reduction(inst);
        return;
      case OpClass::constant:
      case OpClass::conversion:
      case OpClass::shape:
      case OpClass::scan:
      case OpClass::scope:
      case OpClass::async:
      case OpClass::sync:
      case OpClass::mma:
      case OpClass::control:
      case OpClass::terminator:
      case OpClass::pipeline:
      case OpClass::debug:
      case OpClass::launch:
        return;
    }
  }

  void check_elementwise(const Inst& inst) {
    const Shape* shape = nullptr;
    const std::size_t first = inst.op == Op::select ? 1 : 0;
    if (first == 1 && type(inst.operands[0]).dtype != Dtype::boolean)
      problem(inst, "the condition of a select is bool");
    for (std::size_t i = 0; i < inst.operands.size(); ++i) {
      const Type& t = type(inst.operands[i]);
      if (!t.is_scalar() && !t.is_tile()) {
        problem(inst, "operand {} is no scalar or tile", i);
        return;
      }
      if (i > first && t.dtype != type(inst.operands[first]).dtype) problem(inst, "operands of several element types");
      if (!t.is_tile()) continue;
      if (shape != nullptr && !same_shape(*shape, t.shape)) problem(inst, "tiles of several shapes");
      shape = &t.shape;
    }
    if (inst.results.empty()) return;
    const Type& result = type(inst.results[0]);
    if (result.is_tile() != (shape != nullptr) || (shape != nullptr && !same_shape(*shape, result.shape)))
      problem(inst, "the result's shape is not the operands'");
    const bool to_bool = info(inst.op).cls == OpClass::predicate || info(inst.op).cls == OpClass::comparison;
    const Dtype wanted = to_bool ? Dtype::boolean : type(inst.operands[first]).dtype;
    if (result.dtype != wanted) problem(inst, "the result is {}", spelling(wanted));
  }
  /// Unresolved extents agree with everything.
  [[nodiscard]] static bool same_shape(const Shape& a, const Shape& b) {
    return std::ranges::equal(a, b, [](std::int64_t x, std::int64_t y) {
      return x == y || x == unresolved_extent || y == unresolved_extent;
    });
  }

  void check_subview(const Inst& inst) {
    const Type& source = type(inst.operands[0]);
    const std::size_t rank = source.shape.size();
    if (inst.operands.size() != rank + 1 || inst.attrs.integers(Attr::sizes).size() != rank)
      problem(inst, "a start and a size for each axis");
    for (std::size_t i = 1; i < inst.operands.size(); ++i) {
      if (type(inst.operands[i]) != Type::scalar(Dtype::index)) problem(inst, "a start is an index");
    }
    if (inst.results.empty()) return;
    const Type& result = type(inst.results[0]);
    if (result.shape.size() + inst.attrs.integers(Attr::squeeze).size() != rank)
      problem(inst, "the result has the axes that are not squeezed");
    if (result.space != source.space) problem(inst, "a view stays in its memory");
  }

  void check_memory(const Inst& inst) {
    const Type& target = type(inst.operands.at(0));
    if (inst.op == Op::var) {
      if (!inst.results.empty() && type(inst.results[0]) != Type::cell(target))
        problem(inst, "the cell holds the initial value's type");
      return;
    }
    const bool cell = inst.op == Op::var_get || inst.op == Op::var_set;
    if (cell != (target.kind == Type::Kind::cell) || (!cell && !target.is_ref())) {
      problem(inst, "the first operand is a {}", cell ? "cell" : "ref");
      return;
    }
    if (inst.op == Op::store && inst.operands.size() == 2) {
      const Type& value = type(inst.operands[1]);
      if (value.dtype != target.dtype)
        problem(inst, "a store of {} to {}", spelling(value.dtype), spelling(target.dtype));
      if (value.is_tile() && !same_shape(value.shape, target.shape)) problem(inst, "a store of another shape");
    }
    if (inst.op == Op::load && !inst.results.empty()) {
      const Type& result = type(inst.results[0]);
      if (result.dtype != target.dtype || !same_shape(result.shape, target.shape))
        problem(inst, "a load gives the ref's type");
    }
  }

  void check_reduction(const Inst& inst) {
    const Type& x = type(inst.operands[0]);
    const std::int64_t axis = inst.attrs.integer(Attr::axis);
    if (!x.is_tile() || axis < 0 || axis >= static_cast<std::int64_t>(x.shape.size())) {
      problem(inst, "a reduction names an axis of its tile");
      return;
    }
    if (!inst.results.empty() && type(inst.results[0]).shape.size() + 1 != x.shape.size())
      problem(inst, "a reduction removes one axis");
  }

  // ---- structure and allocation rules

  void check_structure(const Inst& inst, const Context& context) {
    switch (inst.op) {
      case Op::break_:
      case Op::continue_:
        if (!context.loop) problem(inst, "outside a loop");
        return;
      case Op::exit_block:
        if (!context.block) problem(inst, "outside a block");
        return;
      case Op::specialize:
        if (static_cast<std::int64_t>(inst.attrs.integers(Attr::arms).size()) != kernel_.thread_count())
          problem(inst, "an arm for each thread");
        for (const std::int64_t arm : inst.attrs.integers(Attr::arms)) {
          if (arm < 0 || arm >= static_cast<std::int64_t>(inst.regions.size()))
            problem(inst, "arm {} does not exist", arm);
        }
        return;
      case Op::scoped:
        check_scope(inst);
        return;
      case Op::pipeline:
        check_pipeline(inst);
        return;
      case Op::while_:
        if (inst.regions[0].insts.empty() || inst.regions[0].insts.back().op != Op::yield)
          problem(inst, "the first region yields the condition");
        return;
      default:
        return;  // the other operations have no structure of their own
    }
  }

  void check_scope(const Inst& inst) {
    const bool collective = inst.attrs.flag(Attr::collective);
    const bool has_wg = kernel_.wg_axis() >= 0;
    if (collective && !has_wg) problem(inst, "PK0304: a collective allocation without a wg axis");
    for (const Inst& alloc : inst.regions[0].insts) {
      if (alloc.op != Op::alloc) break;
      if (alloc.results.empty()) continue;
      const bool accumulator = type(alloc.results[0]).space == Space::acc;
      if (accumulator && collective) problem(alloc, "PK0302: a collective accumulator");
      if (!accumulator && !collective && has_wg)
        problem(alloc, "PK0301: a private allocation in a kernel with several threads");
      for (const std::int64_t axis : alloc.attrs.integers(Attr::axes)) {
        const bool cluster = axis >= 0 && axis < static_cast<std::int64_t>(kernel_.axes.size()) &&
                             kernel_.axes[static_cast<std::size_t>(axis)].kind == MeshAxis::Kind::cluster;
        if (!cluster) problem(alloc, "PK0305: axis {} is no cluster axis", axis);
      }
    }
  }

  void check_pipeline(const Inst& inst) {
    const std::size_t ranges = inst.operands.size() / 2;
    if (inst.operands.size() % 2 != 0 || inst.regions[0].args.size() != ranges)
      problem(inst, "a low, a high and a variable for each range");
    const auto transfers = static_cast<std::size_t>(
        std::ranges::count_if(inst.regions[0].insts, [](const Inst& i) { return i.op == Op::transfer; }));
    if (inst.regions[1].args.size() != transfers) problem(inst, "a block for each transfer");
    const int steps = count_steps(inst.regions[1]);
    if (steps != 1) problem(inst, "one step, not {}", steps);
  }
  /// Steps of this pipeline, not of those inside it.
  [[nodiscard]] static int count_steps(const Region& region) {
    int n = 0;
    for (const Inst& inst : region.insts) {
      if (inst.op == Op::step) ++n;
      if (inst.op == Op::pipeline || inst.op == Op::step) continue;
      for (const Region& inner : inst.regions) n += count_steps(inner);
    }
    return n;
  }

  const Kernel& kernel_;
  std::vector<bool> defined_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> verify(const Kernel& kernel) { return Verifier(kernel).run(); }

}  // namespace pk::ir
