#include "host_value.h"

#include <fmt/format.h>

#include "host_maths.h"

namespace pk::runtime {
namespace {

/// The elements from `i` on of one sub-array, in brackets for each axis. Long axes are cut short.
std::string display_axis(const Array& array, std::size_t axis, std::int64_t& i) {
  constexpr std::int64_t shown = 16;
  const std::size_t bytes = static_cast<std::size_t>(ir::byte_size(array.dtype));
  if (axis == array.shape.size())
    return ir::format(ir::Scalar::load(array.dtype, array.data.data() + static_cast<std::size_t>(i++) * bytes));
  std::int64_t below = 1;
  for (std::size_t a = axis + 1; a < array.shape.size(); ++a) below *= array.shape[a];
  std::string text = "[";
  for (std::int64_t k = 0; k < array.shape[axis]; ++k) {
    if (k > 0) text += ", ";
    if (k == shown) {
      text += "…";
      i += (array.shape[axis] - k) * below;
      break;
    }
    text += display_axis(array, axis + 1, i);
  }
  return text + "]";
}

}  // namespace

std::string Value::describe() const {
  if (const Array* a = array()) return type_text(*a);
  if (const Tuple* t = tuple()) return fmt::format("a tuple of {}", t->size());
  if (text() != nullptr) return "a text";
  if (const ir::Dtype* d = dtype()) return fmt::format("the type {}", ir::spelling(*d));
  return "no value";
}

std::string display(const Value& value) {
  if (const Array* a = value.array()) {
    std::int64_t i = 0;
    return display_axis(*a, 0, i);
  }
  if (value.text() != nullptr) return *value.text();
  if (value.tuple() == nullptr) return value.describe();
  std::string text = "(";
  for (const Value& v : *value.tuple()) text += (text.size() > 1 ? ", " : "") + display(v);
  return text + ")";
}

}  // namespace pk::runtime
