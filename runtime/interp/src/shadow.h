#pragma once
// Shadow memory: for each byte range of an allocation, who accessed it last and whether it holds a value. Finds races
// (by happens-before), reads of what was never written, and reads through another view of a union. Used by all memory
// operations through Machine::touch.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "clock.h"

namespace pk::interp {

/// Atomics do not conflict with each other; `reduce` is the same done by the copy engine.
enum class AccessKind : std::uint8_t { load, store, atomic, async_read, async_write, reduce };
[[nodiscard]] constexpr bool is_read(AccessKind k) { return k == AccessKind::load || k == AccessKind::async_read; }
[[nodiscard]] constexpr bool is_write(AccessKind k) { return k == AccessKind::store || k == AccessKind::async_write; }
[[nodiscard]] constexpr bool is_async(AccessKind k) {
  return k == AccessKind::async_read || k == AccessKind::async_write || k == AccessKind::reduce;
}

/// One access as the shadow remembers it: over for everybody who knows event `time` of `agent`.
struct Access {
  Agent agent = 0;
  Time time = 0;
  Agent thread = 0;      ///< agent of the pk thread that did or issued it
  std::uint32_t pc = 0;  ///< instruction, for its source text
  AccessKind kind = AccessKind::load;
  std::uint8_t view = 0;  ///< member of a union
  friend bool operator==(const Access&, const Access&) = default;
};

struct Fault {
  enum class Kind : std::uint8_t { race, not_committed, uninitialised, other_view };
  Kind kind = Kind::race;
  std::int64_t begin = 0, end = 0;  ///< bytes of the allocation
  Access earlier;                   ///< meaningless for `uninitialised`
};

/// What an access is checked against.
struct Check {
  const Clock* clock = nullptr;  ///< what the accessor knows; null: races are not checked
  bool needs_commit = false;     ///< an asynchronous unit on shared memory: ordinary stores have to be committed
  bool init = true;              ///< reads of unwritten memory are faults
};

class Shadow {
 public:
  /// `agents_per_group` > 0: agents of different groups (clusters) can never be ordered in this launch, so a few
  /// readers of each range stand for all.
  Shadow(std::int64_t bytes, bool initialised, Agent agents_per_group)
      : bytes_(bytes), initialised_(initialised), agents_per_group_(agents_per_group) {
    reset();
  }
  /// Forgets all accesses; contents are unwritten again (or written, as at the beginning).
  void reset();
  /// Checks an access to bytes [begin, end) and remembers it. The first fault is returned, and the access remembered
  /// all the same.
  std::optional<Fault> access(std::int64_t begin, std::int64_t end, const Access& access, const Check& check);
  /// The first remembered access by a thread outside agents [first, last) that `clock` does not know.
  [[nodiscard]] std::optional<Fault> find_unknown(const Clock& clock, Agent first, Agent last) const;

 private:
  static constexpr std::int64_t page_bytes = 4096;
  struct Segment {
    std::uint32_t begin = 0;  // within the page; ends where the next begins
    bool initialised = false;
    bool written = false;  // whether `write` means something
    Access write;
    std::vector<Access> others;  // loads and atomics since `write`
    [[nodiscard]] bool same_state(const Segment& s) const {
      return initialised == s.initialised && written == s.written && (!written || write == s.write) &&
             others == s.others;
    }
  };
  using Page = std::vector<Segment>;

  void access_page(Page& page, std::int64_t page_begin, std::uint32_t begin, std::uint32_t end, const Access& access,
                   const Check& check, std::optional<Fault>& fault);
  void remember(Segment& segment, const Access& access) const;
  static std::size_t split(Page& page, std::uint32_t at);

  std::int64_t bytes_;
  bool initialised_;
  Agent agents_per_group_;
  std::vector<Page> pages_;  // an empty page is one untouched segment
};

}  // namespace pk::interp
