#pragma once
// The interpreter: runs kernel IR (after the shared passes) on the CPU, and finds what the hardware would punish.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pk/frontend/diagnostics.h"
#include "pk/ir/ir.h"

namespace pk::interp {

/// How threads and asynchronous engines take turns. Results are the same under all of them unless the program races.
enum class Schedule : std::uint8_t {
  fair,    ///< round robin, asynchronous work completes soon
  random,  ///< seeded
  lazy,    ///< asynchronous work completes as late as the program allows
  eager,   ///< asynchronous work completes at once
};

struct Options {
  bool check_races = true;
  bool check_init = true;
  bool check_bounds = true;  ///< bounds are checked in any case: the interpreter itself depends on them
  Schedule schedule = Schedule::fair;
  std::uint64_t seed = 0;
  int worker_threads = 0;        ///< 0: one for each core; blocks run in parallel only when nothing can order them
  std::uint64_t step_limit = 0;  ///< instructions a pk thread may run before it counts as a livelock; 0: none
  std::function<void(std::string_view)> print;  ///< receives what `print` prints; stdout when empty
  std::function<void(std::int64_t done, std::int64_t total)> progress;  ///< blocks done; may be empty
};

/// An argument: a scalar in `scalar_bits` (low bytes, native order), or memory of dense row-major elements.
struct Argument {
  void* data = nullptr;
  ir::Shape shape;
  std::uint64_t scalar_bits = 0;
  bool initialised = true;  ///< false for `out` buffers: reading before writing is an error
};

/// A kernel made ready to run (flattened, slots assigned). Immutable; several threads may run it at once.
class Program;
struct ProgramDeleter {
  void operator()(const Program*) const;
};
using ProgramPtr = std::unique_ptr<const Program, ProgramDeleter>;
[[nodiscard]] ProgramPtr prepare(ir::Kernel kernel);

/// Runs one launch with one argument for each parameter, in order. Run-time errors (PK09xx) go to `diags` with source
/// spans, among them where clauses and dimensions that do not fit (PK0907, at `launch_span`). Returns whether the
/// launch ended without error.
bool run(const Program& program, const std::vector<Argument>& args, Span launch_span, const Options& options,
         Diagnostics& diags);

}  // namespace pk::interp
