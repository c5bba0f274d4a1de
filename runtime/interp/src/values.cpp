// Operations on values: coordinates, elementwise arithmetic, shapes, reductions. The loops are in tile_kernels.h.

#include <fmt/format.h>

#include <cstring>

#include "handlers.h"
#include "machine.h"
#include "pk/interp/tile_kernels.h"
#include "pk/ir/numerics.h"

namespace pk::interp::handlers {

namespace {

const Slot& operand(Machine& m, const Instr& at, std::size_t i) { return m.program().slot(at.inst->operands[i]); }
const Slot& result(Machine& m, const Instr& at) { return m.program().slot(at.inst->results[0]); }
const ir::Shape& shape_of(Machine& m, ir::Value v) { return m.program().kernel.type(v).shape; }

/// The bytes of a value: of its tile, or the low bytes of its scalar slot.
std::byte* bytes_of(Thread& t, const Slot& slot) {
  return slot.kind == Slot::Kind::tile ? t.tile(slot) : reinterpret_cast<std::byte*>(&t.scalar(slot));
}
/// Where to write a result; the unused bytes of a scalar become zero.
std::byte* fresh(Thread& t, const Slot& slot) {
  if (slot.kind != Slot::Kind::tile) t.scalar(slot) = 0;
  return bytes_of(t, slot);
}

/// Arithmetic of indices, which address computations are made of; false: another way has to be taken.
bool index_arithmetic(ir::Op op, std::int64_t a, std::int64_t b, std::uint64_t& out) {
  const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
  if (op == ir::Op::add) {
    out = ua + ub;
  } else if (op == ir::Op::sub) {
    out = ua - ub;
  } else if (op == ir::Op::mul) {
    out = ua * ub;
  } else if (op == ir::Op::lt) {
    out = a < b ? 1 : 0;
  } else if (op == ir::Op::ge) {
    out = a >= b ? 1 : 0;
  } else if (op == ir::Op::rem && b > 0) {
    out = static_cast<std::uint64_t>(a % b);
  } else if (op == ir::Op::div && b > 0) {
    out = static_cast<std::uint64_t>(a / b);
  } else {
    return false;
  }
  return true;
}

Step reduction(Machine& m, Thread& t, const Instr& at) {
  const Slot& in = operand(m, at, 0);
  const int axis = static_cast<int>(at.inst->attrs.integer(ir::Attr::axis));
  const Slot& out = result(m, at);
  tile::reduce(at.inst->op, in.dtype, fresh(t, out), bytes_of(t, in), shape_of(m, at.inst->operands[0]), axis);
  return Step::next;
}

Step copy_value(Machine& m, Thread& t, const Instr& at) {
  const Slot& in = operand(m, at, 0);
  const Slot& out = result(m, at);
  const std::int64_t count = in.kind == Slot::Kind::tile ? in.count : 1;
  std::memcpy(fresh(t, out), bytes_of(t, in), static_cast<std::size_t>(count * ir::byte_size(in.dtype)));
  return Step::next;
}

}  // namespace

Step coord(Machine& m, Thread& t, const Instr& at) {
  const std::size_t axis = static_cast<std::size_t>(at.inst->attrs.integer(ir::Attr::axis));
  const bool wg = m.program().kernel.axes[axis].kind == ir::MeshAxis::Kind::wg;
  t.scalar(result(m, at)) = static_cast<std::uint64_t>(wg ? t.index : t.block->coordinates[axis]);
  return Step::next;
}

Step axis_size(Machine& m, Thread& t, const Instr& at) {
  t.scalar(result(m, at)) =
      static_cast<std::uint64_t>(m.launch().extents[static_cast<std::size_t>(at.inst->attrs.integer(ir::Attr::axis))]);
  return Step::next;
}

Step dim_value(Machine& m, Thread& t, const Instr& at) {
  t.scalar(result(m, at)) =
      static_cast<std::uint64_t>(m.launch().dims[static_cast<std::size_t>(at.inst->attrs.integer(ir::Attr::dim))]);
  return Step::next;
}

Step splat(Machine& m, Thread& t, const Instr& at) {
  const Slot& out = result(m, at);
  tile::fill(ir::byte_size(out.dtype), t.tile(out), bytes_of(t, operand(m, at, 0)), out.count);
  return Step::next;
}

Step iota(Machine& m, Thread& t, const Instr& at) {
  const Slot& out = result(m, at);
  tile::iota(out.dtype, t.tile(out), shape_of(m, at.inst->results[0]),
             static_cast<int>(at.inst->attrs.integer(ir::Attr::axis, -1)));
  return Step::next;
}

Step elementwise(Machine& m, Thread& t, const Instr& at) {
  const ir::Inst& inst = *at.inst;
  const Slot& out = result(m, at);
  const Slot& first = operand(m, at, 0);
  if (out.kind == Slot::Kind::scalar && first.dtype == ir::Dtype::index && inst.operands.size() == 2) {
    const auto a = static_cast<std::int64_t>(t.scalar(first));
    const auto b = static_cast<std::int64_t>(t.scalar(operand(m, at, 1)));
    if (index_arithmetic(inst.op, a, b, t.scalar(out))) return Step::next;
  }
  std::array<tile::Operand, 3> operands;
  for (std::size_t i = 0; i < inst.operands.size(); ++i) {
    const Slot& slot = operand(m, at, i);
    operands[i] = {bytes_of(t, slot), slot.kind != Slot::Kind::tile};
  }
  const ir::Dtype dtype = inst.op == ir::Op::select ? operand(m, at, 1).dtype : first.dtype;
  const std::int64_t n = out.kind == Slot::Kind::tile ? out.count : 1;
  const tile::Failure failure =
      tile::elementwise(inst.op, dtype, fresh(t, out), std::span(operands).first(inst.operands.size()), n);
  if (!failure) return Step::next;
  Undefined undefined{std::vector<std::uint8_t>(static_cast<std::size_t>(n), 0), &inst, failure.error};
  tile::elementwise(inst.op, dtype, bytes_of(t, out), std::span(operands).first(inst.operands.size()), n,
                    undefined.elements.data());
  t.undefined[inst.results[0].id] = std::move(undefined);
  return Step::next;
}

Step cast(Machine& m, Thread& t, const Instr& at) {
  const Slot& in = operand(m, at, 0);
  const Slot& out = result(m, at);
  tile::convert(out.dtype, fresh(t, out), in.dtype, bytes_of(t, in), in.kind == Slot::Kind::tile ? in.count : 1);
  return Step::next;
}

Step bitcast(Machine& m, Thread& t, const Instr& at) { return copy_value(m, t, at); }
Step reshape(Machine& m, Thread& t, const Instr& at) { return copy_value(m, t, at); }
Step layout_cast(Machine& m, Thread& t, const Instr& at) { return copy_value(m, t, at); }
Step var_get(Machine& m, Thread& t, const Instr& at) { return copy_value(m, t, at); }
Step var(Machine& m, Thread& t, const Instr& at) { return copy_value(m, t, at); }

Step var_set(Machine& m, Thread& t, const Instr& at) {
  const Slot& cell = operand(m, at, 0);
  const Slot& value = operand(m, at, 1);
  if (cell.kind == Slot::Kind::scalar) {
    t.scalar(cell) = t.scalar(value);
  } else {
    std::memcpy(t.tile(cell), t.tile(value), static_cast<std::size_t>(cell.count * ir::byte_size(cell.dtype)));
  }
  return Step::next;
}

Step broadcast(Machine& m, Thread& t, const Instr& at) {
  const Slot& in = operand(m, at, 0);
  const Slot& out = result(m, at);
  if (in.kind != Slot::Kind::tile) return splat(m, t, at);
  tile::broadcast(ir::byte_size(out.dtype), t.tile(out), shape_of(m, at.inst->results[0]), t.tile(in),
                  shape_of(m, at.inst->operands[0]));
  return Step::next;
}

Step transpose(Machine& m, Thread& t, const Instr& at) {
  const Slot& out = result(m, at);
  tile::transpose(ir::byte_size(out.dtype), t.tile(out), t.tile(operand(m, at, 0)), shape_of(m, at.inst->operands[0]),
                  at.inst->attrs.integers(ir::Attr::perm));
  return Step::next;
}

Step concat(Machine& m, Thread& t, const Instr& at) {
  const Slot& out = result(m, at);
  const std::size_t axis = static_cast<std::size_t>(at.inst->attrs.integer(ir::Attr::axis));
  std::int64_t offset = 0;
  for (const ir::Value v : at.inst->operands) {
    const ir::Shape& shape = shape_of(m, v);
    tile::concat_part(ir::byte_size(out.dtype), t.tile(out), shape_of(m, at.inst->results[0]), static_cast<int>(axis),
                      offset, t.tile(m.program().slot(v)), shape);
    offset += shape[axis];
  }
  return Step::next;
}

Step extract_slice(Machine& m, Thread& t, const Instr& at) {
  const Slot& in = operand(m, at, 0);
  const Slot& out = result(m, at);
  const ir::Shape& in_shape = shape_of(m, at.inst->operands[0]);
  // A slice that indexes some axes has fewer of them; along those it takes one element.
  ir::Shape box(in_shape.size(), 1);
  const std::vector<std::int64_t>& sizes = at.inst->attrs.integers(ir::Attr::sizes);
  if (sizes.size() == in_shape.size()) {
    box = sizes;
  } else {
    box = shape_of(m, at.inst->results[0]);
  }
  tile::slice(ir::byte_size(out.dtype), fresh(t, out), box, t.tile(in), in_shape,
              at.inst->attrs.integers(ir::Attr::starts));
  return Step::next;
}

Step reduce_sum(Machine& m, Thread& t, const Instr& at) { return reduction(m, t, at); }
Step reduce_prod(Machine& m, Thread& t, const Instr& at) { return reduction(m, t, at); }
Step reduce_min(Machine& m, Thread& t, const Instr& at) { return reduction(m, t, at); }
Step reduce_max(Machine& m, Thread& t, const Instr& at) { return reduction(m, t, at); }
Step reduce_any(Machine& m, Thread& t, const Instr& at) { return reduction(m, t, at); }
Step reduce_all(Machine& m, Thread& t, const Instr& at) { return reduction(m, t, at); }

Step cumsum(Machine& m, Thread& t, const Instr& at) {
  const Slot& in = operand(m, at, 0);
  tile::cumsum(in.dtype, t.tile(result(m, at)), t.tile(in), shape_of(m, at.inst->operands[0]),
               static_cast<int>(at.inst->attrs.integer(ir::Attr::axis)));
  return Step::next;
}

Step dot(Machine& m, Thread& t, const Instr& at) {
  const Slot& a = operand(m, at, 0);
  const Slot& b = operand(m, at, 1);
  const Slot& c = operand(m, at, 2);
  const Slot& out = result(m, at);
  const ir::Shape& a_shape = shape_of(m, at.inst->operands[0]);
  const ir::Shape& b_shape = shape_of(m, at.inst->operands[1]);
  const std::int64_t out_size = ir::byte_size(out.dtype);
  std::memcpy(t.tile(out), t.tile(c), static_cast<std::size_t>(out.count * out_size));
  const std::int64_t a_size = ir::byte_size(a.dtype), b_size = ir::byte_size(b.dtype);
  tile::multiply_add(out.dtype, t.tile(out), b_shape[1] * out_size, a_shape[0], b_shape[1], a_shape[1],
                     {a.dtype, t.tile(a), a_shape[1] * a_size, a_size},
                     {b.dtype, t.tile(b), b_shape[1] * b_size, b_size},
                     at.inst->attrs.text(ir::Attr::precision) == "tf32");
  return Step::next;
}

}  // namespace pk::interp::handlers
