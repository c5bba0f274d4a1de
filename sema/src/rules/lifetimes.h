#pragma once
// From where to where a thread uses each buffer in shared memory, by position in the program. Used to tell which
// buffers are live at once where scopes cannot say it: in the arms of specialised code, where no scope for all threads
// can be opened, buffers that are used one after the other may share storage.

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "places.h"

namespace pk::sema::rules {

/// Positions, both included.
struct Lifetime {
  std::int64_t first = 0;
  std::int64_t last = -1;
  [[nodiscard]] bool holds(std::int64_t position) const { return first <= position && position <= last; }
};

class Lifetimes {
 public:
  Lifetimes(const ir::Kernel& kernel, const Uniformity& uniformity);

  /// The positions of an instruction and all that it contains.
  [[nodiscard]] Lifetime extent(const ir::Inst& inst) const { return extents_.at(&inst); }
  /// When the thread uses the buffer; nothing if it never does.
  [[nodiscard]] std::optional<Lifetime> uses(ir::Value buffer, std::int64_t thread) const;
  /// Whether all uses stand in specialised code.
  [[nodiscard]] bool only_in_roles(ir::Value buffer) const {
    return used_.contains(buffer) && !outside_roles_.contains(buffer);
  }

 private:
  void number(const ir::Region& region);
  void find_last_uses(const ir::Region& region);
  void walk(const ir::Region& region, const std::vector<std::int64_t>& threads, bool in_roles);
  void use(const ir::Inst& inst, const std::vector<std::int64_t>& threads, bool in_roles);

  const ir::Kernel& kernel_;
  Places places_;
  std::map<const ir::Inst*, Lifetime> extents_;
  std::vector<std::int64_t> last_uses_;    ///< by value: where it is last needed
  std::vector<const ir::Inst*> loops_;     ///< around the place of the walk
  std::map<ir::Value, std::size_t> made_;  ///< loops around the place where a buffer is made
  std::map<std::pair<ir::Value, std::int64_t>, Lifetime> lifetimes_;
  std::set<ir::Value> used_, outside_roles_;
  std::int64_t next_ = 0;
};

}  // namespace pk::sema::rules
