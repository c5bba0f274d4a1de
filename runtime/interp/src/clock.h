#pragma once
// Vector clocks: who knows of what. An agent is a line of events in order: a pk thread, and beside it what the thread
// has committed, its copies out (their reads and their writes) and its MMAs; or a barrier, whose events are its
// completions. An event is (agent, time); a clock says for each agent up to which time its events are known. Used by
// the race checker.

#include <cstdint>
#include <utility>
#include <vector>

namespace pk::interp {

using Agent = std::uint32_t;
using Time = std::uint32_t;

/// The agents of a pk thread stand at its number plus one of these.
enum class Lane : Agent { self, committed, store_reads, store_writes, mma };
inline constexpr Agent lanes_per_thread = 5;

/// Agents of one cluster are numbered densely from a base, so that clocks of a cluster are small arrays. What is known
/// of other clusters (through semaphores and atomics of the whole grid) is a sorted list, empty in most kernels.
class Clock {
 public:
  Clock() = default;
  Clock(Agent base, std::size_t count) : base_(base), local_(count, 0) {}

  [[nodiscard]] Time operator[](Agent agent) const {
    const Agent at = agent - base_;
    return at < local_.size() ? local_[at] : foreign(agent);
  }
  void raise(Agent agent, Time time);
  void join(const Clock& other);
  /// Keeps of each agent only what `other` knows too.
  void meet(const Clock& other);
  /// Forgets everything (and keeps the storage).
  void clear();

 private:
  [[nodiscard]] Time foreign(Agent agent) const;

  Agent base_ = 0;
  std::vector<Time> local_;
  std::vector<std::pair<Agent, Time>> foreign_;
};

}  // namespace pk::interp
