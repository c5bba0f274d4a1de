// Moving elements between lanes and registers: the one way in which layouts are converted, and in which tiles are
// transposed, reshaped, repeated, cut and joined. Elements that a lane already has are only renamed; the rest goes
// through scratch memory.

#include <algorithm>

#include "lowering.h"

namespace pk::codegen {
namespace {

std::int64_t place(const Coords& coords, const std::vector<std::int64_t>& strides, std::int64_t offset) {
  for (std::size_t i = 0; i < coords.size(); ++i) offset += coords[i] * strides[i];
  return offset;
}

/// Which register of which source a lane finds each register of the result in.
struct Origin {
  std::size_t source = 0;
  int reg = -1;
};

class LocalOrigins {
 public:
  LocalOrigins(const std::vector<Lowering::Source>& sources, const Layout& layout,
               const std::vector<std::int64_t>& strides, std::int64_t offset)
      : sources_(sources), layout_(layout), strides_(strides), offset_(offset) {}

  /// By register of the result; nothing when some lane lacks an element.
  [[nodiscard]] std::optional<std::vector<Origin>> find() const {
    std::map<std::int64_t, Origin> held;  // by lane 0
    for (std::size_t s = 0; s < sources_.size(); ++s) {
      const Layout& from = sources_[s].tile->layout;
      for (int reg = 0; reg < from.register_count(); ++reg) {
        if (from.exists(reg))
          held.try_emplace(place(from.at(0, reg), sources_[s].strides, sources_[s].offset), Origin{s, reg});
      }
    }
    std::vector<Origin> origins(static_cast<std::size_t>(layout_.register_count()));
    for (int reg = 0; reg < layout_.register_count(); ++reg) {
      if (!layout_.exists(reg)) continue;
      const auto found = held.find(place(layout_.at(0, reg), strides_, offset_));
      if (found == held.end() || !same_in_all_lanes(found->second, reg)) return std::nullopt;
      origins[static_cast<std::size_t>(reg)] = found->second;
    }
    return origins;
  }

 private:
  [[nodiscard]] bool same_in_all_lanes(const Origin& origin, int reg) const {
    const Lowering::Source& source = sources_[origin.source];
    for (int lane = 1; lane < lane_count; ++lane) {
      const Coords wanted = layout_.at(lane, reg);
      if (!layout_.inside(wanted)) continue;
      const Coords has = source.tile->layout.at(lane, origin.reg);
      if (!source.tile->layout.inside(has)) return false;
      if (place(has, source.strides, source.offset) != place(wanted, strides_, offset_)) return false;
    }
    return true;
  }

