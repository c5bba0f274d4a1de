#pragma once
// A running launch: grid, clusters, blocks, pk threads, and their synchronisation objects. Launch is what all workers
// share; a Machine runs clusters, one or several at a time, by giving its threads turns. Plain data with functions in
// scheduler.cpp (turns), scopes.cpp (allocation), sync.cpp, async.cpp, mma.cpp, accesses.cpp and report.cpp.

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "clock.h"
#include "memory.h"
#include "pk/ir/numerics.h"
#include "program.h"
#include "shadow.h"
#include "undefined.h"

namespace pk::interp {

struct Cluster;
struct Block;

/// A copy into shared memory that ends with an arrival at `barrier`.
struct CopyIn {
  Ref source, target;
  OutOfBounds oob = OutOfBounds::error;
  Barrier* barrier = nullptr;
  const Buffer* barrier_buffer = nullptr;
  std::int64_t phase = 0;  ///< of the barrier, that it helps to complete
  Clock clock;             ///< what was known when it was issued
  std::uint32_t pc = 0;
  Agent thread = 0;
  std::vector<std::byte> tile;  ///< async_store: the data instead of `source`
};

/// A thread that waits on a barrier, and what it has seen of it.
struct Waiter {
  Agent thread = 0;
  std::int64_t seen = 0;
  Time time = 0;  ///< of the thread at its last wait
  std::uint32_t pc = 0;
};

struct Barrier {
  std::int64_t needed = 1;
  std::int64_t arrived = 0;   ///< in the current phase
  std::int64_t promised = 0;  ///< arrivals made or under way, over its life
  std::int64_t completed = 0;
  Clock gathering, done;  ///< of the current phase's arrivals; of the last completion
  std::vector<Waiter> waiters;
  std::uint32_t completing_pc = 0;
  Agent completing_thread = 0;
  Agent agent = 0;  ///< none (0 with `base` 0) for cluster barriers, whose arrivals are all ordinary
  Time base = 0;    ///< its completion n is event base + n: the agent outlives the object
  struct Expected {
    std::uint32_t pc = 0;
    Agent thread = 0;
    std::int64_t phase = 0;
    const Buffer* target = nullptr;
  };
  std::vector<Expected> copies;  ///< copies that nobody has waited for yet

  /// The phase to which the next arrival belongs.
  [[nodiscard]] std::int64_t next_phase() const { return promised / needed + 1; }
};

struct Semaphore {
  std::int64_t count = 0;
  Clock clock;
  std::uint32_t signal_pc = 0;
  bool signalled = false;
};

/// A copy out of shared memory, until it is done.
struct CopyOut {
  Ref source, target;
  OutOfBounds oob = OutOfBounds::error;
  std::string_view reduce;
  std::uint32_t pc = 0;
  Time group = 0;
  bool read = false;  ///< `staged` holds the source
  bool written = false;
  std::vector<std::byte> staged;
};

struct Mma {
  Ref acc, a, b;
  bool a_in_registers = false;
  ir::Dtype a_dtype = ir::Dtype::f16;
  std::vector<std::byte> a_tile;
  std::int64_t depth = 0;  ///< extent of the summed axis
  bool tf32 = false;
  std::uint32_t pc = 0;
  Time number = 0;
  bool done = false;
};

struct Wait {
  enum class Kind : std::uint8_t { none, barrier, semaphore, rendezvous };
  Kind kind = Kind::none;
  const Buffer* buffer = nullptr;  ///< of the barrier or semaphore
  std::int64_t element = 0;
  Barrier* barrier = nullptr;
  std::int64_t phase = 0;
  Semaphore* semaphore = nullptr;
  std::int64_t count = 0;
};

/// Storage of tiles, aligned for vector instructions.
class Arena {
 public:
  explicit Arena(std::int64_t bytes = 0);
  [[nodiscard]] std::byte* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{64}); }
  };
  std::unique_ptr<std::byte[], Free> data_;
};

