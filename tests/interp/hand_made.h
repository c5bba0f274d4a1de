#pragma once
// Kernels made by hand, for what no accepted program contains: the interpreter has to keep its rules whatever IR it
// gets.

#include <string>
#include <utility>
#include <vector>

#include "pk/interp/interp.h"
#include "pk/ir/ir.h"

namespace pk::test {

/// Builds a kernel from its end inwards: instructions are appended to the innermost open region.
class KernelMaker {
 public:
  explicit KernelMaker(std::int64_t threads = 1) {
    kernel.name = "made";
    if (threads > 1) axis(ir::MeshAxis::Kind::wg, "w", threads);
    open_.push_back(&kernel.body);
  }

  void axis(ir::MeshAxis::Kind kind, std::string name, std::int64_t size) {
    kernel.axes.push_back({kind, std::move(name), size, {}});
  }

  /// A parameter of one static shape.
  ir::Value param(ir::Mode mode, std::string name, ir::Dtype dtype, ir::Shape shape) {
    std::vector<ir::ParamDim> dims;
    for (const std::int64_t d : shape) dims.push_back({ir::ParamDim::Kind::constant, d});
    const ir::Type type =
        shape.empty() ? ir::Type::scalar(dtype) : ir::Type::ref(ir::Space::gmem, dtype, std::move(shape));
    kernel.params.push_back({name, mode, type, std::move(dims), place()});
    const ir::Value v = kernel.new_value(type, std::move(name));
    kernel.body.args.push_back(v);
    kernel.launch.args.push_back(kernel.new_value(type));
    return v;
  }

  ir::Inst& add(ir::Op op, std::vector<ir::Value> operands = {}) {
    std::vector<ir::Inst>& insts = open_.back()->insts;
    insts.push_back({op, {place(), {}}, std::move(operands), {}, {}, {}});
    return insts.back();
  }
  ir::Value value(ir::Op op, ir::Type type, std::vector<ir::Value> operands = {}) {
    ir::Inst& inst = add(op, std::move(operands));
    inst.results.push_back(kernel.new_value(std::move(type)));
    return inst.results[0];
  }
  ir::Value constant(ir::Dtype dtype, std::int64_t n) {
    const ir::Value v = value(ir::Op::constant, ir::Type::scalar(dtype));
    open_.back()->insts.back().attrs.set(ir::Attr::value_int, n);
    return v;
  }
  ir::Value coordinate(std::int64_t axis) {
    const ir::Value v = value(ir::Op::coord, ir::Type::scalar(ir::Dtype::index));
    open_.back()->insts.back().attrs.set(ir::Attr::axis, axis);
    return v;
  }
  ir::Value load(ir::Value ref) {
    const ir::Type type = kernel.type(ref);
    return value(ir::Op::load,
                 type.shape.empty() ? ir::Type::scalar(type.dtype) : ir::Type::tile(type.dtype, type.shape), {ref});
  }
  /// `ref[i]` along axis 0, as a ref.
  ir::Value at(ir::Value ref, ir::Value index) {
    ir::Type type = kernel.type(ref);
    std::vector<std::int64_t> sizes = type.shape;
    sizes[0] = 1;
    std::vector<ir::Value> operands{ref, index};
    for (std::size_t a = 1; a < type.shape.size(); ++a) operands.push_back(constant(ir::Dtype::index, 0));
    type.shape.erase(type.shape.begin());
    const ir::Value v = value(ir::Op::subview, type, std::move(operands));
    ir::Inst& inst = open_.back()->insts.back();
    inst.attrs.set(ir::Attr::sizes, sizes);
    inst.attrs.set(ir::Attr::squeeze, std::vector<std::int64_t>{0});
    return v;
  }
  ir::Value alloc(ir::Space space, std::string name, ir::Dtype dtype, ir::Shape shape, std::int64_t arrivals = 1) {
    const ir::Value v = value(ir::Op::alloc, ir::Type::ref(space, dtype, std::move(shape)));
    ir::Inst& inst = open_.back()->insts.back();
    inst.attrs.set(ir::Attr::name, std::move(name));
    if (space == ir::Space::barrier) inst.attrs.set(ir::Attr::arrivals, arrivals);
    return v;
  }

