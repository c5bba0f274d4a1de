#pragma once
// Which powers and multiples an index is known to be a multiple of: what makes wide memory accesses provable.

#include <cstdint>
#include <map>
#include <vector>

#include "pk/ir/ir.h"

namespace pk::codegen {

class Divisors {
 public:
  explicit Divisors(const ir::Kernel& kernel);
  /// A number that divides the value whenever the kernel runs; 0 for the constant 0, which everything divides.
  [[nodiscard]] std::int64_t of(ir::Value value) const { return known_[value.id]; }
  /// The same of a run-time dimension, from the kernel's `where` clauses.
  [[nodiscard]] std::int64_t of_dim(std::size_t dim) const { return dims_[dim]; }

 private:
  void read_requirements();
  void collect(const ir::Region& region);
  [[nodiscard]] std::int64_t compute(const ir::Inst& inst) const;

  const ir::Kernel& kernel_;
  std::vector<std::int64_t> known_;
  std::vector<std::int64_t> dims_;
};

}  // namespace pk::codegen