struct Thread {
  Block* block = nullptr;
  int index = 0;
  Agent agent = 0;
  std::uint32_t pc = 0;
  std::vector<std::uint64_t> scalars;
  std::vector<Ref> refs;
  Arena arena;
  std::vector<std::unique_ptr<Buffer>> accs;  ///< by allocation; null for others
  std::vector<Arena> acc_storage;
  Clock clock;
  UndefinedValues undefined;
  bool ended = false;
  bool released = false;  ///< the rendezvous it waited in took place
  Wait wait;
  std::uint64_t steps = 0;
  std::vector<std::uint64_t> entries;  ///< by scope: how often entered
  Time open_group = 1;                 ///< group to which the next copy out belongs
  Time groups_read = 0;                ///< groups waited for, reads
  std::deque<CopyOut> copies_out;
  Time mmas = 0;       ///< issued
  Time mmas_done = 0;  ///< waited for
  std::deque<Mma> mma_queue;

  [[nodiscard]] std::uint64_t& scalar(const Slot& s) { return scalars[s.at]; }
  [[nodiscard]] std::byte* tile(const Slot& s) const { return arena.data() + s.at; }
  [[nodiscard]] Ref& ref(const Slot& s) { return refs[s.at]; }
  [[nodiscard]] std::int64_t index_at(std::uint32_t at) const { return static_cast<std::int64_t>(scalars[at]); }
  [[nodiscard]] Time time() const { return clock[agent]; }
  [[nodiscard]] Agent lane(Lane lane) const { return agent + static_cast<Agent>(lane); }
};

/// One allocation of a block (or, for cluster barriers and grid semaphores, of more).
struct Storage {
  Buffer buffer;
  Arena bytes;
  std::unique_ptr<Shadow> shadow;
  std::vector<Barrier> barriers;
  std::vector<Semaphore> semaphores;
  int users = 0;  ///< blocks that are in its scope, for cluster barriers
};

/// Threads of a block that meet.
struct Rendezvous {
  std::uint32_t members = 0;    ///< bit set of thread numbers
  bool same_site = false;       ///< all have to come to one statement
  const Instr* site = nullptr;  ///< where the first one waits
  std::vector<Thread*> here;
};

/// Of a scope whose memory is the block's.
struct ScopeState {
  int inside = 0;
  Clock left;  ///< join of what the threads knew when they left
};

struct Block {
  Cluster* cluster = nullptr;
  std::int64_t number = 0;                ///< in launch order
  int rank = 0;                           ///< within the cluster
  std::vector<std::int64_t> coordinates;  ///< per mesh axis; the wg axis's is 0
  std::vector<std::unique_ptr<Thread>> threads;
  std::vector<std::unique_ptr<Storage>> storage;  ///< by allocation; what is its own
  std::vector<Storage*> current;                  ///< by allocation; what its scope holds now
  std::vector<ScopeState> scopes;
  std::deque<Rendezvous> meetings;
  int running = 0;  ///< threads that have not ended
};

/// A multicast copy of which some blocks have issued their part.
struct Multicast {
  std::uint32_t pc = 0;
  std::vector<Block*> group;               ///< blocks along the axes, in order of their coordinates
  std::vector<std::deque<CopyIn>> issued;  ///< by member of the group
};

struct Cluster {
  std::int64_t number = 0;
  Agent base = 0;
  std::vector<std::unique_ptr<Block>> blocks;
  std::deque<CopyIn> copies_in;
  std::deque<Multicast> multicasts;
  /// Cluster barriers by allocation, first block of their group, and entry.
  std::map<std::tuple<std::uint32_t, int, std::uint64_t>, std::unique_ptr<Storage>> barriers;
  int running = 0;  ///< blocks that have not ended
};

/// What an atomic that releases leaves behind for one that acquires: by element and width of scope.
struct AtomicOrder {
  std::map<std::tuple<const Buffer*, std::int64_t, int, std::int64_t>, Clock> released;
};

