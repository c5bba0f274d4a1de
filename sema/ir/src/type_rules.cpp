// One function a class of operations. The texts name what is wanted, since the verifier prints the instruction beside.

#include "type_rules.h"

#include <fmt/format.h>

#include <algorithm>

namespace pk::ir {
namespace {

/// Unresolved extents agree with everything.
bool agree(std::int64_t a, std::int64_t b) { return a == b || a == unresolved_extent || b == unresolved_extent; }
bool agree(const Shape& a, const Shape& b) {
  return std::ranges::equal(a, b, [](std::int64_t x, std::int64_t y) { return agree(x, y); });
}
bool is_static(const Shape& shape) {
  return std::ranges::all_of(shape, [](std::int64_t extent) { return extent >= 0; });
}
bool is_dynamic(const Shape& shape) { return std::ranges::find(shape, dynamic_extent) != shape.end(); }
bool holds_elements(Space space) {
  return space == Space::gmem || space == Space::smem || space == Space::acc || space == Space::tmem;
}

bool allows(Domain domain, Dtype t) {
  switch (domain) {
    case Domain::any:
      return true;
    case Domain::number:
      return t != Dtype::boolean;
    case Domain::integer:
      return is_integer(t);
    case Domain::floating:
      return is_floating(t);
    case Domain::boolean:
      return t == Dtype::boolean;
    case Domain::bits:
      return is_integer(t) || t == Dtype::boolean;
  }
  return false;
}

class TypeRules {
 public:
  TypeRules(const Kernel& kernel, const Inst& inst) : kernel_(kernel), inst_(inst) {}

  std::vector<std::string> run() {
    switch (info(inst_.op).cls) {
      case OpClass::constant:
        constant();
        break;
      case OpClass::unary:
      case OpClass::predicate:
      case OpClass::binary:
      case OpClass::comparison:
      case OpClass::ternary:
        elementwise();
        break;
      case OpClass::conversion:
        conversion();
        break;
      case OpClass::shape:
        shape();
        break;
      case OpClass::reduction:
        reduction();
        break;
      case OpClass::scan:
        want(operand(0).is_tile() && names_axis(operand(0).shape), "a scan names an axis of its tile");
        want(same(operand(0), result()), "the result has the operand's type");
        break;
      case OpClass::view:
        view();
        break;
      case OpClass::memory:
        memory();
        break;
      case OpClass::scope:
        if (inst_.op == Op::alloc) allocation();
        break;
      case OpClass::async:
        async();
        break;
      case OpClass::sync:
        synchronisation();
        break;
      case OpClass::mma:
        product();
        break;
      case OpClass::control:
        control();
        break;
      case OpClass::terminator:
        break;  // what a yield gives is its region's affair
      case OpClass::pipeline:
        pipeline();
        break;
      case OpClass::debug:
        for (std::size_t i = 0; i < inst_.operands.size(); ++i) want_value(i);
        if (inst_.op == Op::assert_ || inst_.op == Op::assume)
          want(operand(0).dtype == Dtype::boolean, "the condition is a bool");
        break;
      case OpClass::launch:
        want(operand(0) == Type::scalar(Dtype::boolean), "the condition is a bool");
        break;
    }
    return std::move(problems_);
  }

 private:
  // ---- wishes

  void want(bool fine, std::string_view text) {
    if (!fine) problems_.emplace_back(text);
  }
  bool want_value(std::size_t i) {
    const bool fine = operand(i).is_scalar() || operand(i).is_tile();
    if (!fine) problems_.push_back(fmt::format("operand {} is no scalar or tile", i));
    return fine;
  }
  bool want_ref(std::size_t i, Space space) {
    const bool fine = operand(i).is_ref() && operand(i).space == space;
    if (!fine) problems_.push_back(fmt::format("operand {} is no {} ref", i, spelling(space)));
    return fine;
  }
  void want_index(std::size_t i) {
    if (operand(i) != Type::scalar(Dtype::index)) problems_.push_back(fmt::format("operand {} is no index", i));
  }
  void want_result(const Type& wanted) {
    if (result() != wanted) problems_.push_back("the result has another type");
  }

