#pragma once
// What an expression of a test item can be: an array, or something that only stands as an argument.

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "pk/frontend/source.h"
#include "pk/runtime/array.h"

namespace pk::runtime {

using ArrayPtr = std::shared_ptr<const Array>;  // shared, never changed: names and values cost nothing to copy

struct Value {
  using Tuple = std::vector<Value>;
  std::variant<std::monostate, ArrayPtr, ir::Dtype, std::string, Tuple> data;  // monostate: a call without result

  Value() = default;
  Value(Array array) : data(std::make_shared<const Array>(std::move(array))) {}
  explicit Value(ir::Dtype dtype) : data(dtype) {}
  explicit Value(std::string text) : data(std::move(text)) {}
  explicit Value(Tuple tuple) : data(std::move(tuple)) {}

  [[nodiscard]] const Array* array() const {
    const ArrayPtr* p = std::get_if<ArrayPtr>(&data);
    return p == nullptr ? nullptr : p->get();
  }
  [[nodiscard]] const Tuple* tuple() const { return std::get_if<Tuple>(&data); }
  [[nodiscard]] const std::string* text() const { return std::get_if<std::string>(&data); }
  [[nodiscard]] const ir::Dtype* dtype() const { return std::get_if<ir::Dtype>(&data); }
  /// "f32[3]", "a tuple of 2", … for messages.
  [[nodiscard]] std::string describe() const;
};

/// The text of `print` for a value.
[[nodiscard]] std::string display(const Value& value);

}  // namespace pk::runtime
