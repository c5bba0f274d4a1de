// The verifier: what every pass may rely on. The table's operand counts; values defined before use in an enclosing
// region; regions and terminators; and the allocation rules once more. Types are type_rules.cpp's.

#include <fmt/format.h>

#include <algorithm>

#include "pk/ir/passes.h"
#include "pk/ir/text.h"
#include "type_rules.h"

namespace pk::ir {
namespace {

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : kernel_(kernel), defined_(kernel.values.size(), false) {}

  std::vector<std::string> run() {
    check_mesh();
    check_params();
    check_launch();
    check_region(kernel_.launch, Context{});
    check_region(kernel_.body, Context{});
    return std::move(problems_);
  }

 private:
  /// What encloses an instruction.
  struct Context {
    bool loop = false;
    bool block = false;
    const Inst* pipeline = nullptr;  ///< whose body it is, where a step is reached once
    const Inst* parent = nullptr;    ///< null in a kernel's own regions
    std::size_t region = 0;          ///< number of the parent's region
  };

  template <class... Args>
  void problem(const Inst& inst, fmt::format_string<Args...> text, Args&&... args) {
    problems_.push_back(
        fmt::format("{}: in `{}`", fmt::format(text, std::forward<Args>(args)...), print(kernel_, inst)));
  }
  void require(bool fine, const Inst& inst, std::string_view text) {
    if (!fine) problem(inst, "{}", text);
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

  /// The launch region computes, requires, and yields extents: of the axes, then those that parameters refer to.
  void check_launch() {
    std::size_t extents = kernel_.axes.size();
    for (const Param& param : kernel_.params) {
      for (const ParamDim& dim : param.dims) {
        if (dim.kind == ParamDim::Kind::computed) extents = std::max(extents, static_cast<std::size_t>(dim.value) + 1);
      }
    }
    const std::vector<Inst>& insts = kernel_.launch.insts;
    if (insts.empty() || insts.back().op != Op::yield) {
      problems_.push_back("the launch region ends in a yield of extents");
      return;
    }
    for (const Inst& inst : insts) {
      const bool pure = info(inst.op).effects == effect::none && inst.regions.empty() && inst.op != Op::alloc;
      require(pure && inst.op != Op::coord, inst, "the launch region only computes");
    }
    const Inst& yield = insts.back();
    require(yield.operands.size() == extents, yield,
            fmt::format("the launch region yields extents: {} of them", extents));
    for (const Value v : yield.operands) {
      require(v.id < kernel_.values.size() && type(v) == Type::scalar(Dtype::index), yield, "an extent is an index");
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
    if (static_cast<int>(inst.results.size()) != row.results) {
      problem(inst, "{} results; the table wants {}", inst.results.size(), row.results);
      return;
    }
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
    if (!exist(inst.results) || std::ranges::any_of(inst.regions, [&](const Region& r) { return !exist(r.args); })) {
      problem(inst, "a value is not in the kernel's table");
      return;
    }
    for (const std::string& text : type_problems(kernel_, inst)) problem(inst, "{}", text);
    check_place(inst, context);
    check_structure(inst, context);
    for (std::size_t i = 0; i < inst.regions.size(); ++i) check_region(inst.regions[i], inside(inst, i, context));
    for (const Value v : inst.results) define(v);
  }
  [[nodiscard]] bool exist(const std::vector<Value>& values) const {
    return std::ranges::all_of(values, [&](Value v) { return v.id < kernel_.values.size(); });
  }
  /// What encloses the instructions of a region.
  [[nodiscard]] static Context inside(const Inst& inst, std::size_t region, Context context) {
    context.parent = &inst;
    context.region = region;
    if (inst.op == Op::for_ || inst.op == Op::while_) context.loop = true;
    if (inst.op == Op::block) context.block = true;
    // A step is left at its end only: what encloses it outside is out of reach.
    if (inst.op == Op::pipeline || inst.op == Op::step) context.loop = context.block = false;
    if (inst.op == Op::pipeline) context.pipeline = region == 1 ? &inst : nullptr;
    if (inst.op != Op::pipeline && inst.op != Op::scoped && inst.op != Op::block) context.pipeline = nullptr;
    return context;
  }

  /// Whether the instruction may stand where it does.
  void check_place(const Inst& inst, const Context& context) {
    const bool transfers = context.parent != nullptr && context.parent->op == Op::pipeline && context.region == 0;
    if (inst.op == Op::transfer) {
      require(transfers, inst, "a transfer stands in the first region of a pipeline");
    } else if (transfers) {
      require(info(inst.op).effects == effect::none && inst.regions.empty(), inst, "only views and what they need");
    }
    if (inst.op == Op::step) {
      require(context.pipeline != nullptr, inst,
              "a step stands in the second region of a pipeline, where it is reached once");
      require(context.pipeline == nullptr || inst.regions[0].args.size() * 2 == context.pipeline->operands.size(), inst,
              "a variable for each range");
    }
    const bool has_arguments = inst.op == Op::for_ || inst.op == Op::pipeline || inst.op == Op::step;
    for (const Region& region : inst.regions)
      require(has_arguments || region.args.empty(), inst, "regions without arguments");
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
        check_condition(inst);
        return;
      default:
        return;  // the other operations have no structure of their own
    }
  }

  void check_condition(const Inst& inst) {
    const std::vector<Inst>& insts = inst.regions[0].insts;
    const bool yields = !insts.empty() && insts.back().op == Op::yield && insts.back().operands.size() == 1;
    require(yields && exist(insts.back().operands) && type(insts.back().operands[0]) == Type::scalar(Dtype::boolean),
            inst, "the first region yields the condition");
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
    }
  }

