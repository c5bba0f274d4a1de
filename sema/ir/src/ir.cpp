#include "pk/ir/ir.h"

#include <algorithm>

namespace pk::ir {

std::string_view spelling(Space space) {
  switch (space) {
    case Space::gmem:
      return "gmem";
    case Space::smem:
      return "smem";
    case Space::acc:
      return "acc";
    case Space::tmem:
      return "tmem";
    case Space::barrier:
      return "barrier";
    case Space::cluster_barrier:
      return "cluster_barrier";
    case Space::semaphore:
      return "semaphore";
  }
  return "?";
}

void Attrs::set(Attr key, AttrValue value) {
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), key,
                                   [](const auto& entry, Attr k) { return entry.first < k; });
  if (at != entries_.end() && at->first == key) {
    at->second = std::move(value);
  } else {
    entries_.insert(at, {key, std::move(value)});
  }
}

void Attrs::erase(Attr key) {
  std::erase_if(entries_, [key](const auto& entry) { return entry.first == key; });
}

const AttrValue* Attrs::find(Attr key) const {
  for (const auto& [k, value] : entries_) {
    if (k == key) return &value;
  }
  return nullptr;
}

namespace {
/// The value of `key` if it is a T, else nothing.
template <class T>
const T* get(const Attrs& attrs, Attr key) {
  const AttrValue* value = attrs.find(key);
  return value == nullptr ? nullptr : std::get_if<T>(value);
}
}  // namespace

bool Attrs::flag(Attr key) const {
  const bool* value = get<bool>(*this, key);
  return value != nullptr && *value;
}

std::int64_t Attrs::integer(Attr key, std::int64_t otherwise) const {
  const std::int64_t* value = get<std::int64_t>(*this, key);
  return value == nullptr ? otherwise : *value;
}

double Attrs::real(Attr key) const {
  const double* value = get<double>(*this, key);
  return value == nullptr ? 0 : *value;
}

std::string_view Attrs::text(Attr key) const {
  const std::string* value = get<std::string>(*this, key);
  return value == nullptr ? std::string_view{} : *value;
}

const std::vector<std::int64_t>& Attrs::integers(Attr key) const {
  static const std::vector<std::int64_t> empty;
  const auto* value = get<std::vector<std::int64_t>>(*this, key);
  return value == nullptr ? empty : *value;
}

const std::vector<std::string>& Attrs::texts(Attr key) const {
  static const std::vector<std::string> empty;
  const auto* value = get<std::vector<std::string>>(*this, key);
  return value == nullptr ? empty : *value;
}

void ValueMap::set(Value from, Value to) {
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), from,
                                   [](const auto& entry, Value v) { return entry.first < v; });
  if (at != entries_.end() && at->first == from) {
    at->second = to;
  } else {
    entries_.insert(at, {from, to});
  }
}

Value ValueMap::operator()(Value v) const {
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), v,
                                   [](const auto& entry, Value key) { return entry.first < key; });
  return at != entries_.end() && at->first == v ? at->second : v;
}

namespace {
Value fresh(Kernel& kernel, Value v, ValueMap& map) {
  ValueInfo info = kernel.values[v.id];
  const Value copy = kernel.new_value(std::move(info.type), std::move(info.name));
  map.set(v, copy);
  return copy;
}
}  // namespace

std::vector<Inst> clone_insts(Kernel& kernel, const std::vector<Inst>& insts, ValueMap& map) {
  std::vector<Inst> out;
  out.reserve(insts.size());
  for (const Inst& inst : insts) {
    Inst copy{inst.op, inst.loc, {}, {}, inst.attrs, {}};
    for (const Value v : inst.operands) copy.operands.push_back(map(v));
    for (const Region& region : inst.regions) copy.regions.push_back(clone_region(kernel, region, map));
    for (const Value v : inst.results) copy.results.push_back(fresh(kernel, v, map));
    out.push_back(std::move(copy));
  }
  return out;
}

Region clone_region(Kernel& kernel, const Region& region, ValueMap& map) {
  Region copy;
  for (const Value v : region.args) copy.args.push_back(fresh(kernel, v, map));
  copy.insts = clone_insts(kernel, region.insts, map);
  return copy;
}

}  // namespace pk::ir
