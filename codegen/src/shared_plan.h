#pragma once
// Where everything in shared memory lies, and how: an offset for each allocation, the swizzle of each buffer, and which
// buffers of specialised code share storage.

#include <map>
#include <vector>

#include "divisors.h"
#include "layout_plan.h"
#include "pk/ir/ir.h"
#include "pk/ir/target.h"
#include "ref_roots.h"

namespace pk::codegen {

/// A buffer's rows are cut into panels of `panel_bytes` that stand one after the other, each with all rows of the last
/// two axes: the order in which the copy engine fills swizzled boxes and wgmma reads them. With `swizzle`, the 16-byte
/// chunks of a panel's rows are exchanged as the copy engine does it, by bits of the address. 0: plain row-major.
struct SharedLayout {
  int panel_bytes = 0;
  int swizzle = 0;  ///< equal to panel_bytes, or 0
};

struct SharedBuffer {
  const ir::Inst* alloc = nullptr;
  const ir::Inst* scope = nullptr;
  ir::Value value;
  std::int64_t bytes = 0;
  std::int64_t offset = 0;
  SharedLayout layout;
  int storage = 0;         ///< buffers with equal numbers may overlap in memory (members of a union)
  bool by_engine = false;  ///< the copy engine or wgmma accesses it
};

/// A meeting of threads before a buffer takes the storage of another: those that use the new one wait for all, those
/// that are only done with the old one announce it.
struct Meeting {
  int barrier = 0;
  int threads = 0;  ///< pk threads that take part
  bool waits = false;
};

class SharedPlan {
 public:
  SharedPlan(const ir::Kernel& kernel, const RefRoots& roots, const Divisors& divisors, const LayoutPlan& layouts,
             const ir::Target& target, int first_free_barrier);

  /// Null for values that are not in shared memory.
  [[nodiscard]] const SharedBuffer* find(ir::Value alloc) const;
  /// End of what is planned; barriers included.
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  [[nodiscard]] const std::vector<Meeting>& before(const ir::Inst& inst) const { return lookup(before_, inst); }
  [[nodiscard]] const std::vector<Meeting>& after(const ir::Inst& inst) const { return lookup(after_, inst); }
  [[nodiscard]] int barriers_used() const { return next_barrier_; }

 private:
  struct Uses;
  class Overlay;
  using Points = std::map<const ir::Inst*, std::vector<Meeting>>;

  void collect(const ir::Region& region, const ir::Inst* scope);
  void choose_layouts();
  void place(bool overlay);
  void add_meetings();
  [[nodiscard]] bool nested(const ir::Inst* a, const ir::Inst* b) const;
  static const std::vector<Meeting>& lookup(const Points& points, const ir::Inst& inst);

  const ir::Kernel& kernel_;
  const RefRoots& roots_;
  const Divisors& divisors_;
  const LayoutPlan& layouts_;
  std::vector<SharedBuffer> buffers_;
  std::map<const ir::Inst*, const ir::Inst*> outer_scopes_;
  std::vector<std::pair<std::size_t, std::size_t>> overlaid_;  ///< (new, old)
  Points before_, after_;
  std::int64_t bytes_ = 0;
  int next_barrier_ = 0;
};

}  // namespace pk::codegen
