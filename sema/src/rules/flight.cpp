#include "flight.h"

#include <algorithm>

namespace pk::sema::rules {

void Flight::close_group() {
  for (OutgoingCopy& copy : outgoing) {
    if (copy.closed) ++copy.newer;
    copy.closed = true;
  }
}

void Flight::wait_copies(std::int64_t left, bool read_only) {
  for (OutgoingCopy& copy : outgoing) copy.source_read = copy.source_read || (copy.closed && copy.newer >= left);
  if (!read_only)
    std::erase_if(outgoing, [left](const OutgoingCopy& copy) { return copy.closed && copy.newer >= left; });
}

void Flight::wait_mmas(std::int64_t left) {
  std::erase_if(mmas, [left](const OpenMma& mma) { return mma.newer >= left; });
}

void Flight::forget(const std::vector<ir::Value>& roots) {
  const auto gone = [&roots](const Place& place) {
    return std::find(roots.begin(), roots.end(), place.root) != roots.end();
  };
  std::erase_if(stores, [&](const OpenStore& s) { return gone(s.place); });
  std::erase_if(outgoing, [&](const OutgoingCopy& c) { return gone(c.source); });
  std::erase_if(incoming, [&](const IncomingCopy& c) { return gone(c.target); });
  std::erase_if(mmas, [&](const OpenMma& m) {
    return std::find(roots.begin(), roots.end(), m.accumulator) != roots.end() ||
           std::any_of(m.operands.begin(), m.operands.end(), gone);
  });
}

namespace {

bool same(const OpenStore& a, const OpenStore& b) { return a.inst == b.inst; }
bool same(const OutgoingCopy& a, const OutgoingCopy& b) { return a.inst == b.inst && a.closed == b.closed; }
bool same(const IncomingCopy& a, const IncomingCopy& b) { return a.inst == b.inst; }
bool same(const OpenMma& a, const OpenMma& b) { return a.inst == b.inst && a.step == b.step; }

void merge(OpenStore&, const OpenStore&) {}
void merge(OutgoingCopy& a, const OutgoingCopy& b) {
  a.newer = std::max(a.newer, b.newer);
  a.source_read = a.source_read || b.source_read;
}
void merge(IncomingCopy&, const IncomingCopy&) {}
void merge(OpenMma& a, const OpenMma& b) { a.newer = std::max(a.newer, b.newer); }

template <class T>
std::vector<T> common(const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<T> out;
  for (const T& x : a) {
    const auto y = std::find_if(b.begin(), b.end(), [&x](const T& other) { return same(x, other); });
    if (y == b.end()) continue;
    out.push_back(x);
    merge(out.back(), *y);
  }
  return out;
}

template <class T>
bool equal_lists(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const T& x, const T& y) { return same(x, y); });
}

}  // namespace

Flight meet(const Flight& a, const Flight& b) {
  if (!a.live) return b;
  if (!b.live) return a;
  return {true, common(a.stores, b.stores), common(a.outgoing, b.outgoing), common(a.incoming, b.incoming),
          common(a.mmas, b.mmas)};
}

bool same_things(const Flight& a, const Flight& b) {
  return a.live == b.live && equal_lists(a.stores, b.stores) && equal_lists(a.outgoing, b.outgoing) &&
         equal_lists(a.incoming, b.incoming) && equal_lists(a.mmas, b.mmas);
}

}  // namespace pk::sema::rules
