#pragma once
// The lowering of one kernel: what the files of this folder share. Each operation's meaning stands in the file of its
// concern (tiles, rearrange, reductions, memory, copies, barriers, mma, control, …); lower.cpp dispatches.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>

#include "divisors.h"
#include "layout_plan.h"
#include "pk/codegen/codegen.h"
#include "ref_roots.h"
#include "shared_plan.h"
#include "values.h"

namespace pk::codegen {

/// Stops the lowering of a kernel; becomes a diagnostic in `emit`. Never leaves this library.
struct Unsupported {
  ir::Loc loc;
  std::string what;
};

/// Memory that this pk thread's lanes have touched since they last met: what an access by other lanes has to wait for.
struct Pending {
  std::set<int> read, written;  ///< by Root::id
  std::set<int> by_mma;         ///< read by an MMA that has been awaited
  bool fence = false;           ///< a proxy fence that the lanes have not announced to each other
  void merge(const Pending& other);
  [[nodiscard]] bool any() const { return !read.empty() || !written.empty() || fence; }
};

using Builder = llvm::IRBuilder<>;

class Lowering {
 public:
  /// `by_lanes`: copies that the copy engine cannot make, as far as known. The lowering counts on it, and adds what it
  /// finds: then it has to be done again.
  Lowering(const ir::Kernel& kernel, const Options& options, std::set<const ir::Inst*>& by_lanes, llvm::Module& module,
           Manifest& manifest);
  void run();

  // ---- shared by the lowering of operations -------------------------------------------------------------------
  [[noreturn]] void unsupported(const ir::Inst& inst, const std::string& why = {}) const;

  Builder& b() { return builder_; }
  [[nodiscard]] const ir::Type& type(ir::Value v) const { return kernel_.type(v); }
  [[nodiscard]] const ir::Kernel& kernel() const { return kernel_; }

  llvm::Value* scalar(ir::Value v);
  const Tile& tile(ir::Value v) { return std::get<Tile>(values_[v.id]); }
  const Ref& ref(ir::Value v) { return std::get<Ref>(values_[v.id]); }
  const Cell& cell(ir::Value v) { return std::get<Cell>(values_[v.id]); }
  /// A value's elements in `layout`: converted, or a scalar repeated.
  Tile tile_in(ir::Value v, const Layout& layout);
  void set(ir::Value v, llvm::Value* value) { values_[v.id] = value; }
  void set(ir::Value v, Tile value) { values_[v.id] = std::move(value); }
  void set(ir::Value v, Ref value) { values_[v.id] = std::move(value); }
  void set(ir::Value v, Cell value) { values_[v.id] = std::move(value); }
  [[nodiscard]] const Layout& planned(ir::Value v) const { return layouts_[v]; }

  // types.cpp
  llvm::Type* llvm_type(ir::Dtype dtype);  ///< of a value: bool is i1
  llvm::Value* constant(ir::Dtype dtype, double real, std::int64_t integer);
  llvm::ConstantInt* i32(std::int64_t n) { return builder_.getInt32(static_cast<std::uint32_t>(n)); }
  llvm::ConstantInt* i64(std::int64_t n) { return builder_.getInt64(static_cast<std::uint64_t>(n)); }
  llvm::Value* narrow(llvm::Value* index);  ///< index to i32
  llvm::AllocaInst* slot(llvm::Type* type, const llvm::Twine& name = "");

