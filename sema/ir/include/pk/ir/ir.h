#pragma once
// The kernel IR: structured regions of instructions over SSA values. Scalars and tiles are values; refs name memory;
// mutable variables are cells (`var`), which each back end turns into its own registers. Plain data, owned by value;
// meaning is in the operation table (ops.def) and, for whole kernels, in the comments here.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "pk/frontend/source.h"
#include "pk/ir/dtype.h"
#include "pk/ir/ops.h"

namespace pk::ir {

/// Extent of an axis. Tiles, shared memory and accumulators have static extents; global-memory refs may have dynamic
/// ones. `unresolved` marks a static size that is not known because a generic has no value yet: such IR is for
/// checking only and cannot be run.
using Shape = std::vector<std::int64_t>;
inline constexpr std::int64_t dynamic_extent = -1;
inline constexpr std::int64_t unresolved_extent = -2;

enum class Space : std::uint8_t { gmem, smem, acc, tmem, barrier, cluster_barrier, semaphore };
[[nodiscard]] std::string_view spelling(Space space);

struct Type {
  enum class Kind : std::uint8_t { none, scalar, tile, ref, cell };
  Kind kind = Kind::none;
  Dtype dtype = Dtype::f32;   ///< meaningless for barriers and semaphores
  Space space = Space::gmem;  ///< refs only
  Shape shape;                ///< tiles and refs (barriers: of the array); cells of tiles
  friend bool operator==(const Type&, const Type&) = default;

  [[nodiscard]] static Type scalar(Dtype t) { return {Kind::scalar, t, Space::gmem, {}}; }
  [[nodiscard]] static Type tile(Dtype t, Shape s) { return {Kind::tile, t, Space::gmem, std::move(s)}; }
  [[nodiscard]] static Type ref(Space sp, Dtype t, Shape s) { return {Kind::ref, t, sp, std::move(s)}; }
  /// A variable that holds scalars (empty shape, `is_tile` false) or tiles.
  [[nodiscard]] static Type cell(const Type& held) { return {Kind::cell, held.dtype, Space::gmem, held.shape}; }
  [[nodiscard]] bool is_scalar() const { return kind == Kind::scalar; }
  [[nodiscard]] bool is_tile() const { return kind == Kind::tile; }
  [[nodiscard]] bool is_ref() const { return kind == Kind::ref; }
};

/// Number of elements of a fully static shape.
[[nodiscard]] constexpr std::int64_t element_count(const Shape& shape) {
  std::int64_t n = 1;
  for (const std::int64_t d : shape) n *= d;
  return n;
}

struct Value {
  std::uint32_t id = ~0U;
  [[nodiscard]] bool valid() const { return id != ~0U; }
  friend auto operator<=>(Value, Value) = default;
};

using CallId = Id<struct CallTag>;
/// Where an instruction comes from: the user's text, and the chain of inlined calls that led there.
struct Loc {
  Span span;
  CallId call;
};
struct CallSite {
  Span span;
  std::string function;
  CallId parent;
};

enum class Attr : std::uint8_t {
#define PK_ATTR(name, kind, doc) name,
#include "pk/ir/attrs.def"
};
using AttrValue =
    std::variant<bool, std::int64_t, double, std::string, Dtype, std::vector<std::int64_t>, std::vector<std::string>>;

/// A small map, in order of key.
class Attrs {
 public:
  void set(Attr key, AttrValue value);
  void erase(Attr key);
  [[nodiscard]] bool has(Attr key) const { return find(key) != nullptr; }
  [[nodiscard]] const AttrValue* find(Attr key) const;
  [[nodiscard]] bool flag(Attr key) const;
  [[nodiscard]] std::int64_t integer(Attr key, std::int64_t otherwise = 0) const;
  [[nodiscard]] double real(Attr key) const;
  [[nodiscard]] std::string_view text(Attr key) const;                      ///< empty when absent
  [[nodiscard]] const std::vector<std::int64_t>& integers(Attr key) const;  ///< empty when absent
  [[nodiscard]] const std::vector<std::string>& texts(Attr key) const;      ///< empty when absent
  [[nodiscard]] const std::vector<std::pair<Attr, AttrValue>>& all() const { return entries_; }
  friend bool operator==(const Attrs&, const Attrs&) = default;