  [[nodiscard]] const Type& operand(std::size_t i) const { return kernel_.type(inst_.operands[i]); }
  [[nodiscard]] const Type& result() const { return kernel_.type(inst_.results[0]); }
  [[nodiscard]] static bool same(const Type& a, const Type& b) {
    return a.kind == b.kind && a.dtype == b.dtype && a.space == b.space && agree(a.shape, b.shape);
  }
  /// Whether `axis` is one of this shape.
  [[nodiscard]] bool names_axis(const Shape& shape) const {
    const std::int64_t axis = inst_.attrs.integer(Attr::axis, -1);
    return axis >= 0 && axis < static_cast<std::int64_t>(shape.size());
  }
  [[nodiscard]] bool is_mesh_axis(std::int64_t axis) const {
    return axis >= 0 && axis < static_cast<std::int64_t>(kernel_.axes.size());
  }
  [[nodiscard]] bool is_cluster_axis(std::int64_t axis) const {
    return is_mesh_axis(axis) && kernel_.axes[static_cast<std::size_t>(axis)].kind == MeshAxis::Kind::cluster;
  }
  void want_cluster_axes() {
    for (const std::int64_t axis : inst_.attrs.integers(Attr::axes)) {
      if (!is_cluster_axis(axis)) problems_.push_back(fmt::format("axis {} is no cluster axis", axis));
    }
  }

  // ---- values

  void constant() {
    want(result().is_scalar(), "the result is a scalar");
    if (inst_.op == Op::constant) {
      const bool real = is_floating(result().dtype);
      want(inst_.attrs.has(Attr::value_float) == real && inst_.attrs.has(Attr::value_int) != real,
           "a floating constant has `value_float`, any other `value_int`");
      return;
    }
    want_result(Type::scalar(Dtype::index));
    if (inst_.op == Op::dim_value) {
      // -1 stands for a generic without a value, in IR that is for checking only.
      const std::int64_t dim = inst_.attrs.integer(Attr::dim, -1);
      want(dim >= -1 && dim < static_cast<std::int64_t>(kernel_.dims.size()), "`dim` names a dimension");
    } else {
      want(is_mesh_axis(inst_.attrs.integer(Attr::axis, -1)), "`axis` names an axis of the mesh");
    }
  }

  void elementwise() {
    const Shape* shape = nullptr;
    const std::size_t first = inst_.op == Op::select ? 1 : 0;
    if (first == 1) want(operand(0).dtype == Dtype::boolean, "the condition of a select is bool");
    for (std::size_t i = 0; i < inst_.operands.size(); ++i) {
      const Type& t = operand(i);
      if (!want_value(i)) return;
      if (i > first) want(t.dtype == operand(first).dtype, "operands of several element types");
      if (!t.is_tile()) continue;
      if (shape != nullptr) want(agree(*shape, t.shape), "tiles of several shapes");
      shape = &t.shape;
    }
    if (!allows(info(inst_.op).domain, operand(first).dtype))
      problems_.push_back(fmt::format("no operation on {}", spelling(operand(first).dtype)));
    want(shape == nullptr ? result().is_scalar() : result().is_tile() && agree(*shape, result().shape),
         "the result's shape is not the operands'");
    const bool to_bool = info(inst_.op).cls == OpClass::predicate || info(inst_.op).cls == OpClass::comparison;
    const Dtype wanted = to_bool ? Dtype::boolean : operand(first).dtype;
    if (result().dtype != wanted) problems_.push_back(fmt::format("the result is {}", spelling(wanted)));
  }

  void conversion() {
    if (!want_value(0)) return;
    want(result().kind == operand(0).kind && agree(result().shape, operand(0).shape),
         "the result's shape is not the operand's");
    if (inst_.op == Op::bitcast)
      want(info(result().dtype).bits == info(operand(0).dtype).bits, "a bitcast keeps the width");
  }