  // hardware.cpp
  llvm::Value* assembly(const std::string& text, const std::string& constraints, llvm::ArrayRef<llvm::Value*> args,
                        llvm::Type* result = nullptr);  ///< with effects, convergent
  llvm::Value* pure_assembly(const std::string& text, const std::string& constraints, llvm::ArrayRef<llvm::Value*> args,
                             llvm::Type* result);
  llvm::Value* lane() { return lane_; }                                          ///< i32, 0..127
  llvm::Value* warp() { return warp_; }                                          ///< i32, 0..3, uniform
  llvm::Value* thread() { return thread_; }                                      ///< i32, pk thread of the block
  llvm::Value* lane_coordinate(const std::vector<std::int64_t>& contributions);  ///< sum over the lane's bits, i32
  llvm::Value* coordinate(std::size_t mesh_axis);                                ///< i64
  llvm::Value* extent(std::size_t mesh_axis);                                    ///< i64
  llvm::Value* rank_in_cluster();                                                ///< i32
  llvm::Value* first_lane() { return first_lane_; }                              ///< i1: lane 0 of the pk thread
  void meet_lanes();  ///< barrier among the lanes of this pk thread
  void meet_block();
  void meet_cluster();
  void one_lane(const std::function<void()>& body);  ///< by an elected lane of the thread's first warp
  void first_warp(const std::function<void()>& body);
  void when(llvm::Value* condition, const std::function<void()>& body);
  llvm::Value* shared_pointer(llvm::Value* offset);  ///< i32 offset to a pointer
  llvm::Value* shared_address(llvm::Value* offset);  ///< i32 offset to the i32 address that asm takes
  llvm::Value* remote_address(llvm::Value* address, llvm::Value* rank);

  // order of accesses within a pk thread (accesses.cpp)
  Pending& pending() { return pending_; }
  void before_read(int root);
  void before_write(int root);
  void before_async(int root, bool writes);  ///< the copy engine or an MMA is about to access the memory
  void before_signal();                      ///< somebody else is told that earlier accesses are done
  [[nodiscard]] Pending accesses_of(const ir::Region& region) const;
  void add_accesses(const ir::Inst& inst, Pending& all) const;
  static constexpr int scratch_root = 0;

  // rearrange.cpp
  struct Source {
    const Tile* tile;
    std::vector<std::int64_t> strides;  ///< of the tile's axes in the order of elements
    std::int64_t offset = 0;
  };
  /// A tile whose element at coordinates c is the one at place offset + sum(c * strides) of the sources.
  Tile rearrange(const std::vector<Source>& sources, const Layout& layout, const std::vector<std::int64_t>& strides,
                 std::int64_t offset);
  /// The same, always through scratch memory: every lane gets what the first holder of an element has.
  Tile through_memory(const std::vector<Source>& sources, const Layout& layout,
                      const std::vector<std::int64_t>& strides, std::int64_t offset);
  /// Whether the lane's element of a register lies inside the shape; null when it does in every lane.
  llvm::Value* inside(const Layout& layout, int reg);
  /// Whether the lane is the first of those that hold the same elements; null when none is like another.
  llvm::Value* first_holder(const Layout& layout);
  Tile convert_layout(const Tile& tile, const Layout& layout);
  /// Offset (i32) of scratch memory of this pk thread, at least `bytes` large.
  llvm::Value* scratch(std::int64_t bytes, const ir::Inst* inst = nullptr);

  // tiles.cpp, casts.cpp, math.cpp
  llvm::Value* elementwise(const ir::Inst& inst, ir::Dtype dtype, llvm::ArrayRef<llvm::Value*> operands);
  llvm::Value* cast_value(llvm::Value* value, ir::Dtype from, ir::Dtype to);
  llvm::Value* bitcast_value(llvm::Value* value, ir::Dtype from, ir::Dtype to);
  llvm::Value* to_memory(llvm::Value* value, ir::Dtype dtype);  ///< bool to a byte
  llvm::Value* from_memory(llvm::Value* value, ir::Dtype dtype);
  llvm::Value* binary(ir::Op op, ir::Dtype dtype, llvm::Value* x, llvm::Value* y);
  llvm::Value* math_function(ir::Op op, ir::Dtype dtype, llvm::ArrayRef<llvm::Value*> operands, bool fast);

  /// The value of the lane whose number differs in `bits`, or is smaller by `by`.
  llvm::Value* exchange(llvm::Value* value, int bits);
  llvm::Value* from_lane_below(llvm::Value* value, int by);

