#include "shadow.h"

#include <algorithm>

namespace pk::interp {

namespace {

bool is_known(const Access& earlier, const Check& check, Fault::Kind& why) {
  if ((*check.clock)[earlier.agent] < earlier.time) {
    why = Fault::Kind::race;
    return false;
  }
  const bool ordinary_store = earlier.kind == AccessKind::store || earlier.kind == AccessKind::atomic;
  if (check.needs_commit && ordinary_store &&
      (*check.clock)[earlier.agent + static_cast<Agent>(Lane::committed)] < earlier.time) {
    why = Fault::Kind::not_committed;
    return false;
  }
  return true;
}

bool conflicts(AccessKind a, AccessKind b) {
  if (is_write(a) || is_write(b)) return true;
  return is_read(a) != is_read(b);  // a load beside an atomic
}

}  // namespace

void Shadow::reset() {
  pages_.resize(static_cast<std::size_t>((bytes_ + page_bytes - 1) / page_bytes));
  for (Page& page : pages_) page.clear();
}

std::optional<Fault> Shadow::access(std::int64_t begin, std::int64_t end, const Access& access, const Check& check) {
  std::optional<Fault> fault;
  while (begin < end) {
    const std::int64_t number = begin / page_bytes;
    const std::int64_t page_begin = number * page_bytes;
    const std::int64_t stop = std::min(end, page_begin + page_bytes);
    access_page(pages_[static_cast<std::size_t>(number)], page_begin, static_cast<std::uint32_t>(begin - page_begin),
                static_cast<std::uint32_t>(stop - page_begin), access, check, fault);
    begin = stop;
  }
  return fault;
}

/// Makes a segment begin at `at` (within the page) and returns its number.
std::size_t Shadow::split(Page& page, std::uint32_t at) {
  const auto next =
      std::upper_bound(page.begin(), page.end(), at, [](std::uint32_t a, const Segment& s) { return a < s.begin; });
  const std::size_t number = static_cast<std::size_t>(next - page.begin());
  if (page[number - 1].begin == at) return number - 1;
  Segment tail = page[number - 1];
  tail.begin = at;
  page.insert(next, std::move(tail));
  return number;
}

void Shadow::access_page(Page& page, std::int64_t page_begin, std::uint32_t begin, std::uint32_t end,
                         const Access& access, const Check& check, std::optional<Fault>& fault) {
  if (page.empty())
    page.push_back({.begin = 0, .initialised = initialised_, .written = false, .write = {}, .others = {}});
  const std::int64_t page_end = std::min(page_bytes, bytes_ - page_begin);
  std::size_t first = split(page, begin);
  std::size_t last = end < page_end ? split(page, end) : page.size();
  for (std::size_t i = first; i < last; ++i) {
    Segment& segment = page[i];
    const auto found = [&](Fault::Kind kind, const Access& earlier) {
      if (fault) return;
      const std::int64_t stop = i + 1 < page.size() ? page[i + 1].begin : page_end;
      fault = Fault{kind, page_begin + segment.begin, page_begin + stop, earlier};
    };
    if (check.clock != nullptr) {
      Fault::Kind why{};
      if (segment.written && conflicts(segment.write.kind, access.kind) && !is_known(segment.write, check, why)) {
        found(why, segment.write);
      }
      for (const Access& earlier : segment.others) {
        if (conflicts(earlier.kind, access.kind) && !is_known(earlier, check, why)) found(why, earlier);
      }
    }
    if (check.init && !is_write(access.kind)) {
      if (!segment.initialised) {
        found(Fault::Kind::uninitialised, {});
      } else if (segment.written && segment.write.view != access.view) {
        found(Fault::Kind::other_view, segment.write);
      }
    }
    remember(segment, access);
  }
  // Equal neighbours become one segment again.
  first = first == 0 ? 0 : first - 1;
  last = std::min(last + 1, page.size());
  std::size_t kept = first;
  for (std::size_t i = first + 1; i < last; ++i) {
    if (page[kept].same_state(page[i])) continue;
    ++kept;
    if (kept != i) page[kept] = std::move(page[i]);
  }
  page.erase(page.begin() + static_cast<std::ptrdiff_t>(kept) + 1, page.begin() + static_cast<std::ptrdiff_t>(last));
}

void Shadow::remember(Segment& segment, const Access& access) const {
  if (is_write(access.kind)) {
    segment.write = access;
    segment.written = true;
    segment.initialised = true;
    segment.others.clear();
    return;
  }
  // Two other clusters are enough to remember: whoever comes next conflicts with one of them.
  std::optional<Agent> other_group;
  bool enough = false;
  for (Access& earlier : segment.others) {
    if (earlier.agent == access.agent && is_read(earlier.kind) == is_read(access.kind)) {
      if (earlier.time <= access.time) earlier = access;
      return;
    }
    if (agents_per_group_ == 0 || is_read(earlier.kind) != is_read(access.kind)) continue;
    const Agent group = earlier.agent / agents_per_group_;
    if (group == access.agent / agents_per_group_) continue;
    enough = enough || (other_group && *other_group != group);
    other_group = group;
  }
  if (!enough) segment.others.push_back(access);
}

std::optional<Fault> Shadow::find_unknown(const Clock& clock, Agent first, Agent last) const {
  for (std::size_t number = 0; number < pages_.size(); ++number) {
    const Page& page = pages_[number];
    for (std::size_t i = 0; i < page.size(); ++i) {
      const auto unknown = [&](const Access& a) {
        return (a.thread < first || a.thread >= last) && clock[a.agent] < a.time;
      };
      const std::int64_t page_begin = static_cast<std::int64_t>(number) * page_bytes;
      const std::int64_t begin = page_begin + page[i].begin;
      const std::int64_t end =
          i + 1 < page.size() ? page_begin + page[i + 1].begin : std::min(page_begin + page_bytes, bytes_);
      if (page[i].written && unknown(page[i].write)) return Fault{Fault::Kind::race, begin, end, page[i].write};
      for (const Access& a : page[i].others) {
        if (unknown(a)) return Fault{Fault::Kind::race, begin, end, a};
      }
    }
  }
  return std::nullopt;
}

}  // namespace pk::interp