  void shape() {
    want(result().is_tile(), "the result is a tile");
    for (std::size_t i = 0; i < inst_.operands.size(); ++i) {
      if (!want_value(i)) return;
      want(operand(i).dtype == result().dtype, "the result has the operand's element type");
      want(operand(i).is_tile() == (inst_.op != Op::splat),
           inst_.op == Op::splat ? "the operand is a scalar" : "the operand is a tile");
    }
    if (problems_.empty()) shape_of_result();
  }
  void shape_of_result() {
    const Shape& to = result().shape;
    switch (inst_.op) {
      case Op::iota:
        want(names_axis(to) || inst_.attrs.integer(Attr::axis, -1) == -1, "`axis` names an axis of the result");
        want(result().dtype != Dtype::boolean, "no operation on bool");
        return;
      case Op::broadcast:
        want(is_broadcast(operand(0).shape, to), "only axes of extent 1 are repeated");
        return;
      case Op::reshape:
        if (is_static(to) && is_static(operand(0).shape))
          want(element_count(to) == element_count(operand(0).shape), "a reshape keeps the number of elements");
        return;
      case Op::transpose:
        want(is_transposed(operand(0).shape, to), "`perm` names each axis once, and gives the result's shape");
        return;
      case Op::concat:
        want(is_joined(to), "the operands differ along `axis` only, where their extents add up");
        return;
      case Op::extract_slice:
        want(is_slice(operand(0).shape, to), "a slice lies within its tile");
        return;
      case Op::layout_cast:
        want(agree(operand(0).shape, to), "a layout changes no shape");
        return;
      default:
        return;  // splat: any shape
    }
  }
  [[nodiscard]] static bool is_broadcast(const Shape& from, const Shape& to) {
    if (from.size() > to.size()) return false;
    const std::size_t added = to.size() - from.size();
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (from[i] != 1 && !agree(from[i], to[added + i])) return false;
    }
    return true;
  }
  [[nodiscard]] bool is_transposed(const Shape& from, const Shape& to) const {
    const std::vector<std::int64_t>& perm = inst_.attrs.integers(Attr::perm);
    if (perm.size() != from.size() || to.size() != from.size()) return false;
    std::vector<bool> seen(perm.size(), false);
    for (std::size_t i = 0; i < perm.size(); ++i) {
      if (perm[i] < 0 || perm[i] >= static_cast<std::int64_t>(perm.size())) return false;
      const auto axis = static_cast<std::size_t>(perm[i]);
      if (seen[axis] || !agree(from[axis], to[i])) return false;
      seen[axis] = true;
    }
    return true;
  }
  [[nodiscard]] bool is_joined(const Shape& to) const {
    if (!names_axis(to)) return false;
    const auto axis = static_cast<std::size_t>(inst_.attrs.integer(Attr::axis));
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < inst_.operands.size(); ++i) {
      Shape part = operand(i).shape;
      if (part.size() != to.size()) return false;
      sum = part[axis] < 0 || sum < 0 ? unresolved_extent : sum + part[axis];
      part[axis] = to[axis];
      if (!agree(part, to)) return false;
    }
    return agree(sum, to[axis]);
  }
  [[nodiscard]] bool is_slice(const Shape& from, const Shape& to) const {
    const std::vector<std::int64_t>& starts = inst_.attrs.integers(Attr::starts);
    if (starts.size() != from.size() || to.size() != from.size()) return false;
    for (std::size_t i = 0; i < from.size(); ++i) {
      const bool known = from[i] >= 0 && to[i] >= 0;
      if (starts[i] < 0 || (known && starts[i] + to[i] > from[i])) return false;
    }
    return true;
  }

  void reduction() {
    const Type& x = operand(0);
    if (!x.is_tile() || !names_axis(x.shape)) {
      want(false, "a reduction names an axis of its tile");
      return;
    }
    if (!allows(info(inst_.op).domain, x.dtype))
      problems_.push_back(fmt::format("no operation on {}", spelling(x.dtype)));
    Shape rest = x.shape;
    rest.erase(rest.begin() + inst_.attrs.integer(Attr::axis));
    want(agree(rest, result().shape) && result().is_scalar() == rest.empty(), "a reduction removes one axis");
    const bool counts = inst_.op == Op::reduce_sum && x.dtype == Dtype::boolean;
    want(result().dtype == (counts ? Dtype::i32 : x.dtype),
         "the result has the operand's element type; bools add to i32");
  }

  // ---- memory

