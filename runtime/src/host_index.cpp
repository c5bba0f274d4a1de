// Indexing of arrays in test items: `x[i, lo:hi, start +: size, :, ..., new]` and `x.reshape[a, b]`.

#include <fmt/format.h>

#include <algorithm>

#include "host_eval.h"

namespace pk::runtime {
namespace {

using Kind = ast::Index::Kind;

bool takes_axis(const ast::Index& i) { return i.kind != Kind::ellipsis && i.kind != Kind::new_axis; }

std::vector<std::int64_t> strides_of(const Array& array) {
  std::vector<std::int64_t> strides(array.shape.size());
  std::int64_t stride = ir::byte_size(array.dtype);
  for (std::size_t i = strides.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= array.shape[i];
  }
  return strides;
}

}  // namespace

std::optional<Value> HostEvaluator::index(const ast::IndexExpr& node) {
  if (const auto* member = std::get_if<ast::Member>(&tree()[node.base].node);
      member != nullptr && member->name.text == "reshape") {
    std::optional<Array> base = eval_array(member->base);
    if (!base) return std::nullopt;
    ir::Shape shape;
    for (const ast::Index& entry : node.indices) {
      const std::optional<std::int64_t> extent =
          entry.kind == Kind::single ? eval_int(entry.first, "an extent") : std::nullopt;
      if (!extent) return std::nullopt;
      shape.push_back(*extent);
    }
    return checked(reshape(std::move(*base), shape), node.brackets);
  }
  std::optional<Value> base = eval(node.base);
  if (!base) return std::nullopt;
  const Array* array = base->array();
  if (array == nullptr || (array->untyped && array->shape.empty())) {
    report<diag::type_mismatch>(span_of(node.base),
                                fmt::format("only arrays can be indexed, this is {}", base->describe()));
    return std::nullopt;
  }
  const std::optional<Part> part = part_of(*array, node);
  if (!part) return std::nullopt;
  return Value(take(*array, *part));
}

std::optional<Part> HostEvaluator::part_of(const Array& array, const ast::IndexExpr& node) {
  const std::size_t rank = array.shape.size();
  const std::size_t taken = static_cast<std::size_t>(std::ranges::count_if(node.indices, takes_axis));
  const std::ptrdiff_t ellipses = std::ranges::count(node.indices, Kind::ellipsis, &ast::Index::kind);
  if (taken > rank || ellipses > 1 || (taken < rank && ellipses == 0)) {
    report<diag::bad_index>(node.brackets, fmt::format("{} indices for `{}`", taken, type_text(array)))
        .help("give one index for each axis; `...` stands for as many `:` as are missing");
    return std::nullopt;
  }
  const std::vector<std::int64_t> strides = strides_of(array);
  Part part;
  std::size_t axis = 0;
  for (const ast::Index& entry : node.indices) {
    if (entry.kind == Kind::new_axis) {
      part.shape.push_back(1);
      part.strides.push_back(0);
      continue;
    }
    const std::size_t count = entry.kind == Kind::ellipsis ? rank - taken : 1;
    for (std::size_t i = 0; i < count; ++i, ++axis) {
      if (!add_axis(part, entry, array.shape[axis], strides[axis], axis)) return std::nullopt;
    }
  }
  return part;
}

bool HostEvaluator::add_axis(Part& part, const ast::Index& index, std::int64_t extent, std::int64_t stride,
                             std::size_t axis) {
  std::int64_t low = 0, high = extent;
  const auto evaluate = [&](ast::ExprId id, std::int64_t& value) {
    if (!id.valid()) return true;
    const std::optional<std::int64_t> result = eval_int(id, "an index");
    value = result.value_or(0);
    return result.has_value();
  };
  switch (index.kind) {
    case Kind::full:
    case Kind::ellipsis:
    case Kind::new_axis:
      break;
    case Kind::range:
      if (!evaluate(index.first, low) || !evaluate(index.second, high)) return false;
      break;
    case Kind::single:
      if (!evaluate(index.first, low)) return false;
      high = low < extent ? low + 1 : low;  // one past the end is outside, whatever comes after
      break;
    case Kind::sized: {
      std::int64_t size = 0;
      if (!evaluate(index.first, low) || !evaluate(index.second, size)) return false;
      if (__builtin_add_overflow(low, size, &high)) high = low < 0 ? low : std::numeric_limits<std::int64_t>::max();
      break;
    }
  }
  const bool outside = low < 0 || high > extent || low > high || (index.kind == Kind::single && high == low);
  if (outside) {
    const std::string what =
        index.kind == Kind::single ? fmt::format("index {} is", low) : fmt::format("{}:{} is", low, high);
    report<diag::out_of_bounds>(index.span, fmt::format("{} outside axis {}, which has extent {}", what, axis, extent));
    return false;
  }
  part.offset += low * stride;
  if (index.kind == Kind::single) return true;
  part.shape.push_back(high - low);
  part.strides.push_back(stride);
  return true;
}

}  // namespace pk::runtime
