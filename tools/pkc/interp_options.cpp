#include "interp_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace pk::tools {
namespace {

/// Whether a progress line stands on the terminal. A terminal is one per process.
bool& progress_shown() {
  static bool shown = false;
  return shown;
}

bool parse_checks(const std::string& text, interp::Options& options) {
  options.check_races = options.check_init = options.check_bounds = text == "all";
  if (text == "all" || text == "none") return true;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    if (word == "races") {
      options.check_races = true;
    } else if (word == "init") {
      options.check_init = true;
    } else if (word == "bounds") {
      options.check_bounds = true;
    } else {
      fmt::print(stderr, "pkc: unknown check `{}`; there are all, none, races, init and bounds\n", word);
      return false;
    }
  }
  return true;
}

}  // namespace

void add_flags(CLI::App& command, InterpFlags& flags) {
  command.add_option("--check", flags.check, "all, none, or a list of races, init, bounds");
  command.add_option("--schedule", flags.schedule, "fair, random, lazy or eager")
      ->check(CLI::IsMember({"fair", "random", "lazy", "eager"}));
  command.add_option("--seed", flags.seed, "seed of --schedule=random");
  command.add_option("--step-limit", flags.step_limit, "instructions a thread may run (default 1000000000); 0: any number");
}

bool apply(const InterpFlags& flags, interp::Options& options) {
  if (!parse_checks(flags.check, options)) return false;
  options.schedule = flags.schedule == "random"  ? interp::Schedule::random
                     : flags.schedule == "lazy"  ? interp::Schedule::lazy
                     : flags.schedule == "eager" ? interp::Schedule::eager
                                                 : interp::Schedule::fair;
  options.seed = flags.seed;
  options.step_limit = flags.step_limit;
  return true;
}

void show_progress(interp::Options& options) {
  if (isatty(STDERR_FILENO) == 0) return;
  using Clock = std::chrono::steady_clock;
  options.progress = [start = Clock::now(), shown = Clock::time_point{}](std::int64_t done,
                                                                         std::int64_t total) mutable {
    const auto now = Clock::now();
    if (now - start < std::chrono::seconds(1) || now - shown < std::chrono::milliseconds(200)) return;
    shown = now;
    progress_shown() = true;
    fmt::print(stderr, "\r{} of {} blocks", done, total);
    std::fflush(stderr);
  };
}

void clear_progress() {
  if (!progress_shown()) return;
  progress_shown() = false;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
}

}  // namespace pk::tools