/// One launch, shared by all workers.
struct Launch {
  const Program* program = nullptr;
  const Options* options = nullptr;
  Diagnostics* diags = nullptr;
  Span span;                                       ///< of the `launch`
  std::vector<std::unique_ptr<Buffer>> arguments;  ///< by parameter; null for scalars
  std::vector<std::unique_ptr<Shadow>> shadows;
  std::vector<std::uint64_t> scalars;  ///< by parameter
  std::vector<std::int64_t> dims;
  std::vector<std::int64_t> extents;                      ///< of mesh axes
  std::vector<std::unique_ptr<Storage>> grid_semaphores;  ///< by allocation
  AtomicOrder atomics;
  std::int64_t clusters = 0;
  int cluster_size = 1;
  int threads_per_block = 1;
  Agent agents_per_cluster = 0;
  std::int64_t done_blocks = 0;
  std::mutex mutex;  ///< of diags, done_blocks, print
  std::atomic<bool> failed = false;
};

/// target = target `operation` values, element by element ("add", "min", …).
void combine(std::string_view operation, const std::byte* values, const Ref& target);

class Machine {
 public:
  Machine(Launch& launch, std::uint64_t seed);

  /// Runs clusters [first, end): all of them together when they may wait for each other, else one after another.
  void run(std::int64_t first, std::int64_t end);
  /// Runs the launch region in `thread`; false when a requirement failed.
  bool run_launch_code(Thread& thread);
  void prepare_thread(Thread& thread) const;

  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] Launch& launch() const { return launch_; }
  [[nodiscard]] std::uint32_t pc_of(const Instr& at) const {
    return static_cast<std::uint32_t>(&at - program_.code.data());
  }
  [[nodiscard]] bool checks_races() const { return races_; }
  [[nodiscard]] bool checks_init() const { return init_; }

  // accesses.cpp: every memory access goes through one of these before it happens. False: an error was reported.
  bool check_bounds(Thread& thread, const Instr& at, const Ref& ref);
  bool touch(Thread& thread, const Instr& at, const Ref& ref, AccessKind kind);
  bool touch_element(Thread& thread, const Instr& at, const Ref& ref, std::int64_t element, std::int64_t count,
                     AccessKind kind);
  /// An asynchronous access that is over for those who know event `time` of `agent`.
  bool touch_async(Thread& thread, const Instr& at, const Ref& ref, AccessKind kind, Agent agent, Time time,
                   const Clock& clock);
  bool check_peer(Thread& thread, const Instr& at, const Ref& ref);

  // clocks: a release hands over what the thread did so far, and begins a new event.
  void release(Thread& thread, Clock& to) const;
  void acquire(Thread& thread, const Clock& from) const;
  void tick(Thread& thread) const;
  [[nodiscard]] Clock empty_clock(const Cluster& cluster) const;

  // scopes.cpp
  Step enter_scope(Thread& thread, const Instr& at);
  Step leave_scope(Thread& thread, const Instr& at);
  Step end_thread(Thread& thread);
  /// The buffer of allocation `alloc` in another block of the cluster, or null with an error reported.
  Buffer* peer_buffer(Thread& thread, const Instr& at, const Ref& ref, Block& target);

  // sync.cpp
  Step arrive(Thread& thread, const Instr& at);
  Step wait(Thread& thread, const Instr& at);
  Step meet(Thread& thread, const Instr& at, std::uint32_t members, bool same_site);
  bool complete_arrival(Barrier& barrier, const Buffer& buffer, std::int64_t element, std::uint32_t pc, Agent thread);
  bool end_barriers(const Storage& storage);

  // async.cpp
  bool fail_masked_bounds(Thread& thread, const Instr& at, const Ref& ref, std::int64_t n);
  void report_division(const Thread& thread, const Instr& at, const Undefined& undefined);
  Step copy_in(Thread& thread, const Instr& at);
  Step copy_out(Thread& thread, const Instr& at);
  bool start_copy_in(Cluster& cluster, CopyIn copy);
  bool issue_multicast(Thread& thread, const Instr& at, const std::vector<Block*>& group, CopyIn copy);
  Step store_async(Thread& thread, const Instr& at);
  Step wait_copies_out(Thread& thread, const Instr& at);
  bool finish_copy_in(Cluster& cluster, std::size_t number);
  void finish_copy_out(CopyOut& copy, bool reads_only);
  void drain_copies_out(Thread& thread, Time group, bool reads_only);
  bool end_copies(Thread& thread, std::uint32_t scope);

  // mma.cpp
  Step wgmma(Thread& thread, const Instr& at);
  void finish_mmas(Thread& thread, Time number);
  void know_mmas(Thread& thread, Time number);  ///< the thread has waited for MMA `number` and those before
  void forget_mmas(Thread& thread);             ///< drops those that were waited for
  bool end_mmas(Thread& thread, std::uint32_t scope);

  // scheduler.cpp
  [[nodiscard]] bool completes_at_once() const;

  // report.cpp
  /// Adds the diagnostic with the chain of inlined calls, and stops the launch.
  DiagnosticBuilder report(Diagnostic d, const ir::Inst& inst);
  template <class D>
  DiagnosticBuilder fail(const ir::Inst& inst, const std::string& message) {
    return report(make_diagnostic<D>(inst.loc.span, message), inst);
  }
  void report_race(const Instr& at, const Buffer& buffer, const Access& access, const Fault& fault);
  void report_deadlock();
  [[nodiscard]] std::string name_wait(const Thread& thread) const;
  [[nodiscard]] std::string name_thread(Agent thread) const;
  [[nodiscard]] std::string name_block(std::int64_t number) const;
  [[nodiscard]] std::string name_access(const Access& access) const;
  [[nodiscard]] std::vector<std::int64_t> block_coordinates(std::int64_t number) const;
  [[nodiscard]] Span span_of(std::uint32_t pc) const { return program_.code[pc].inst->loc.span; }

 private:
  std::unique_ptr<Cluster> make_cluster(std::int64_t number);
  void reset_cluster(Cluster& cluster, std::int64_t number);
  void run_together(std::int64_t first, std::int64_t end);
  bool run_cluster(Cluster& cluster);
  Step execute(Thread& thread, const Instr& at);
  /// Gives a thread its turn; whether it did anything.
  bool run_thread(Thread& thread, std::uint64_t budget, bool switch_at_memory);
  [[nodiscard]] bool can_run(const Thread& thread) const;
  bool turn(std::vector<Cluster*>& clusters);
  bool advance_async(const std::vector<Cluster*>& clusters, bool must);
  void finish_cluster(Cluster& cluster);
  [[nodiscard]] std::uint64_t draw(std::uint64_t below);

  // scopes.cpp
  Buffer* request(Thread& thread, const Instr& at, std::uint32_t alloc);
  bool allocate(Thread& thread, const Instr& at);
  Storage& make_storage(Thread& thread, std::uint32_t alloc);
  Storage& find_cluster_barrier(Thread& thread, std::uint32_t alloc);
  void reset_barriers(Storage& storage, const Cluster& cluster, std::int64_t needed, Agent first_agent) const;
  bool end_scope(Block& block, const Instr& at);
  bool end_copies_in(Block& block, std::uint32_t scope);

  Launch& launch_;
  const Program& program_;
  bool races_, init_;
  Schedule schedule_;
  std::mt19937_64 random_;
  std::vector<Cluster*> live_;  ///< clusters that run now
  std::uint64_t turns_ = 0;
  std::unique_ptr<Cluster> spare_;  ///< runs one cluster after another, when they run alone
};

}  // namespace pk::interp
