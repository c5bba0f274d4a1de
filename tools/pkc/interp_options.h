#pragma once
// What `pkc test` and `pkc run` share: the interpreter's flags and a progress line.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "pk/interp/interp.h"

namespace pk::tools {

struct InterpFlags {
  std::string check = "all";
  std::string schedule = "fair";
  std::uint64_t seed = 0;
  std::uint64_t step_limit = 1'000'000'000;  ///< a loop that never ends is reported after about half a minute
};

void add_flags(CLI::App& command, InterpFlags& flags);
/// Puts the flags into `options`; false, with a message on stderr, when one is wrong.
[[nodiscard]] bool apply(const InterpFlags& flags, interp::Options& options);

/// Shows the blocks done on a terminal when a launch takes more than a second.
void show_progress(interp::Options& options);
void clear_progress();

}  // namespace pk::tools