 private:
  std::vector<std::pair<Attr, AttrValue>> entries_;
};

struct Inst;
struct Region {
  std::vector<Value> args;
  std::vector<Inst> insts;
};
struct Inst {
  Op op;
  Loc loc;
  std::vector<Value> operands;
  std::vector<Value> results;
  Attrs attrs;
  std::vector<Region> regions;
};

struct ValueInfo {
  Type type;
  std::string name;  ///< a hint from the source, may be empty; the printer makes names unique
};

enum class Mode : std::uint8_t { value, in, out, inout };

/// Extent of a parameter's axis: a constant, a run-time dimension (number into Kernel::dims), or a computed value
/// (number into the launch region's yield) that the argument must match.
struct ParamDim {
  enum class Kind : std::uint8_t { constant, symbol, computed };
  Kind kind = Kind::constant;
  std::int64_t value = 0;
  friend bool operator==(const ParamDim&, const ParamDim&) = default;
};
struct Param {
  std::string name;
  Mode mode = Mode::in;
  Type type;  ///< scalar, or a gmem ref
  std::vector<ParamDim> dims;
  Span span;
};

struct MeshAxis {
  enum class Kind : std::uint8_t { grid, cluster, wg };
  Kind kind = Kind::grid;
  std::string name;
  std::int64_t size = 0;  ///< static size, or dynamic_extent for grid axes sized at launch
  Span span;
};

/// One kernel with all generics bound. The body's region arguments are the parameters, in order; so are the launch
/// region's, of which only scalar ones may be used. The launch region holds `require`s and ends in a `yield` of the
/// extents of all mesh axes in order (grid, cluster, wg as declared), then of the computed parameter extents.
struct Kernel {
  std::string name;
  std::vector<std::pair<std::string, std::string>> bindings;  ///< generics and their values, for people
  std::vector<Param> params;
  std::vector<std::string> dims;  ///< run-time dimensions, bound from arguments
  std::vector<MeshAxis> axes;
  bool nonportable_cluster = false;
  Region launch;
  Region body;
  std::vector<ValueInfo> values;
  std::vector<CallSite> calls;
  Span span;  ///< of the kernel's name

  [[nodiscard]] const Type& type(Value v) const { return values[v.id].type; }
  Value new_value(Type type, std::string hint = {}) {
    values.push_back({std::move(type), std::move(hint)});
    return {static_cast<std::uint32_t>(values.size() - 1)};
  }
  /// Number of the wg axis in `axes`, or -1.
  [[nodiscard]] int wg_axis() const {
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (axes[i].kind == MeshAxis::Kind::wg) return static_cast<int>(i);
    }
    return -1;
  }
  /// pk threads a block: the wg axis's size, or 1.
  [[nodiscard]] std::int64_t thread_count() const {
    return wg_axis() < 0 ? 1 : axes[static_cast<std::size_t>(wg_axis())].size;
  }
  /// Blocks a cluster.
  [[nodiscard]] std::int64_t cluster_size() const {
    std::int64_t n = 1;
    for (const MeshAxis& a : axes) {
      if (a.kind == MeshAxis::Kind::cluster) n *= a.size;
    }
    return n;
  }
};

/// A copy of `region` with fresh values, for passes that repeat code. `map` holds replacements for values defined
/// outside (entries may be added before the call) and receives those of the copy.
class ValueMap {
 public:
  void set(Value from, Value to);
  [[nodiscard]] Value operator()(Value v) const;  ///< itself when absent

 private:
  std::vector<std::pair<Value, Value>> entries_;  // sorted by `from`
};
[[nodiscard]] Region clone_region(Kernel& kernel, const Region& region, ValueMap& map);
[[nodiscard]] std::vector<Inst> clone_insts(Kernel& kernel, const std::vector<Inst>& insts, ValueMap& map);

}  // namespace pk::ir