  const std::vector<Lowering::Source>& sources_;
  const Layout& layout_;
  const std::vector<std::int64_t>& strides_;
  std::int64_t offset_;
};

std::vector<std::int64_t> row_major_strides(const ir::Shape& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

/// Contribution of each lane bit to the place.
std::vector<std::int64_t> lane_places(const Layout& layout, const std::vector<std::int64_t>& strides) {
  std::vector<std::int64_t> result;
  for (const Coords& basis : layout.lanes) result.push_back(place(basis, strides, 0));
  return result;
}

}  // namespace

llvm::Value* Lowering::inside(const Layout& layout, int reg) {
  if (layout.full(reg)) return nullptr;
  llvm::Value* all = nullptr;
  const Coords offset = layout.register_part(reg);
  const Coords most = layout.at(lane_count - 1, reg);
  for (std::size_t axis = 0; axis < layout.shape.size(); ++axis) {
    if (most[axis] < layout.shape[axis]) continue;
    std::vector<std::int64_t> contributions;
    for (const Coords& basis : layout.lanes) contributions.push_back(basis[axis]);
    llvm::Value* good = b().CreateICmpULT(lane_coordinate(contributions), i32(layout.shape[axis] - offset[axis]));
    all = all == nullptr ? good : b().CreateAnd(all, good);
  }
  return all;
}

llvm::Value* Lowering::first_holder(const Layout& layout) {
  std::uint32_t replicas = 0;
  for (std::size_t bit = 0; bit < layout.lanes.size(); ++bit) {
    const Coords& basis = layout.lanes[bit];
    if (std::all_of(basis.begin(), basis.end(), [](std::int64_t c) { return c == 0; })) replicas |= 1U << bit;
  }
  if (replicas == 0) return nullptr;
  return b().CreateICmpEQ(b().CreateAnd(lane(), replicas), i32(0));
}

Tile Lowering::rearrange(const std::vector<Source>& sources, const Layout& layout,
                         const std::vector<std::int64_t>& strides, std::int64_t offset) {
  const ir::Dtype dtype = sources[0].tile->dtype;
  Tile result{dtype, layout, std::vector<llvm::Value*>(static_cast<std::size_t>(layout.register_count()), nullptr)};
  if (const auto origins = LocalOrigins(sources, layout, strides, offset).find()) {
    for (std::size_t reg = 0; reg < result.registers.size(); ++reg) {
      const Origin& from = (*origins)[reg];
      if (from.reg >= 0)
        result.registers[reg] = sources[from.source].tile->registers[static_cast<std::size_t>(from.reg)];
    }
    return result;
  }
  return through_memory(sources, layout, strides, offset);
}

Tile Lowering::through_memory(const std::vector<Source>& sources, const Layout& layout,
                              const std::vector<std::int64_t>& strides, std::int64_t offset) {
  const ir::Dtype dtype = sources[0].tile->dtype;
  Tile result{dtype, layout, std::vector<llvm::Value*>(static_cast<std::size_t>(layout.register_count()), nullptr)};
  const int bytes = ir::byte_size(dtype);
  std::int64_t size = 0;
  for (const Source& s : sources) {
    Coords last;
    for (const std::int64_t extent : s.tile->layout.shape) last.push_back(extent - 1);
    size = std::max(size, place(last, s.strides, s.offset) + 1);
  }
  llvm::Value* base = scratch(size * bytes);
  llvm::Type* memory = dtype == ir::Dtype::boolean ? b().getInt8Ty() : llvm_type(dtype);
  const auto pointer = [&](const Layout& of, int reg, const std::vector<std::int64_t>& by, std::int64_t start) {
    llvm::Value* lanes = b().CreateMul(lane_coordinate(lane_places(of, by)), i32(bytes));
    return shared_pointer(
        b().CreateAdd(b().CreateAdd(base, lanes), i32(place(of.register_part(reg), by, start) * bytes)));
  };
  before_write(scratch_root);
  for (const Source& s : sources) {
    llvm::Value* first = first_holder(s.tile->layout);
    for (int reg = 0; reg < s.tile->layout.register_count(); ++reg) {
      if (!s.tile->layout.exists(reg)) continue;
      llvm::Value* condition = inside(s.tile->layout, reg);
      if (first != nullptr) condition = condition == nullptr ? first : b().CreateAnd(condition, first);
      const auto store = [&] {
        b().CreateAlignedStore(to_memory(s.tile->registers[static_cast<std::size_t>(reg)], dtype),
                               pointer(s.tile->layout, reg, s.strides, s.offset),
                               llvm::Align(static_cast<unsigned>(bytes)));
      };
      if (condition == nullptr) {
        store();
      } else {
        when(condition, store);
      }
    }
  }
  before_read(scratch_root);
  for (int reg = 0; reg < layout.register_count(); ++reg) {
    if (!layout.exists(reg)) continue;
    llvm::Value* at = pointer(layout, reg, strides, offset);
    // Lanes without an element here read one that is there.
    if (llvm::Value* good = inside(layout, reg))
      at = b().CreateSelect(good, at, pointer(layout, 0, std::vector<std::int64_t>(strides.size(), 0), offset));
    llvm::Value* loaded = b().CreateAlignedLoad(memory, at, llvm::Align(static_cast<unsigned>(bytes)));
    result.registers[static_cast<std::size_t>(reg)] = from_memory(loaded, dtype);
  }
  return result;
}

Tile Lowering::convert_layout(const Tile& tile, const Layout& layout) {
  if (tile.layout == layout) return tile;
  const std::vector<std::int64_t> strides = row_major_strides(layout.shape);
  return rearrange({{&tile, strides, 0}}, layout, strides, 0);
}

Tile Lowering::tile_in(ir::Value v, const Layout& layout) {
  if (type(v).is_tile()) return convert_layout(tile(v), layout);
  Tile result{type(v).dtype, layout, {}};
  for (int reg = 0; reg < layout.register_count(); ++reg)
    result.registers.push_back(layout.exists(reg) ? scalar(v) : nullptr);
  return result;
}

void Lowering::lower_shape(const ir::Inst& inst) {
  using ir::Attr;
  using ir::Op;
  const ir::Value result = inst.results[0];
  const Layout& layout = planned(result);
  if (inst.op == Op::splat) return set(result, tile_in(inst.operands[0], layout));
  if (inst.op == Op::layout_cast) return set(result, tile_in(inst.operands[0], layout));
  if (!type(inst.operands[0]).is_tile()) return set(result, tile_in(inst.operands[0], layout));
  const Tile& from = tile(inst.operands[0]);
  const ir::Shape& shape = from.layout.shape;
  const std::vector<std::int64_t> in = row_major_strides(shape);
  std::vector<std::int64_t> out = row_major_strides(layout.shape);  // reshape
  std::int64_t offset = 0;
  if (inst.op == Op::broadcast) {
    const std::size_t added = layout.shape.size() - shape.size();
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = i >= added && shape[i - added] == layout.shape[i] ? in[i - added] : 0;
  } else if (inst.op == Op::transpose) {
    const std::vector<std::int64_t>& perm = inst.attrs.integers(Attr::perm);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = in[static_cast<std::size_t>(perm[i])];
  } else if (inst.op == Op::extract_slice) {
    const std::vector<std::int64_t>& starts = inst.attrs.integers(Attr::starts);
    std::size_t next = 0;
    const std::vector<std::int64_t>& squeeze = inst.attrs.integers(Attr::squeeze);
    for (std::size_t i = 0; i < in.size(); ++i) {
      offset += starts[i] * in[i];
      const bool vanishes = std::find(squeeze.begin(), squeeze.end(), static_cast<std::int64_t>(i)) != squeeze.end();
      if (!vanishes && next < out.size()) out[next++] = in[i];
    }
  }
  set(result, rearrange({{&from, in, 0}}, layout, out, offset));
}

void Lowering::lower_concat(const ir::Inst& inst) {
  const auto axis = static_cast<std::size_t>(inst.attrs.integer(ir::Attr::axis));
  const Layout& layout = planned(inst.results[0]);
  const std::vector<std::int64_t> strides = row_major_strides(layout.shape);
  std::vector<Source> sources;
  std::int64_t offset = 0;
  for (const ir::Value v : inst.operands) {
    sources.push_back({&tile(v), strides, offset});
    offset += type(v).shape[axis] * strides[axis];
  }
  set(inst.results[0], rearrange(sources, layout, strides, 0));
}

}  // namespace pk::codegen
