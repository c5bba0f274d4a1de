// Views, loads and stores, masked and atomic accesses.

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

std::byte* bytes_of(Thread& t, const Slot& slot) {
  return slot.kind == Slot::Kind::tile ? t.tile(slot) : reinterpret_cast<std::byte*>(&t.scalar(slot));
}

std::byte* address(const Buffer& buffer, std::int64_t element) {
  return buffer.data + element * ir::byte_size(buffer.dtype);
}

/// A tile has the size of its ref, unless the ref's extent is known at run time only and differs.
bool check_count(Machine& m, Thread& t, const Instr& at, const Ref& ref, const Slot& value) {
  const std::int64_t count = value.kind == Slot::Kind::tile ? value.count : 1;
  if (ref.elements() == count) return true;
  m.fail<diag::run_bounds>(
       *at.inst, fmt::format("`{}` has {} elements where {} are expected", describe(ref), ref.elements(), count))
      .at(fmt::format("accessed by {}", m.name_thread(t.agent)))
      .help("the extent is known at run time only: require it in a `where` clause, or mask the access");
  return false;
}

/// Reading or overwriting an accumulator while MMAs that write it are in flight.
bool check_mmas_over(Machine& m, Thread& t, const Instr& at, const Ref& acc) {
  for (const Mma& mma : t.mma_queue) {
    if (mma.number <= t.mmas_done || mma.acc.buffer != acc.buffer) continue;
    m.fail<diag::run_race>(*at.inst,
                           fmt::format("race on `{}`: an MMA that writes it may still be in flight", describe(acc)))
        .at(fmt::format("accessed by {}", m.name_thread(t.agent)))
        .label(m.span_of(mma.pc), "this MMA was not waited for")
        .help("call `wgmma_wait(0)` before it");
    return false;
  }
  return true;
}

/// Calls f(element of the buffer, length, number of the first in the tile) for each stretch of neighbouring elements
/// whose mask is true; false as soon as f is, or when an element lies outside.
template <class F>
bool for_each_masked_run(Machine& m, Thread& t, const Instr& at, const Ref& ref, const std::byte* mask, const F& f) {
  const std::int64_t total = ref.elements();
  const std::int64_t row = ref.rank == 0 ? 1 : ref.extent[static_cast<std::size_t>(ref.rank) - 1];
  const bool dense_rows = ref.rank > 0 && ref.stride(ref.rank - 1) == 1;
  for (std::int64_t begin = 0; begin < total; begin += row) {
    for (std::int64_t j = 0; j < row;) {
      if (mask[begin + j] == std::byte{0}) {
        ++j;
        continue;
      }
      std::int64_t end = j + 1;
      while (dense_rows && end < row && mask[begin + end] != std::byte{0}) ++end;
      const auto first = locate(ref, begin + j);
      const auto last = locate(ref, begin + end - 1);
      if (!first || !last) return m.fail_masked_bounds(t, at, ref, first ? begin + end - 1 : begin + j);
      if (!f(*first, end - j, begin + j)) return false;
      j = end;
    }
  }
  return true;
}

}  // namespace

Step subview(Machine& m, Thread& t, const Instr& at) {
  const ViewDetail& view = m.program().views[at.detail];
  const Ref& from = t.refs[view.source];
  Ref& to = t.refs[view.result];
  to.buffer = from.buffer;
  to.base = from.base;
  to.root_rank = from.root_rank;
  to.root_extent = from.root_extent;
  to.root_stride = from.root_stride;
  to.start = from.start;
  to.rank = 0;
  for (std::size_t a = 0; a < static_cast<std::size_t>(from.rank); ++a) {
    const std::int64_t start = t.index_at(view.starts[a]);
    to.start[static_cast<std::size_t>(from.axis[a])] += start;
    if (view.squeezed[a]) continue;
    const std::size_t axis = static_cast<std::size_t>(to.rank++);
    to.axis[axis] = from.axis[a];
    to.extent[axis] = view.sizes[a] >= 0 ? view.sizes[a] : std::max<std::int64_t>(from.extent[a] - start, 0);
  }
  return Step::next;
}

