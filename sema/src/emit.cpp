// Instructions: the low-level half of elaboration.

#include "elaborator.h"
#include "pk/ir/ops.h"
#include "rounding.h"

namespace pk::sema {

ir::Inst& Elaborator::push(ir::Op op, Span span, std::vector<ir::Value> operands, ir::Attrs attrs) {
  ir::Inst inst;
  inst.op = op;
  inst.loc = {span, call_};
  inst.operands = std::move(operands);
  inst.attrs = std::move(attrs);
  out_->push_back(std::move(inst));
  return out_->back();
}

ir::Value Elaborator::emit(ir::Op op, Span span, std::vector<ir::Value> operands, ir::Type type, ir::Attrs attrs) {
  const bool approximate = fast_ > 0 && ir::is_elementwise(op) && ir::is_floating(type.dtype);
  const ir::Value result = kernel_.new_value(std::move(type));
  ir::Inst& inst = push(op, span, std::move(operands), std::move(attrs));
  inst.results.push_back(result);
  if (approximate) inst.attrs.set(ir::Attr::fast, true);
  return result;
}

std::int64_t Elaborator::lower(const Sym& extent) const {
  if (const auto c = extent.constant()) return *c;
  return syms_.is_runtime(extent) ? ir::dynamic_extent : ir::unresolved_extent;
}

ir::Shape Elaborator::lower(const SymShape& shape) const {
  ir::Shape lowered;
  for (const Sym& s : shape) lowered.push_back(lower(s));
  return lowered;
}

ir::Type Elaborator::lower(const SemType& type) const { return {type.kind, type.dtype, type.space, lower(type.shape)}; }

ir::Value Elaborator::new_value(const SemType& type, std::string_view hint) {
  return kernel_.new_value(lower(type), std::string(hint));
}

ir::Value Elaborator::constant_int(std::int64_t value, ir::Dtype dtype, Span span) {
  ir::Attrs attrs;
  attrs.set(ir::Attr::value_int, value);
  return emit(ir::Op::constant, span, {}, ir::Type::scalar(dtype), std::move(attrs));
}

ir::Value Elaborator::constant_real(double value, ir::Dtype dtype, Span span) {
  ir::Attrs attrs;
  attrs.set(ir::Attr::value_float, round_to(dtype, value));
  return emit(ir::Op::constant, span, {}, ir::Type::scalar(dtype), std::move(attrs));
}

ir::Value Elaborator::constant_bool(bool value, Span span) {
  return constant_int(value ? 1 : 0, ir::Dtype::boolean, span);
}

namespace {
ir::Op opaque_op(OpaqueOp op) {
  switch (op) {
    case OpaqueOp::div:
      return ir::Op::div;
    case OpaqueOp::rem:
      return ir::Op::rem;
    case OpaqueOp::floordiv:
      return ir::Op::floordiv;
    case OpaqueOp::mod:
      return ir::Op::mod;
    case OpaqueOp::cdiv:
      return ir::Op::cdiv;
    case OpaqueOp::min:
      return ir::Op::min;
    case OpaqueOp::max:
      return ir::Op::max;
  }
  return ir::Op::div;
}
}  // namespace

ir::Value Elaborator::materialise(const Sym& sym, Span span) {
  const ir::Type index = ir::Type::scalar(ir::Dtype::index);
  if (const auto c = sym.constant()) return constant_int(*c, ir::Dtype::index, span);
  const auto unknown = [&] {
    ir::Attrs attrs;
    attrs.set(ir::Attr::dim, std::int64_t{-1});
    return emit(ir::Op::dim_value, span, {}, index, std::move(attrs));
  };
  if (syms_.is_unresolved(sym)) return unknown();
  const auto atom_value = [&](std::uint32_t number) {
    const Atom atom = syms_.atom(number);
    switch (atom.kind) {
      case Atom::Kind::generic:
        break;
      case Atom::Kind::dim: {
        ir::Attrs attrs;
        attrs.set(ir::Attr::dim, atom.number);
        return emit(ir::Op::dim_value, span, {}, index, std::move(attrs));
      }
      case Atom::Kind::param: {
        const auto& args = in_launch_ ? kernel_.launch.args : kernel_.body.args;
        return args[static_cast<std::size_t>(atom.number)];
      }
      case Atom::Kind::opaque: {
        const ir::Value left = materialise(atom.left, span);
        const ir::Value right = materialise(atom.right, span);
        return emit(opaque_op(atom.op), span, {left, right}, index);
      }
    }
    return unknown();
  };
  std::optional<ir::Value> sum;
  const auto add = [&](ir::Op op, ir::Value v) { sum = sum ? emit(op, span, {*sum, v}, index) : v; };
  // The constant term comes first in canonical order; a sum reads better (and folds better) with it last.
  std::int64_t constant_term = 0;
  for (const Term& term : sym.terms()) {
    if (term.factors.empty()) {
      constant_term = term.coefficient;
      continue;
    }
    std::optional<ir::Value> product;
    for (const std::uint32_t factor : term.factors) {
      const ir::Value v = atom_value(factor);
      product = product ? emit(ir::Op::mul, span, {*product, v}, index) : v;
    }
    const bool subtract = term.coefficient < 0 && sum.has_value();
    const std::int64_t scale = subtract ? -term.coefficient : term.coefficient;
    if (scale != 1) product = emit(ir::Op::mul, span, {*product, constant_int(scale, ir::Dtype::index, span)}, index);
    add(subtract ? ir::Op::sub : ir::Op::add, *product);
  }
  if (constant_term != 0) add(ir::Op::add, constant_int(constant_term, ir::Dtype::index, span));
  return *sum;
}

Val Elaborator::load(const Val& ref, Span span) {
  if (ref.poisoned()) return ref;
  if (ref.type.space == ir::Space::barrier || ref.type.space == ir::Space::cluster_barrier ||
      ref.type.space == ir::Space::semaphore) {
    error<diag::bad_argument>(span, fmt::format("{} is no memory that can be read", describe(ref)))
        .help("barriers and semaphores are used through their operations: `barrier_wait(b)`, `semaphore_wait(s, n)`");
    return Val::poison();
  }
  if (!require_static(ref.type.shape, span, "a tile")) return Val::poison();
  note_read(ref, span);
  SemType type =
      ref.type.shape.empty() ? SemType::scalar(ref.type.dtype) : SemType::tile(ref.type.dtype, ref.type.shape);
  const ir::Value loaded = emit(ir::Op::load, span, {ref.ir}, lower(type));
  return Val::value(loaded, std::move(type));
}

void Elaborator::store(const Val& ref, const Val& value, Span ref_span, Span value_span) {
  if (ref.poisoned()) return;
  note_write(ref, ref_span);
  if (value.poisoned()) return;
  if (ref.type.space == ir::Space::barrier || ref.type.space == ir::Space::cluster_barrier ||
      ref.type.space == ir::Space::semaphore) {
    error<diag::bad_argument>(ref_span, fmt::format("{} is no memory that can be written", describe(ref)));
    return;
  }
  const Val converted = adapt(value, ref.type.dtype, value_span);
  if (converted.poisoned()) return;
  if (!require_static(ref.type.shape, ref_span, "a store")) return;
  if (converted.is_tile() && equal(converted.type.shape, ref.type.shape) == Truth::no) {
    error<diag::shape_mismatch>(value_span, fmt::format("a store takes a tile of the shape {} or a scalar; this is {}",
                                                        shape_text(ref.type.shape), shape_text(converted.type.shape)))
        .label(ref_span, fmt::format("{} elements go here", shape_text(ref.type.shape)))
        .help("bring the value to the shape with `broadcast`, `reshape` or a slice, or store to a part `r[lo:hi]`");
    return;
  }
  push(ir::Op::store, cover(ref_span, value_span), {ref.ir, converted.ir});
}

void Elaborator::note_write(const Val& ref, Span span) {
  for (const RefRoot* root = ref.root; root != nullptr; root = root->parent) {
    root->written = true;
    if (root->mode != ast::Mode::in) continue;
    if (root->kind == RefRoot::Kind::load_block) {
      error<diag::writes_loaded_block>(span, root->name)
          .label(root->span, "loaded here")
          .help("put the result into a `store` block of the pipeline or into memory of its own");
    } else {
      error<diag::writes_input>(span, root->name)
          .label(root->span, "declared here")
          .help(fmt::format("declare it `inout {}` if it is to be changed", root->name));
    }
    return;
  }
}

void Elaborator::note_read(const Val& ref, Span span) {
  if (waits_seen_) return;
  for (const RefRoot* root = ref.root; root != nullptr; root = root->parent) {
    const bool is_output = root->mode == ast::Mode::out && root->kind != RefRoot::Kind::alloc;
    if (!is_output || root->written) continue;
    early_reads_.push_back({root, root->name, span});
    break;
  }
  if (loop_depth_ == 0) flush_early_reads();
}

// A read is certainly too early when nothing earlier in the text wrote the output and nothing waited for another
// thread that may have; inside a loop, a later statement of the loop may have written in an earlier round.
void Elaborator::flush_early_reads() {
  const std::vector<EarlyRead> reads = std::move(early_reads_);
  early_reads_.clear();
  if (waits_seen_) return;
  for (const EarlyRead& read : reads) {
    if (read.root->written) continue;
    error<diag::reads_unwritten>(read.span, read.name)
        .label(read.root->span, "declared here")
        .help(fmt::format("write it first, or declare it `inout {}` if the caller passes its contents", read.name));
  }
}

}  // namespace pk::sema