  // views.cpp, scopes.cpp
  Ref part_of(const Ref& from, const ir::Inst& subview);
  Ref reshaped_ref(const Ref& from, const ir::Inst& reshape);
  llvm::Value* rank_of_peer(const std::vector<std::int64_t>& axes, llvm::ArrayRef<ir::Value> coordinates);
  [[nodiscard]] std::int64_t cluster_stride(std::size_t axis) const;
  void initialise(const std::vector<const Root*>& roots, bool again);
  /// With the meetings that the plan of shared memory has there.
  void lower_guarded(const ir::Inst& inst);
  void meet(const Meeting& meeting);

  // barriers.cpp
  llvm::Value* element_number(const Ref& ref);
  llvm::Value* barrier_address(const Ref& ref);
  void spin_until(const std::function<llvm::Value*()>& condition);
  void arrive(llvm::Value* address, llvm::Value* rank, llvm::Value* condition);
  std::vector<llvm::Value*> ranks_along(const std::vector<std::int64_t>& axes);
  llvm::Value* agree(llvm::Value* condition);

  // memory.cpp: without regard to the order of accesses
  Tile load_tile(const Ref& ref, const Layout& layout, const Tile* mask, bool clipped);
  void store_tile(const Ref& ref, const Tile& tile, const Tile* mask, bool clipped);
  /// By stmatrix; false where that does not fit.
  bool store_matrices(const Ref& ref, const Tile& tile);
  static Layout memory_layout(const ir::Shape& shape, ir::Dtype dtype);

  // one function an operation or family; see lower.cpp
  void lower_region(const ir::Region& region);
  void lower(const ir::Inst& inst);
  void lower_constant(const ir::Inst& inst);
  void lower_iota(const ir::Inst& inst);
  void lower_elementwise(const ir::Inst& inst);
  void lower_shape(const ir::Inst& inst);
  void lower_concat(const ir::Inst& inst);
  void lower_reduction(const ir::Inst& inst);
  void lower_cumsum(const ir::Inst& inst);
  void lower_view(const ir::Inst& inst);
  void lower_load(const ir::Inst& inst);
  void lower_store(const ir::Inst& inst);
  void lower_load_masked(const ir::Inst& inst);
  void lower_store_masked(const ir::Inst& inst);
  void lower_atomic(const ir::Inst& inst);
  void lower_var(const ir::Inst& inst);
  void lower_scoped(const ir::Inst& inst);
  void lower_alloc(const ir::Inst& inst);
  void lower_copy_in(const ir::Inst& inst);
  void lower_copy_out(const ir::Inst& inst);
  void lower_copy_control(const ir::Inst& inst);
  void lower_barrier(const ir::Inst& inst);
  void lower_semaphore(const ir::Inst& inst);
  void lower_sync(const ir::Inst& inst);
  void lower_wgmma(const ir::Inst& inst);
  void lower_wgmma_wait(const ir::Inst& inst);
  void lower_if(const ir::Inst& inst);
  void lower_for(const ir::Inst& inst);
  void lower_while(const ir::Inst& inst);
  void lower_block(const ir::Inst& inst);
  void lower_specialize(const ir::Inst& inst);
  void lower_jump(const ir::Inst& inst);
  void lower_debug(const ir::Inst& inst);

  // mma.cpp
  void zero(Accumulator& accumulator);
  void await_mma(int left);  ///< 0: carries all accumulators, so that nothing moves above it
  Tile read_accumulator(const Ref& ref, ir::Dtype dtype, const Layout& layout);
  void write_accumulator(const Ref& ref, const Tile& tile);
  [[nodiscard]] std::vector<llvm::AllocaInst*> live_accumulator_slots() const;
  [[nodiscard]] static std::vector<llvm::AllocaInst*> existing_slots(const Accumulator& a);
  void tied(const std::string& text, llvm::ArrayRef<llvm::AllocaInst*> slots, const std::string& constraints,
            llvm::ArrayRef<llvm::Value*> more);
  void fence_mma(const std::vector<llvm::AllocaInst*>& slots, std::vector<llvm::Value*>& a_registers);
  std::vector<llvm::Value*> pack_operand(const Tile& a);