Step ref_transpose(Machine& m, Thread& t, const Instr& at) {
  Ref& to = t.ref(result(m, at));
  to = t.ref(operand(m, at, 0));
  std::swap(to.axis[0], to.axis[1]);
  std::swap(to.extent[0], to.extent[1]);
  return Step::next;
}

Step ref_reshape(Machine& m, Thread& t, const Instr& at) {
  const Ref& from = t.ref(operand(m, at, 0));
  if (!m.check_bounds(t, at, from)) return Step::failed;
  ir::Shape shape = m.program().kernel.type(at.inst->results[0]).shape;
  // One extent may follow from the others.
  std::int64_t known = 1;
  for (const std::int64_t d : shape) known *= d < 0 ? 1 : d;
  for (std::int64_t& d : shape) {
    if (d < 0) d = known == 0 ? 0 : from.elements() / known;
  }
  if (!from.is_contiguous() || ir::element_count(shape) != from.elements()) {
    m.fail<diag::run_bounds>(*at.inst, fmt::format("`{}` cannot be seen under this shape: {}", describe(from),
                                                   from.is_contiguous() ? "it has another number of elements"
                                                                        : "its elements do not follow each other"))
        .help("reshape the whole allocation, or a part without gaps");
    return Step::failed;
  }
  t.ref(result(m, at)) = reshaped(from, shape);
  return Step::next;
}

Step peer(Machine& m, Thread& t, const Instr& at) {
  const Ref& from = t.ref(operand(m, at, 0));
  const std::vector<std::int64_t>& axes = at.inst->attrs.integers(ir::Attr::axes);
  std::vector<std::int64_t> wanted = t.block->coordinates;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = static_cast<std::size_t>(axes[i]);
    wanted[axis] = t.index_at(operand(m, at, i + 1).at);
    if (wanted[axis] >= 0 && wanted[axis] < m.launch().extents[axis]) continue;
    m.fail<diag::run_bounds>(*at.inst, fmt::format("coordinate {} is outside the axis `{}` of extent {}", wanted[axis],
                                                   m.program().kernel.axes[axis].name, m.launch().extents[axis]))
        .at(fmt::format("asked for by {}", m.name_thread(t.agent)))
        .help("take the coordinate modulo the axis's size");
    return Step::failed;
  }
  for (const auto& block : t.block->cluster->blocks) {
    if (block->coordinates != wanted) continue;
    Ref to = from;
    to.buffer = m.peer_buffer(t, at, from, *block);
    if (to.buffer == nullptr) return Step::failed;
    t.ref(result(m, at)) = to;
    return Step::next;
  }
  PK_CHECK(false, "a cluster has a block for each coordinate");
  return Step::failed;
}

Step load(Machine& m, Thread& t, const Instr& at) {
  const Ref& ref = t.ref(operand(m, at, 0));
  const Slot& out = result(m, at);
  if (!m.check_bounds(t, at, ref) || !check_count(m, t, at, ref, out)) return Step::failed;
  if (ref.buffer->space == ir::Space::acc) {
    // Reading an accumulator awaits the MMAs that write it.
    for (const Mma& mma : t.mma_queue) {
      if (mma.acc.buffer == ref.buffer) m.know_mmas(t, mma.number);
    }
    m.forget_mmas(t);
  } else if (!m.touch(t, at, ref, AccessKind::load)) {
    return Step::failed;
  }
  if (out.kind == Slot::Kind::scalar) t.scalar(out) = 0;
  gather(ref, bytes_of(t, out));
  return Step::next;
}

Step acc_load(Machine& m, Thread& t, const Instr& at) {
  const Ref& ref = t.ref(operand(m, at, 0));
  const Slot& out = result(m, at);
  if (!m.check_bounds(t, at, ref) || !check_count(m, t, at, ref, out)) return Step::failed;
  const std::int64_t left = at.inst->attrs.integer(ir::Attr::count);
  if (left < static_cast<std::int64_t>(t.mmas)) m.know_mmas(t, t.mmas - static_cast<Time>(left));
  m.forget_mmas(t);
  if (!check_mmas_over(m, t, at, ref)) return Step::failed;
  gather(ref, bytes_of(t, out));
  return Step::next;
}