  void check_pipeline(const Inst& inst) {
    const std::size_t ranges = inst.operands.size() / 2;
    if (inst.operands.size() % 2 != 0 || inst.regions[0].args.size() != ranges)
      problem(inst, "a low, a high and a variable for each range");
    check_blocks(inst);
    check_stages(inst);
    const int steps = count_steps(inst.regions[1]);
    if (steps != 1) problem(inst, "one step, not {}", steps);
  }
  /// The body's arguments are the transfers' blocks.
  void check_blocks(const Inst& inst) {
    const std::vector<Value>& blocks = inst.regions[1].args;
    std::size_t transfers = 0;
    for (const Inst& i : inst.regions[0].insts) {
      if (i.op != Op::transfer || i.operands.size() != 1) continue;
      if (transfers < blocks.size() && i.operands[0].id < kernel_.values.size()) {
        const Type& view = type(i.operands[0]);
        const Type& block = type(blocks[transfers]);
        require(view.dtype == block.dtype && view.shape == block.shape, i, "a block has the type of what it holds");
      }
      ++transfers;
    }
    require(transfers == blocks.size(), inst, "a block for each transfer");
  }
  void check_stages(const Inst& inst) {
    const std::int64_t stages = inst.attrs.integer(Attr::stages, 1);
    const std::int64_t delay = inst.attrs.integer(Attr::delay_release);
    require(stages == unresolved_extent || stages >= 1, inst, "a stage at least");
    require(delay == unresolved_extent || stages == unresolved_extent || (delay >= 0 && delay < stages), inst,
            "`delay_release` is less than `stages`");
    if (!inst.attrs.has(Attr::memory)) return;
    std::vector<std::int64_t> threads = inst.attrs.integers(Attr::compute);
    require(!threads.empty(), inst, "a compute thread at least");
    threads.push_back(inst.attrs.integer(Attr::memory));
    std::ranges::sort(threads);
    require(threads.front() >= 0 && threads.back() < kernel_.thread_count(), inst, "roles are those of threads");
    require(std::ranges::adjacent_find(threads) == threads.end(), inst, "a thread has one role");
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
