// Gives values their places in the frame. Scalars and refs get one each; tiles are packed by their lifetimes along the
// linear order of instructions: a tile used inside a loop that it was made before lives until the loop ends.

#include <algorithm>
#include <map>

#include "program.h"

namespace pk::interp {

namespace {

using Position = std::uint32_t;
constexpr std::int64_t tile_alignment = 64;

struct Life {
  Position begin = 0, end = 0;
  bool defined = false;
};

class Lives {
 public:
  explicit Lives(const ir::Kernel& kernel) : lives_(kernel.values.size()) {
    for (const ir::Value v : kernel.body.args) define(v);
    visit(kernel.body);
  }
  [[nodiscard]] const Life& of(std::size_t value) const { return lives_[value]; }

 private:
  void define(ir::Value v) { lives_[v.id] = {now_, now_, true}; }

  void use(ir::Value v) {
    Life& life = lives_[v.id];
    life.end = std::max(life.end, now_);
    // Remember the outermost loop that the value was made before; its end is the value's.
    for (const std::size_t loop : open_loops_) {
      if (life.begin < loops_[loop].begin) {
        loops_[loop].used.push_back(v);
        break;
      }
    }
  }

  void visit(const ir::Region& region) {
    for (const ir::Inst& inst : region.insts) {
      ++now_;
      for (const ir::Value v : inst.operands) use(v);
      for (const ir::Value v : inst.results) define(v);
      const bool loop = inst.op == ir::Op::for_ || inst.op == ir::Op::while_;
      if (loop) {
        open_loops_.push_back(loops_.size());
        loops_.push_back({now_, {}});
        ++now_;
        for (const ir::Value v : inst.operands) use(v);
      }
      for (const ir::Region& inner : inst.regions) {
        for (const ir::Value v : inner.args) define(v);
        visit(inner);
      }
      if (loop) {
        ++now_;
        for (const ir::Value v : loops_[open_loops_.back()].used) lives_[v.id].end = now_;
        open_loops_.pop_back();
      }
    }
  }

  struct Loop {
    Position begin = 0;
    std::vector<ir::Value> used;
  };
  std::vector<Life> lives_;
  std::vector<Loop> loops_;
  std::vector<std::size_t> open_loops_;
  Position now_ = 0;
};

/// First-fit packing of intervals: `free_` maps offsets to sizes below `top_`.
class Arena {
 public:
  std::int64_t take(std::int64_t bytes) {
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->second < bytes) continue;
      const std::int64_t at = it->first;
      const std::int64_t rest = it->second - bytes;
      free_.erase(it);
      if (rest > 0) free_[at + bytes] = rest;
      return at;
    }
    const std::int64_t at = top_;
    top_ += bytes;
    return at;
  }
  void give(std::int64_t at, std::int64_t bytes) {
    auto it = free_.emplace(at, bytes).first;
    if (const auto next = std::next(it); next != free_.end() && it->first + it->second == next->first) {
      it->second += next->second;
      free_.erase(next);
    }
    if (it != free_.begin()) {
      const auto previous = std::prev(it);
      if (previous->first + previous->second == it->first) {
        previous->second += it->second;
        free_.erase(it);
      }
    }
  }
  [[nodiscard]] std::int64_t top() const { return top_; }

 private:
  std::map<std::int64_t, std::int64_t> free_;
  std::int64_t top_ = 0;
};

std::int64_t bytes_of(const Slot& slot) {
  const std::int64_t bytes = std::max<std::int64_t>(slot.count * ir::byte_size(slot.dtype), 1);
  return (bytes + tile_alignment - 1) / tile_alignment * tile_alignment;
}

void pack_tiles(Program& program, const std::vector<std::uint32_t>& tiles) {
  const Lives lives(program.kernel);
  std::vector<std::uint32_t> by_begin = tiles;
  std::stable_sort(by_begin.begin(), by_begin.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return lives.of(a).begin < lives.of(b).begin; });
  std::multimap<Position, std::uint32_t> by_end;
  Arena arena;
  for (const std::uint32_t tile : by_begin) {
    Slot& slot = program.slots[tile];
    while (!by_end.empty() && by_end.begin()->first < lives.of(tile).begin) {
      const Slot& dead = program.slots[by_end.begin()->second];
      arena.give(dead.at, bytes_of(dead));
      by_end.erase(by_end.begin());
    }
    slot.at = static_cast<std::uint32_t>(arena.take(bytes_of(slot)));
    by_end.emplace(lives.of(tile).end, tile);
  }
  program.arena_bytes = arena.top();
}

}  // namespace

void plan_frame(Program& program) {
  const ir::Kernel& kernel = program.kernel;
  program.slots.resize(kernel.values.size());
  std::vector<std::uint32_t> tiles;
  for (std::uint32_t v = 0; v < kernel.values.size(); ++v) {
    const ir::Type& type = kernel.values[v].type;
    Slot& slot = program.slots[v];
    slot.dtype = type.dtype;
    const bool tile_shaped = type.is_tile() || (type.kind == ir::Type::Kind::cell && !type.shape.empty());
    if (tile_shaped) {
      slot.kind = Slot::Kind::tile;
      slot.count = ir::element_count(type.shape);
      tiles.push_back(v);
    } else if (type.is_ref()) {
      slot.kind = Slot::Kind::ref;
      slot.at = program.ref_count++;
    } else if (type.kind != ir::Type::Kind::none) {
      slot.kind = Slot::Kind::scalar;
      slot.at = program.scalar_count++;
    }
  }
  program.constants.assign(program.scalar_count, 0);
  pack_tiles(program, tiles);
}

}  // namespace pk::interp