  void view() {
    const Type& source = operand(0);
    if (!source.is_ref() || !result().is_ref()) {
      want(false, "a view is made of a ref");
      return;
    }
    want(result().space == source.space && result().dtype == source.dtype, "a view stays in its memory");
    const Shape& from = source.shape;
    const Shape& to = result().shape;
    switch (inst_.op) {
      case Op::subview:
        subview(from, to);
        return;
      case Op::ref_transpose:
        want(from.size() == 2 && to.size() == 2 && agree(from[0], to[1]) && agree(from[1], to[0]),
             "a transposed ref has its two axes exchanged");
        return;
      case Op::ref_reshape:
        if (is_static(from) && is_static(to))
          want(element_count(from) == element_count(to), "a reshape keeps the number of elements");
        return;
      default:
        break;  // peer
    }
    want(agree(from, to), "a peer's ref has the same shape");
    want_cluster_axes();
    want(inst_.operands.size() == inst_.attrs.integers(Attr::axes).size() + 1, "a coordinate for each of `axes`");
    for (std::size_t i = 1; i < inst_.operands.size(); ++i) want_index(i);
  }
  void subview(const Shape& from, const Shape& to) {
    const std::vector<std::int64_t>& sizes = inst_.attrs.integers(Attr::sizes);
    const std::vector<std::int64_t>& squeeze = inst_.attrs.integers(Attr::squeeze);
    if (inst_.operands.size() != from.size() + 1 || sizes.size() != from.size()) {
      want(false, "a start and a size for each axis");
      return;
    }
    for (std::size_t i = 1; i < inst_.operands.size(); ++i) {
      if (operand(i) != Type::scalar(Dtype::index)) want(false, "a start is an index");
    }
    Shape kept;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (std::ranges::find(squeeze, static_cast<std::int64_t>(i)) == squeeze.end()) {
        kept.push_back(sizes[i]);
      } else {
        want(agree(sizes[i], 1), "a squeezed axis has the size 1");
      }
    }
    want(kept.size() + squeeze.size() == sizes.size() && agree(kept, to),
         "the result has the axes that are not squeezed");
  }

  void memory() {
    if (inst_.op == Op::var || inst_.op == Op::var_get || inst_.op == Op::var_set) {
      cell();
      return;
    }
    const Type& target = operand(0);
    if (!target.is_ref() || !holds_elements(target.space)) {
      want(false, "the first operand is a ref to memory");
      return;
    }
    if (inst_.op == Op::acc_load) want_ref(0, Space::acc);
    for (std::size_t i = 1; i < inst_.operands.size(); ++i) {
      if (!want_value(i)) continue;
      const Type& value = operand(i);
      const bool mask = (inst_.op == Op::load_masked && i == 1) || (inst_.op == Op::store_masked && i == 2);
      const Dtype wanted = mask ? Dtype::boolean : target.dtype;
      if (value.dtype != wanted)
        problems_.push_back(fmt::format("operand {} is {}, not {}", i, spelling(value.dtype), spelling(wanted)));
      if (value.is_tile()) want(agree(value.shape, target.shape), "a tile of another shape than the ref");
    }
    if (inst_.results.empty()) return;
    const bool scalar = target.shape.empty();
    want(result().dtype == target.dtype && result().is_scalar() == scalar && result().is_tile() != scalar &&
             agree(result().shape, target.shape),
         "a load gives the ref's type");
  }
  void cell() {
    if (inst_.op == Op::var) {
      if (want_value(0)) want_result(Type::cell(operand(0)));
      return;
    }
    if (operand(0).kind != Type::Kind::cell) {
      want(false, "the first operand is a cell");
      return;
    }
    const Type& value = inst_.op == Op::var_get ? result() : operand(1);
    want((value.is_scalar() || value.is_tile()) && Type::cell(value) == operand(0), "the cell holds another type");
  }

  void allocation() {
    const Type& type = result();
    if (!type.is_ref() || type.space == Space::gmem) {
      want(false, "an allocation gives a ref to memory of the block");
      return;
    }
    want(!is_dynamic(type.shape), "an allocation has a static shape");
    want(inst_.attrs.integer(Attr::arrivals, 1) >= 1, "a phase has an arrival at least");
    if (type.space != Space::semaphore && inst_.attrs.flag(Attr::global))
      want(false, "PK0314: only semaphores are `global`");
    if (type.space == Space::cluster_barrier) cluster_barrier();
  }
  void cluster_barrier() {
    std::vector<std::int64_t> axes = inst_.attrs.integers(Attr::axes);
    want(!axes.empty(), "PK0305: a cluster barrier names its axes");
    for (const std::int64_t axis : axes) {
      if (!is_mesh_axis(axis)) {
        problems_.push_back(fmt::format("PK0305: there is no axis {}", axis));
      } else if (!is_cluster_axis(axis)) {
        problems_.push_back(fmt::format("PK0303: axis {} is no cluster axis", axis));
      }
    }
    std::ranges::sort(axes);
    want(std::ranges::adjacent_find(axes) == axes.end(), "PK0305: an axis is named twice");
  }

  // ---- copies, synchronisation, products

  void async() {
    switch (inst_.op) {
      case Op::copy_gmem_to_smem:
        if (!want_ref(0, Space::gmem) || !want_ref(1, Space::smem)) return;
        want_barrier(2, false);
        copied();
        want_cluster_axes();
        return;
      case Op::copy_smem_to_gmem:
        if (want_ref(0, Space::smem) && want_ref(1, Space::gmem)) copied();
        return;
      case Op::prefetch:
        want_ref(0, Space::gmem);
        return;
      case Op::async_store:
        if (!want_value(0) || !want_ref(1, Space::smem)) return;
        want_barrier(2, false);
        want(operand(0).dtype == operand(1).dtype &&
                 (operand(0).is_scalar() || agree(operand(0).shape, operand(1).shape)),
             "the value fits the ref");
        return;
      default:
        return;  // groups, waits and fences have no operands
    }
  }
  void copied() {
    want(operand(0).dtype == operand(1).dtype, "a copy converts nothing");
    Shape from = operand(0).shape;
    const Shape& to = operand(1).shape;
    const std::int64_t divided = inst_.attrs.integer(Attr::partition, -1);
    // Each block receives its part along the divided axis.
    if (divided >= 0 && divided < static_cast<std::int64_t>(std::min(from.size(), to.size())))
      from[static_cast<std::size_t>(divided)] = to[static_cast<std::size_t>(divided)];
    want(agree(from, to), "source and destination have one shape");
  }
  void want_barrier(std::size_t i, bool of_cluster) {
    const Type& t = operand(i);
    const bool fits = t.is_ref() && (t.space == Space::barrier || (of_cluster && t.space == Space::cluster_barrier));
    if (!fits || !t.shape.empty()) problems_.push_back(fmt::format("operand {} is no single barrier", i));
  }

  void synchronisation() {
    switch (inst_.op) {
      case Op::barrier_arrive:
      case Op::barrier_wait:
      case Op::barrier_test:
        want_barrier(0, true);
        if (!inst_.results.empty()) want_result(Type::scalar(Dtype::boolean));
        return;
      case Op::semaphore_signal:
      case Op::semaphore_wait:
      case Op::semaphore_read:
        want(want_ref(0, Space::semaphore) && operand(0).shape.empty(), "one semaphore");
        if (inst_.operands.size() > 1) want_index(1);
        if (!inst_.results.empty()) want_result(Type::scalar(Dtype::index));
        return;
      case Op::sync:
        for (const std::int64_t t : inst_.attrs.integers(Attr::threads)) {
          if (t < 0 || t >= kernel_.thread_count()) problems_.push_back(fmt::format("there is no thread {}", t));
        }
        return;
      default:
        return;  // dependent launches have no operands
    }
  }

  void product() {
    if (inst_.op == Op::wgmma_wait) return;
    const bool tiles = inst_.op == Op::dot;
    const std::size_t acc = tiles ? 2 : 0;
    const std::size_t a = tiles ? 0 : 1;
    if (tiles) {
      for (std::size_t i = 0; i < 3; ++i) want(operand(i).is_tile(), "the operands are tiles");
      want(same(result(), operand(acc)), "the result has the type of what it is added to");
    } else {
      want_ref(0, Space::acc);
      want(operand(1).is_tile() || (operand(1).is_ref() && operand(1).space == Space::smem),
           "`a` is a tile or lies in shared memory");
      want_ref(2, Space::smem);
    }
    const Shape& c = operand(acc).shape;
    const Shape& x = operand(a).shape;
    const Shape& y = operand(a + 1).shape;
    want(c.size() == 2 && x.size() == 2 && y.size() == 2 && agree(x[0], c[0]) && agree(x[1], y[0]) && agree(y[1], c[1]),
         "the shapes are [M, K] times [K, N] on [M, N]");
  }

  // ---- regions

  void control() {
    switch (inst_.op) {
      case Op::if_:
        want(operand(0) == Type::scalar(Dtype::boolean), "the condition is a bool");
        return;
      case Op::for_: {
        const Type& low = operand(0);
        want(low.is_scalar() && is_integer(low.dtype), "bounds are integers");
        want(operand(1) == low && operand(2) == low, "low, high and step have one type");
        const Region& body = inst_.regions[0];
        want(body.args.size() == 1 && kernel_.type(body.args[0]) == low, "the body has the counter");
        return;
      }
      default:
        return;  // the others take no operands
    }
  }

  void pipeline() {
    if (inst_.op == Op::transfer) {
      want_ref(0, Space::gmem);
      want(!is_dynamic(operand(0).shape), "a block has a static shape");
      want_cluster_axes();
      return;
    }
    for (std::size_t i = 0; i < inst_.operands.size(); ++i) want_index(i);
    for (const Region& region : inst_.regions) {
      for (const Value v : region.args) {
        const Type& type = kernel_.type(v);
        const bool block = &region == &inst_.regions.back() && inst_.op == Op::pipeline;
        want(block ? type.is_ref() && type.space == Space::smem : type == Type::scalar(Dtype::index),
             block ? "a block lies in shared memory" : "a loop variable is an index");
      }
    }
  }

  const Kernel& kernel_;
  const Inst& inst_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> type_problems(const Kernel& kernel, const Inst& inst) { return TypeRules(kernel, inst).run(); }

}  // namespace pk::ir