  void stop(const ir::Inst& inst);  // debug.cpp

  // control.cpp
  llvm::BasicBlock* new_block(const char* name);
  void go_to(llvm::BasicBlock* block);  ///< branches there, if this place can be reached, and continues there

  // copies.cpp
  void copy_in_by_lanes(const ir::Inst& inst, const Ref& from, const Ref& to, const Ref& barrier);
  void copy_out_by_lanes(const ir::Inst& inst, const Ref& from, const Ref& to);
  [[nodiscard]] bool engine_may_copy(const Root& array) const;
  [[nodiscard]] static bool engine_reduces(ir::Dtype dtype, const std::string& how);
  std::vector<llvm::Value*> box_coordinates(const Ref& global, const Coords& at);
  llvm::Value* box_address(const Ref& shared, const Coords& at);
  // atomics.cpp
  /// One read-modify-write of each element of `tile`; gives the old values where `result` asks for them.
  Tile atomic_tile(const ir::Inst& inst, const Ref& ref, const std::string& kind, const Tile& tile, const Tile* compare,
                   bool clipped, bool result);
  int tensor_map(const TensorMap& map);
  llvm::Value* tensor_map_address(int number);

 private:
  friend class ElementPointers;
  void make_function();
  void read_hardware();
  void decode_coordinates();
  void bind_params();
  void finish();

  const ir::Kernel& kernel_;
  const Options& options_;
  std::set<const ir::Inst*>& by_lanes_;
  llvm::Module& module_;
  Manifest& manifest_;
  Builder builder_;
  Builder entry_;  ///< appends to the entry block: what every place may use
  llvm::Function* function_ = nullptr;
  llvm::GlobalVariable* shared_ = nullptr;

  RefRoots roots_of_;
  Divisors divisors_;
  LayoutPlan layouts_;
  SharedPlan shared_plan_;
  std::deque<Root> roots_;
  std::deque<Accumulator> accumulators_;
  std::vector<Accumulator*> live_;  ///< accumulators of the open scopes
  using Lowered = std::variant<std::monostate, llvm::Value*, Tile, Ref, Cell>;
  std::vector<Lowered> values_;
  std::map<ir::Value, int> root_ids_;
  Pending pending_;
  std::set<int> copied_out_;  ///< roots that bulk stores have read

  llvm::Value* lane_ = nullptr;
  llvm::Value* warp_ = nullptr;
  llvm::Value* thread_ = nullptr;
  llvm::Value* first_lane_ = nullptr;
  llvm::Value* rank_ = nullptr;
  std::vector<llvm::Value*> coordinates_, extents_, dims_, computed_;
  std::map<std::vector<std::int64_t>, llvm::Value*> lane_coordinates_;
  std::vector<llvm::Argument*> map_arguments_;
  std::vector<llvm::Value*> param_values_;
  llvm::Value* semaphores_ = nullptr;
  llvm::Value* report_ = nullptr;
  llvm::Instruction* scratch_stride_ = nullptr;  ///< stands for what is known at the end
  std::int64_t scratch_bytes_ = 0;
  std::int64_t semaphore_bytes_ = 0;
  std::vector<int> threads_;  ///< pk threads that run this place
  std::map<std::vector<std::int64_t>, int> subset_barriers_;
  int next_barrier_ = 0;
  struct Loop {
    llvm::BasicBlock* next;
    llvm::BasicBlock* end;
  };
  std::vector<Loop> loops_;
  std::vector<llvm::BasicBlock*> block_ends_;
  bool remote_arrivals_ = false;
  bool uses_mma_ = false;
  bool opened_scope_ = false;      ///< shared memory has been in use
  std::set<ir::Value> used_;       ///< values that some instruction takes
  std::set<ir::Value> peers_use_;  ///< allocations that other blocks of the cluster reach
};

}  // namespace pk::codegen
