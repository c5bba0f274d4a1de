#pragma once
// What is certainly under way in one thread at one place of the program: stores that the asynchronous units may not see
// yet, copies and MMAs that have not been waited for. "Certainly" means on every path that leads there, so that a rule
// that finds something here may speak of a mistake.

#include <cstdint>
#include <vector>

#include "places.h"

namespace pk::sema::rules {

/// An ordinary store to shared memory without `commit_smem` since.
struct OpenStore {
  const ir::Inst* inst = nullptr;
  Place place;
};

/// A copy out of shared memory that no wait covers.
struct OutgoingCopy {
  const ir::Inst* inst = nullptr;
  Place source;
  bool closed = false;       ///< its group has been closed
  std::int64_t newer = 0;    ///< groups closed after its own, at most
  bool source_read = false;  ///< a `read_only` wait covers it
};

/// A copy into shared memory, as long as this thread has not waited for anything since.
struct IncomingCopy {
  const ir::Inst* inst = nullptr;
  Place target;
};

/// A wgmma that no wait covers.
struct OpenMma {
  const ir::Inst* inst = nullptr;
  ir::Value accumulator;
  std::vector<Place> operands;
  std::int64_t step = 0;   ///< the step of the pipeline it was issued in
  std::int64_t newer = 0;  ///< MMAs issued after it, at most
};

struct Flight {
  bool live = true;  ///< false behind a jump: nothing gets here
  std::vector<OpenStore> stores;
  std::vector<OutgoingCopy> outgoing;
  std::vector<IncomingCopy> incoming;
  std::vector<OpenMma> mmas;

  void commit_smem() { stores.clear(); }
  void close_group();
  void wait_copies(std::int64_t left, bool read_only);
  void wait_mmas(std::int64_t left);
  /// The memory of `roots` does not exist any more.
  void forget(const std::vector<ir::Value>& roots);
};

/// What is certain whichever of the two holds.
[[nodiscard]] Flight meet(const Flight& a, const Flight& b);
/// Whether the same things are under way (the counts of newer ones aside).
[[nodiscard]] bool same_things(const Flight& a, const Flight& b);

}  // namespace pk::sema::rules
