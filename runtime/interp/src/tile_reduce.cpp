// Reductions and scans. The operand is seen as [outer, axis, inner]; whole rows of `inner` elements are combined at a
// time where inner > 1, so that the loops vectorise, and the order of additions is the same in either case.

#include <algorithm>
#include <array>
#include <vector>

#include "pk/frontend/diagnostics.h"
#include "pk/interp/tile_kernels.h"

namespace pk::interp::tile {
namespace {

using ir::Bool;
using ir::Op;

struct Extents {
  std::int64_t outer = 1, axis = 1, inner = 1;
};

Extents split(const ir::Shape& shape, int axis) {
  Extents e;
  const std::size_t at = static_cast<std::size_t>(axis);
  e.axis = shape[at];
  for (std::size_t i = 0; i < at; ++i) e.outer *= shape[i];
  for (std::size_t i = at + 1; i < shape.size(); ++i) e.inner *= shape[i];
  return e;
}

constexpr std::size_t runs = 8;

/// How `op` reduces elements of T: in which type, from which start, by which step.
template <Op op, class T>
struct Reducer {
  static constexpr bool sums = op == Op::reduce_sum || op == Op::reduce_prod;
  using Work = std::conditional_t<std::same_as<T, Bool>, std::conditional_t<sums, std::int32_t, Bool>,
                                  std::conditional_t<ir::SmallFloat<T> && sums, float, T>>;
  static Work start() {
    if constexpr (op == Op::reduce_sum || op == Op::reduce_any) return ir::convert_value<Work>(std::int32_t{0});
    if constexpr (op == Op::reduce_prod || op == Op::reduce_all) return ir::convert_value<Work>(std::int32_t{1});
    if constexpr (op == Op::reduce_min) return ir::highest(dtype_of()).template get<Work>();
    if constexpr (op == Op::reduce_max) return ir::lowest(dtype_of()).template get<Work>();
  }
  static Work step(Work a, Work b) {
    if constexpr (op == Op::reduce_sum) return ir::apply<Op::add>(a, b);
    if constexpr (op == Op::reduce_prod) return ir::apply<Op::mul>(a, b);
    if constexpr (op == Op::reduce_min) return ir::apply<Op::min>(a, b);
    if constexpr (op == Op::reduce_max) return ir::apply<Op::max>(a, b);
    if constexpr (op == Op::reduce_any) return ir::apply<Op::bit_or>(a, b);
    if constexpr (op == Op::reduce_all) return ir::apply<Op::bit_and>(a, b);
  }

 private:
  static constexpr ir::Dtype dtype_of() {
    for (const ir::DtypeInfo& row : ir::dtype_table) {
      const bool same =
          ir::visit_dtype(row.dtype, [](auto tag) { return std::same_as<typename decltype(tag)::Type, T>; });
      if (same) return row.dtype;
    }
    return ir::Dtype::index;
  }
};

template <class R, class Work>
Work combine(const std::array<Work, runs>& p) {
  return R::step(R::step(R::step(p[0], p[4]), R::step(p[2], p[6])), R::step(R::step(p[1], p[5]), R::step(p[3], p[7])));
}

template <Op op, class T>
void reduce_rows(std::byte* out, const std::byte* in, const Extents& e) {
  using R = Reducer<op, T>;
  using Work = typename R::Work;
  using Out = std::conditional_t<std::same_as<Work, float>, T, Work>;
  Out* to = reinterpret_cast<Out*>(out);
  const T* from = reinterpret_cast<const T*>(in);
  if (e.inner == 1) {
    for (std::int64_t o = 0; o < e.outer; ++o, from += e.axis) {
      std::array<Work, runs> partial;
      partial.fill(R::start());
      std::int64_t i = 0;
      for (; i + static_cast<std::int64_t>(runs) <= e.axis; i += runs) {
        for (std::size_t r = 0; r < runs; ++r)
          partial[r] = R::step(partial[r], ir::convert_value<Work>(from[i + static_cast<std::int64_t>(r)]));
      }
      for (std::size_t r = 0; i < e.axis; ++i, ++r) partial[r] = R::step(partial[r], ir::convert_value<Work>(from[i]));
      to[o] = ir::convert_value<Out>(combine<R>(partial));
    }
    return;
  }
  const std::size_t width = static_cast<std::size_t>(e.inner);
  std::vector<Work> partial(runs * width);
  for (std::int64_t o = 0; o < e.outer; ++o) {
    std::fill(partial.begin(), partial.end(), R::start());
    for (std::int64_t i = 0; i < e.axis; ++i, from += e.inner) {
      Work* __restrict row = partial.data() + static_cast<std::size_t>(i) % runs * width;
      for (std::size_t j = 0; j < width; ++j) row[j] = R::step(row[j], ir::convert_value<Work>(from[j]));
    }
    for (std::size_t j = 0; j < width; ++j) {
      std::array<Work, runs> p;
      for (std::size_t r = 0; r < runs; ++r) p[r] = partial[r * width + j];
      *to++ = ir::convert_value<Out>(combine<R>(p));
    }
  }
}

template <Op op>
void reduce_as(ir::Dtype dtype, std::byte* out, const std::byte* in, const Extents& e) {
  ir::visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if constexpr (ir::in_domain(ir::info(op).domain, ir::class_of<T>)) reduce_rows<op, T>(out, in, e);
  });
}

}  // namespace

ir::Dtype reduced_dtype(Op op, ir::Dtype dtype) {
  return op == Op::reduce_sum && dtype == ir::Dtype::boolean ? ir::Dtype::i32 : dtype;
}

void reduce(Op op, ir::Dtype dtype, std::byte* out, const std::byte* in, const ir::Shape& shape, int axis) {
  const Extents e = split(shape, axis);
  PK_CHECK(ir::in_domain(ir::info(op).domain, ir::info(dtype).cls), "reduction of a type outside its domain");
  if (op == Op::reduce_sum) return reduce_as<Op::reduce_sum>(dtype, out, in, e);
  if (op == Op::reduce_prod) return reduce_as<Op::reduce_prod>(dtype, out, in, e);
  if (op == Op::reduce_min) return reduce_as<Op::reduce_min>(dtype, out, in, e);
  if (op == Op::reduce_max) return reduce_as<Op::reduce_max>(dtype, out, in, e);
  if (op == Op::reduce_any) return reduce_as<Op::reduce_any>(dtype, out, in, e);
  if (op == Op::reduce_all) return reduce_as<Op::reduce_all>(dtype, out, in, e);
  PK_CHECK(false, "not a reduction");
}

void cumsum(ir::Dtype dtype, std::byte* out, const std::byte* in, const ir::Shape& shape, int axis) {
  const Extents e = split(shape, axis);
  ir::visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if constexpr (!std::same_as<T, Bool>) {
      using R = Reducer<Op::reduce_sum, T>;
      T* to = reinterpret_cast<T*>(out);
      const T* from = reinterpret_cast<const T*>(in);
      std::vector<typename R::Work> total(static_cast<std::size_t>(e.inner));
      for (std::int64_t o = 0; o < e.outer; ++o) {
        std::fill(total.begin(), total.end(), R::start());
        for (std::int64_t i = 0; i < e.axis; ++i) {
          for (typename R::Work& sum : total) {
            sum = R::step(sum, ir::convert_value<typename R::Work>(*from++));
            *to++ = ir::convert_value<T>(sum);
          }
        }
      }
    }
  });
}

}  // namespace pk::interp::tile
