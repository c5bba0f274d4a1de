#pragma once
// A kernel made ready to run: a linear list of instructions with jumps, and a place in the thread's frame for every
// value. Made by prepare() (flatten.cpp, frame.cpp), read by everything that runs.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pk/interp/interp.h"
#include "pk/ir/ir.h"

namespace pk::interp {

class Machine;
struct Thread;
struct Instr;

/// What became of an instruction: on to the next one; the handler has set `pc`; it has to wait and will be tried again;
/// the thread is done; an error was reported.
enum class Step : std::uint8_t { next, jumped, blocked, ended, failed };
using Handler = Step (*)(Machine&, Thread&, const Instr&);

/// Where a value lives: a 64-bit scalar, a tile in the arena (byte offset), or a ref. Cells are scalars or tiles.
struct Slot {
  enum class Kind : std::uint8_t { none, scalar, tile, ref };
  Kind kind = Kind::none;
  ir::Dtype dtype = ir::Dtype::index;
  std::uint32_t at = 0;
  std::int64_t count = 1;  ///< elements of a tile
};

struct Instr {
  Handler run = nullptr;
  const ir::Inst* inst = nullptr;  ///< where it comes from
  std::uint32_t detail = 0;        ///< number in the program's table for this kind of instruction
  std::uint32_t target = 0;        ///< of a jump
  bool visible = false;            ///< to other threads: a place where the order of threads may matter
};

/// A scope's allocations are a range of Program::allocs.
struct ScopeInfo {
  const ir::Inst* inst = nullptr;
  std::uint32_t first_alloc = 0, end_alloc = 0;
  bool collective = false;
};
struct AllocInfo {
  const ir::Inst* inst = nullptr;
  ir::Type type;
  std::string_view name;
  std::uint32_t scope = 0;
  std::uint32_t ref = 0;  ///< where the frame keeps its ref
  std::int64_t elements = 0, bytes = 0;
  std::uint32_t storage = 0;        ///< alloc whose storage it shares (itself, or the first member of its union)
  std::uint8_t view = 0;            ///< number within its union
  std::uint32_t first_barrier = 0;  ///< of its barriers among those of a block
  bool global = false;              ///< a semaphore of the grid
};

struct ViewDetail {
  std::uint32_t source = 0, result = 0;
  std::vector<std::uint32_t> starts;  ///< scalar slots
  std::vector<std::int64_t> sizes;    ///< per axis of the source; -1: up to its end
  std::vector<bool> squeezed;
};

enum class OutOfBounds : std::uint8_t { error, zero, nan, undefined };
struct CopyDetail {
  std::uint32_t source = 0, target = 0, barrier = 0;  ///< refs
  OutOfBounds oob = OutOfBounds::error;
  std::vector<int> axes;  ///< multicast
  int partition = -1;
  std::string_view reduce;
  bool commit = false;
};

class Program {
 public:
  ir::Kernel kernel;
  std::vector<Slot> slots;  ///< by value
  std::vector<Instr> code, launch_code;
  std::unique_ptr<const ir::Inst> end;  ///< what the last instruction stands for
  std::vector<ScopeInfo> scopes;
  std::vector<AllocInfo> allocs;
  std::vector<ViewDetail> views;
  std::vector<CopyDetail> copies;
  std::vector<std::vector<std::uint32_t>> arms;  ///< specialize: target of each thread
  std::vector<std::uint64_t> constants;          ///< the scalars at the start, with the constants in their places
  std::uint32_t scalar_count = 0, ref_count = 0;
  std::int64_t arena_bytes = 0;
  std::uint32_t barriers_per_block = 0;
  bool orders_blocks = false;  ///< has semaphores of the grid or ordering atomics: blocks may wait for each other
  bool has_atomics = false;    ///< or copies that reduce: the order of blocks may show in rounding
  std::string unsupported;     ///< why it cannot run; empty when it can

  [[nodiscard]] const Slot& slot(ir::Value v) const { return slots[v.id]; }
};

/// Gives every value of the kernel its place. Tiles whose lives do not overlap share memory.
void plan_frame(Program& program);

/// The handler of an operation that is neither control flow nor scope (handlers.cpp).
[[nodiscard]] Handler handler_of(ir::Op op);

}  // namespace pk::interp
