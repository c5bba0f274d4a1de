#include "clock.h"

#include <algorithm>

namespace pk::interp {

namespace {
bool before(const std::pair<Agent, Time>& entry, Agent agent) { return entry.first < agent; }
}  // namespace

Time Clock::foreign(Agent agent) const {
  const auto found = std::lower_bound(foreign_.begin(), foreign_.end(), agent, before);
  return found != foreign_.end() && found->first == agent ? found->second : 0;
}

void Clock::raise(Agent agent, Time time) {
  const Agent at = agent - base_;
  if (at < local_.size()) {
    local_[at] = std::max(local_[at], time);
    return;
  }
  const auto found = std::lower_bound(foreign_.begin(), foreign_.end(), agent, before);
  if (found != foreign_.end() && found->first == agent) {
    found->second = std::max(found->second, time);
  } else {
    foreign_.insert(found, {agent, time});
  }
}

void Clock::join(const Clock& other) {
  if (other.base_ == base_ && other.local_.size() == local_.size()) {
    for (std::size_t i = 0; i < local_.size(); ++i) local_[i] = std::max(local_[i], other.local_[i]);
  } else {
    for (std::size_t i = 0; i < other.local_.size(); ++i) {
      if (other.local_[i] > 0) raise(other.base_ + static_cast<Agent>(i), other.local_[i]);
    }
  }
  for (const auto& [agent, time] : other.foreign_) raise(agent, time);
}

void Clock::meet(const Clock& other) {
  for (std::size_t i = 0; i < local_.size(); ++i) {
    local_[i] = std::min(local_[i], other[base_ + static_cast<Agent>(i)]);
  }
  for (auto& [agent, time] : foreign_) time = std::min(time, other[agent]);
}

void Clock::clear() {
  std::fill(local_.begin(), local_.end(), 0);
  foreign_.clear();
}

}  // namespace pk::interp
