#pragma once
// When buffers are used in the arms of specialised code, so that one may take the storage of another that is done with.

#include <map>
#include <optional>
#include <vector>

#include "pk/ir/ir.h"
#include "ref_roots.h"

namespace pk::codegen {

/// From the first to the last use in one arm, by position in the program. A use in a loop counts for the whole loop.
struct ArmUse {
  std::int64_t first = 0, last = 0;
  const ir::Inst* begin = nullptr;  ///< stands once in the arm and holds the first use
  const ir::Inst* end = nullptr;    ///< holds the last use
};

class ArmUses {
 public:
  ArmUses(const ir::Kernel& kernel, const RefRoots& roots);

  /// Whether `later` may take the storage of `earlier` after a meeting of the threads that use them.
  [[nodiscard]] bool may_follow(ir::Value earlier, ir::Value later) const;
  /// By arm.
  [[nodiscard]] const std::map<const ir::Region*, ArmUse>& of(ir::Value buffer) const;
  [[nodiscard]] int threads_of(const ir::Region* arm) const { return threads_.at(arm); }

 private:
  struct Buffer {
    const ir::Inst* specialize = nullptr;
    std::map<const ir::Region*, ArmUse> arms;
    bool anywhere_else = false;
  };
  struct Position {
    const ir::Inst* specialize = nullptr;
    const ir::Region* arm = nullptr;
    std::vector<const ir::Inst*> path;  ///< from the arm down
    int loops = 0;                      ///< around the `specialize`
  };
  void number(const ir::Region& region);
  void walk(const ir::Region& region, const Position& at);
  void use(ir::Value root, const Position& at);

  const ir::Kernel& kernel_;
  const RefRoots& roots_;
  std::map<const ir::Inst*, std::pair<std::int64_t, std::int64_t>> extents_;
  std::map<std::uint32_t, Buffer> buffers_;
  std::map<std::uint32_t, int> made_in_loops_;
  std::map<const ir::Region*, int> threads_;
  std::int64_t next_ = 0;
};

}  // namespace pk::codegen