Step store(Machine& m, Thread& t, const Instr& at) {
  const Ref& ref = t.ref(operand(m, at, 0));
  const Slot& value = operand(m, at, 1);
  if (!m.check_bounds(t, at, ref)) return Step::failed;
  if (value.kind == Slot::Kind::tile && !check_count(m, t, at, ref, value)) return Step::failed;
  if (ref.buffer->space == ir::Space::acc) {
    if (!check_mmas_over(m, t, at, ref)) return Step::failed;
  } else if (!m.touch(t, at, ref, AccessKind::store)) {
    return Step::failed;
  }
  if (value.kind == Slot::Kind::tile) {
    scatter(t.tile(value), ref);
  } else {
    fill(bytes_of(t, value), ref);
  }
  return Step::next;
}

Step load_masked(Machine& m, Thread& t, const Instr& at) {
  const Ref& ref = t.ref(operand(m, at, 0));
  const std::byte* mask = bytes_of(t, operand(m, at, 1));
  const Slot& other = operand(m, at, 2);
  const Slot& out = result(m, at);
  if (!check_count(m, t, at, ref, out) || !m.check_peer(t, at, ref)) return Step::failed;
  const std::size_t size = static_cast<std::size_t>(ir::byte_size(out.dtype));
  if (out.kind == Slot::Kind::scalar) t.scalar(out) = 0;
  std::byte* to = bytes_of(t, out);
  if (other.kind == Slot::Kind::tile) {
    std::memcpy(to, t.tile(other), static_cast<std::size_t>(out.count) * size);
  } else {
    tile::fill(static_cast<int>(size), to, bytes_of(t, other), out.kind == Slot::Kind::tile ? out.count : 1);
  }
  const bool fine =
      for_each_masked_run(m, t, at, ref, mask, [&](std::int64_t element, std::int64_t count, std::int64_t n) {
        if (!m.touch_element(t, at, ref, element, count, AccessKind::load)) return false;
        std::memcpy(to + static_cast<std::size_t>(n) * size, address(*ref.buffer, element),
                    static_cast<std::size_t>(count) * size);
        return true;
      });
  return fine ? Step::next : Step::failed;
}

Step store_masked(Machine& m, Thread& t, const Instr& at) {
  const Ref& ref = t.ref(operand(m, at, 0));
  const Slot& value = operand(m, at, 1);
  const std::byte* mask = bytes_of(t, operand(m, at, 2));
  if (!check_count(m, t, at, ref, operand(m, at, 2)) || !m.check_peer(t, at, ref)) return Step::failed;
  const int size = ir::byte_size(ref.buffer->dtype);
  const std::byte* from = bytes_of(t, value);
  const bool fine =
      for_each_masked_run(m, t, at, ref, mask, [&](std::int64_t element, std::int64_t count, std::int64_t n) {
        if (!m.touch_element(t, at, ref, element, count, AccessKind::store)) return false;
        if (value.kind == Slot::Kind::tile) {
          std::memcpy(address(*ref.buffer, element), from + n * size, static_cast<std::size_t>(count * size));
        } else {
          tile::fill(size, address(*ref.buffer, element), from, count);
        }
        return true;
      });
  return fine ? Step::next : Step::failed;
}

