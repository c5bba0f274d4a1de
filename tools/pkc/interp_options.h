#pragma once
// What `pkc test` and `pkc run` share: the interpreter's flags, a progress line, and the device behind --backend.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "pk/interp/interp.h"
#include "pk/ir/target.h"
#include "pk/runtime/backend.h"

namespace pk::tools {

struct InterpFlags {
  std::string check = "all";
  std::string schedule = "fair";
  std::uint64_t seed = 0;
  std::uint64_t step_limit = 0;
};

void add_flags(CLI::App& command, InterpFlags& flags);
/// Puts the flags into `options`; false, with a message on stderr, when one is wrong.
[[nodiscard]] bool apply(const InterpFlags& flags, interp::Options& options);

/// Shows the blocks done on a terminal when a launch takes more than a second.
void show_progress(interp::Options& options);
void clear_progress();

using DevicePtr = std::unique_ptr<runtime::Backend>;
/// The device of --backend; null for the interpreter, and where this build has none.
[[nodiscard]] DevicePtr open_device(const std::string& backend, const ir::Target& target);

}  // namespace pk::tools
