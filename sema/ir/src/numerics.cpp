#include "pk/ir/numerics.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "pk/frontend/diagnostics.h"

namespace pk::ir {

Scalar Scalar::of_int(Dtype dtype, std::int64_t value) {
  return visit_dtype(dtype, [&](auto tag) { return make(dtype, convert_value<typename decltype(tag)::Type>(value)); });
}

Scalar Scalar::of_double(Dtype dtype, double value) {
  return visit_dtype(dtype, [&](auto tag) { return make(dtype, convert_value<typename decltype(tag)::Type>(value)); });
}

Scalar Scalar::load(Dtype dtype, const std::byte* from) {
  return visit_dtype(dtype, [&](auto tag) {
    typename decltype(tag)::Type value;
    std::memcpy(&value, from, sizeof value);
    if constexpr (std::same_as<decltype(value), Bool>) value = Bool(static_cast<bool>(value));
    return make(dtype, value);
  });
}

void Scalar::store(std::byte* to) const {
  visit_dtype(dtype, [&](auto tag) {
    const auto value = get<typename decltype(tag)::Type>();
    std::memcpy(to, &value, sizeof value);
  });
}

std::int64_t Scalar::as_int() const {
  return visit_dtype(dtype, [&](auto tag) { return convert_value<std::int64_t>(get<typename decltype(tag)::Type>()); });
}

double Scalar::as_double() const {
  return visit_dtype(dtype, [&](auto tag) { return convert_value<double>(get<typename decltype(tag)::Type>()); });
}

Scalar convert(Scalar x, Dtype to) {
  return visit_dtype(x.dtype, [&](auto from_tag) {
    const auto value = x.get<typename decltype(from_tag)::Type>();
    return visit_dtype(
        to, [&](auto to_tag) { return Scalar::make(to, convert_value<typename decltype(to_tag)::Type>(value)); });
  });
}

Scalar bitcast(Scalar x, Dtype to) {
  PK_CHECK(info(x.dtype).bits == info(to).bits, "bitcast between types of different widths");
  if (to == Dtype::boolean) return {to, x.bits != 0 ? 1U : 0U};
  return {to, x.bits};
}

namespace {

template <Op op, class T>
std::optional<Scalar> evaluate_as(std::span<const Scalar> operands, NumError& error) {
  constexpr OpClass cls = info(op).cls;
  const Dtype dtype = operands.back().dtype;
  if constexpr (cls == OpClass::unary) {
    return Scalar::make(dtype, apply<op>(operands[0].get<T>()));
  } else if constexpr (cls == OpClass::predicate) {
    return Scalar::make(Dtype::boolean, apply<op>(operands[0].get<T>()));
  } else if constexpr (op == Op::select) {
    return operands[0].as_bool() ? operands[1] : operands[2];
  } else if constexpr (cls == OpClass::ternary) {
    return Scalar::make(dtype, apply<op>(operands[0].get<T>(), operands[1].get<T>(), operands[2].get<T>()));
  } else {
    const T x = operands[0].get<T>(), y = operands[1].get<T>();
    error = check<op>(x, y);
    if (error != NumError::none) return std::nullopt;
    return Scalar::make(cls == OpClass::comparison ? Dtype::boolean : dtype, apply<op>(x, y));
  }
}

bool operands_fit(Op op, std::span<const Scalar> operands) {
  const OpInfo& row = info(op);
  if (!is_elementwise(op) || row.cls == OpClass::conversion) return false;
  if (static_cast<int>(operands.size()) != row.min_operands) return false;
  if (!in_domain(row.domain, info(operands.back().dtype).cls)) return false;
  if (op == Op::select && operands[0].dtype != Dtype::boolean) return false;
  for (const Scalar& s : operands.subspan(op == Op::select ? 1 : 0)) {
    if (s.dtype != operands.back().dtype) return false;
  }
  return true;
}

}  // namespace

std::optional<Scalar> evaluate(Op op, std::span<const Scalar> operands, NumError& error) {
  error = NumError::none;
  std::optional<Scalar> result;
  if (!operands_fit(op, operands)) return result;
  visit_elementwise(op, [&](auto op_tag) {
    visit_dtype(operands.back().dtype, [&](auto tag) {
      using T = typename decltype(tag)::Type;
      if constexpr (applies<decltype(op_tag)::op, T>) result = evaluate_as<decltype(op_tag)::op, T>(operands, error);
    });
  });
  return result;
}

std::string_view describe(NumError error) {
  switch (error) {
    case NumError::none:
      return "no error";
    case NumError::division_by_zero:
      return "division by zero";
    case NumError::overflow:
      return "overflow of a division";
  }
  return {};
}

Scalar lowest(Dtype dtype) {
  return visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if constexpr (Float<T>) return Scalar::of_double(dtype, -std::numeric_limits<double>::infinity());
    if constexpr (Integer<T>) return Scalar::make(dtype, std::numeric_limits<T>::min());
    return Scalar{dtype, 0};
  });
}

Scalar highest(Dtype dtype) {
  return visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if constexpr (Float<T>) return Scalar::of_double(dtype, std::numeric_limits<double>::infinity());
    if constexpr (Integer<T>) return Scalar::make(dtype, std::numeric_limits<T>::max());
    return Scalar{dtype, 1};
  });
}

std::string format(Scalar x) {
  if (x.dtype == Dtype::boolean) return x.as_bool() ? "true" : "false";
  if (x.dtype == Dtype::u64) return fmt::format("{}", x.bits);
  if (is_integer(x.dtype)) return fmt::format("{}", x.as_int());
  const double value = x.as_double();
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  // The fewest digits that read back as the same bits; 17 always do.
  for (int digits = 1; digits < 17; ++digits) {
    const std::string text = fmt::format("{:.{}g}", value, digits);
    const std::optional<Scalar> back = parse_scalar(x.dtype, text);
    // As a double's own text, which has an exponent only for very large and very small numbers: 10 is not 1e+01.
    if (back && back->bits == x.bits) return fmt::format("{}", std::strtod(text.c_str(), nullptr));
  }
  return fmt::format("{:.17g}", value);
}

std::optional<Scalar> parse_scalar(Dtype dtype, std::string_view text) {
  const char* const end = text.data() + text.size();
  if (dtype == Dtype::boolean) {
    if (text == "true" || text == "1") return Scalar{dtype, 1};
    if (text == "false" || text == "0") return Scalar{dtype, 0};
    return std::nullopt;
  }
  if (dtype == Dtype::u64) {
    std::uint64_t value = 0;
    const auto [stop, status] = std::from_chars(text.data(), end, value);
    if (status != std::errc{} || stop != end) return std::nullopt;
    return Scalar{dtype, value};
  }
  if (is_integer(dtype)) {
    std::int64_t value = 0;
    const auto [stop, status] = std::from_chars(text.data(), end, value);
    if (status != std::errc{} || stop != end) return std::nullopt;
    const Scalar result = Scalar::of_int(dtype, value);
    if (result.as_int() != value) return std::nullopt;
    return result;
  }
  double value = 0;
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  if (status != std::errc{} || stop != end) return std::nullopt;
  return Scalar::of_double(dtype, value);
}

}  // namespace pk::ir