  /// Appends an operation with one region and makes `body` its content.
  template <class F>
  void scope(bool collective, const F& body) {
    add(ir::Op::scoped).attrs.set(ir::Attr::collective, collective);
    region(body);
  }
  template <class Then>
  void if_(ir::Value condition, const Then& then) {
    add(ir::Op::if_, {condition});
    region(then);
    open_.back()->insts.back().regions.emplace_back();
  }
  template <class F>
  void loop(std::int64_t rounds, const F& body) {
    const ir::Value low = constant(ir::Dtype::index, 0), high = constant(ir::Dtype::index, rounds),
                    step = constant(ir::Dtype::index, 1);
    add(ir::Op::for_, {low, high, step});
    const ir::Value counter = kernel.new_value(ir::Type::scalar(ir::Dtype::index));
    region([&] { body(counter); }, {counter});
  }
  /// The regions of the operation just added.
  template <class... Bodies>
  void regions(const Bodies&... bodies) {
    (region(bodies), ...);
  }
  /// One arm for each thread.
  template <class... Arms>
  void specialize(const Arms&... arms) {
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 0; i < sizeof...(arms); ++i) numbers.push_back(static_cast<std::int64_t>(i));
    add(ir::Op::specialize).attrs.set(ir::Attr::arms, numbers);
    regions(arms...);
  }

  /// Ends the kernel: the launch region yields the mesh as declared.
  ir::Kernel finish() {
    ir::Inst yield{ir::Op::yield, {}, {}, {}, {}, {}};
    for (const ir::MeshAxis& a : kernel.axes) {
      const ir::Value v = kernel.new_value(ir::Type::scalar(ir::Dtype::index));
      ir::Inst inst{ir::Op::constant, {}, {}, {v}, {}, {}};
      inst.attrs.set(ir::Attr::value_int, a.size);
      kernel.launch.insts.push_back(std::move(inst));
      yield.operands.push_back(v);
    }
    kernel.launch.insts.push_back(std::move(yield));
    return std::move(kernel);
  }

  /// The span that the next instruction gets: all differ, so that tests can tell which is meant.
  Span place() { return {FileId{0}, next_place_, ++next_place_}; }
  [[nodiscard]] std::uint32_t last_place() const { return next_place_ - 1; }

  ir::Kernel kernel;

 private:
  template <class F>
  void region(const F& body, std::vector<ir::Value> args = {}) {
    // The region is filled apart from its operation: appending to the outer list would move it.
    ir::Region inner{std::move(args), {}};
    open_.push_back(&inner);
    body();
    open_.pop_back();
    open_.back()->insts.back().regions.push_back(std::move(inner));
  }

  std::vector<ir::Region*> open_;
  std::uint32_t next_place_ = 0;
};

/// An argument for `elements`.
template <class T>
interp::Argument argument(std::vector<T>& elements, ir::Shape shape, bool initialised = true) {
  return {elements.data(), std::move(shape), 0, initialised};
}

/// Runs a kernel with all checks; the diagnostics in order.
inline std::vector<Diagnostic> run(ir::Kernel kernel, const std::vector<interp::Argument>& args,
                                   const interp::Options& options = {}) {
  Diagnostics diags;
  const interp::ProgramPtr program = interp::prepare(std::move(kernel));
  interp::run(*program, args, {}, options, diags);
  return diags.take();
}

/// Whether one of the diagnostic's places is the instruction at `place`.
inline bool shows(const Diagnostic& d, std::uint32_t place) {
  if (d.span.valid() && d.span.begin == place) return true;
  for (const Label& label : d.labels) {
    if (label.span.valid() && label.span.begin == place) return true;
  }
  return false;
}

}  // namespace pk::test