namespace {

std::vector<std::int64_t> byte_strides(const Ref& ref) {
  std::vector<std::int64_t> out;
  for (int a = 0; a < ref.rank; ++a) out.push_back(ref.stride(a) * ir::byte_size(ref.buffer->dtype));
  return out;
}

ir::Shape shape_of(const Ref& ref) { return {ref.extent.begin(), ref.extent.begin() + ref.rank}; }

/// How far the order of an atomic reaches: block, cluster, device (and system, which is the device here).
int reach(std::string_view scope) { return scope == "block" ? 0 : scope == "cluster" ? 1 : 2; }

/// What an ordering atomic learns from others at this place, and leaves for them. Both sides have to reach each other.
void order_atomic(Machine& m, Thread& t, const Instr& at, const Ref& ref) {
  const std::string_view order = at.inst->attrs.text(ir::Attr::order);
  if (!m.checks_races() || order.empty() || order == "relaxed") return;
  const int width = reach(at.inst->attrs.text(ir::Attr::scope));
  const std::array<std::int64_t, 3> domain{t.block->number, t.block->cluster->number, 0};
  auto& released = m.launch().atomics.released;
  if (order != "release") {
    for (int level = 0; level <= width; ++level) {
      const auto found = released.find({ref.buffer, ref.origin(), level, domain[static_cast<std::size_t>(level)]});
      if (found != released.end()) m.acquire(t, found->second);
    }
  }
  if (order == "acquire") return;
  for (int level = 0; level <= width; ++level) {
    Clock& clock = released
                       .try_emplace({ref.buffer, ref.origin(), level, domain[static_cast<std::size_t>(level)]},
                                    m.empty_clock(*t.block->cluster))
                       .first->second;
    clock.join(t.clock);
  }
  m.tick(t);
}

}  // namespace

Step atomic(Machine& m, Thread& t, const Instr& at) {
  const Ref& ref = t.ref(operand(m, at, 0));
  const ir::Inst& inst = *at.inst;
  if (!m.check_bounds(t, at, ref) || !m.touch(t, at, ref, AccessKind::atomic)) return Step::failed;
  const auto kind = tile::parse_update(inst.attrs.text(ir::Attr::kind));
  PK_CHECK(kind.has_value(), "an atomic has a kind");
  const ir::Shape shape = shape_of(ref);
  const int size = ir::byte_size(ref.buffer->dtype);
  const auto strides_of = [&](const Slot& slot) {
    return slot.kind == Slot::Kind::tile ? tile::dense_strides(size, shape)
                                         : std::vector<std::int64_t>(shape.size(), 0);
  };
  // With three operands the second is what has to be there for the third to be stored.
  const bool compares = inst.operands.size() == 3;
  const Slot& value = operand(m, at, compares ? 2 : 1);
  tile::Operand expected;
  if (compares) expected = {bytes_of(t, operand(m, at, 1)), operand(m, at, 1).kind != Slot::Kind::tile};
  std::byte* old = nullptr;
  if (!inst.results.empty()) {
    const Slot& out = result(m, at);
    if (out.kind == Slot::Kind::scalar) t.scalar(out) = 0;
    old = bytes_of(t, out);
  }
  order_atomic(m, t, at, ref);
  tile::update(*kind, ref.buffer->dtype, shape, address(*ref.buffer, ref.origin()), byte_strides(ref),
               bytes_of(t, value), strides_of(value), old, expected);
  return Step::next;
}

}  // namespace pk::interp::handlers

namespace pk::interp {

void combine(std::string_view operation, const std::byte* values, const Ref& target) {
  const auto kind = tile::parse_update(operation);
  PK_CHECK(kind.has_value(), "a reducing copy has a known operation");
  const int size = ir::byte_size(target.buffer->dtype);
  const ir::Shape shape(target.extent.begin(), target.extent.begin() + target.rank);
  std::vector<std::int64_t> strides;
  for (int a = 0; a < target.rank; ++a) strides.push_back(target.stride(a) * size);
  tile::update(*kind, target.buffer->dtype, shape, target.buffer->data + target.origin() * size, strides, values,
               tile::dense_strides(size, shape));
}

bool Machine::fail_masked_bounds(Thread& thread, const Instr& at, const Ref& ref, std::int64_t n) {
  const auto coordinate = coordinates(ref, n);
  const auto count = static_cast<std::size_t>(ref.root_rank);
  fail<diag::run_bounds>(
      *at.inst,
      fmt::format("`{}[{}]` is out of bounds, and the mask is true there", ref.buffer->name,
                  fmt::join(coordinate.begin(), coordinate.begin() + static_cast<std::ptrdiff_t>(count), ", ")))
      .at(fmt::format("accessed by {}", name_thread(thread.agent)))
      .label(ref.buffer->span,
             fmt::format("`{}` has the extents [{}] here", ref.buffer->name, fmt::join(ref.buffer->extents, ", ")))
      .help("make the mask false for every element outside");
  return false;
}

}  // namespace pk::interp
