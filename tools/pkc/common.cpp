#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "commands.h"
#include "pk/frontend/render.h"

namespace pk::tools {

FileId read_source(const std::string& path, Sources& sources, Diagnostics& diags) {
  std::ifstream in(path, std::ios::binary);
  std::string text;
  if (in) text.assign(std::istreambuf_iterator<char>(in), {});
  if (!in || in.bad()) {
    diags.report<diag::cannot_read_file>({}, path, std::strerror(errno));
    return {};
  }
  return sources.add(path, std::move(text));
}

bool color_wanted(int descriptor) { return isatty(descriptor) != 0 && std::getenv("NO_COLOR") == nullptr; }

void print_diagnostics(const std::vector<Diagnostic>& diagnostics, const Sources& sources) {
  const Style style{color_wanted(STDERR_FILENO)};
  for (const Diagnostic& d : diagnostics) fmt::print(stderr, "{}\n", render(d, sources, style));
  fmt::print(stderr, "{}", summary(diagnostics));
}

std::optional<NamedInteger> parse_named_integer(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return std::nullopt;
  NamedInteger out{text.substr(0, equals), 0};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + equals + 1, end, out.value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return out;
}

std::optional<ir::Target> parse_target(const std::string& name) {
  const auto target = ir::find_target(name);
  if (!target) fmt::print(stderr, "pkc: unknown target `{}`; there are sm_90a and sm_80\n", name);
  return target;
}

}  // namespace pk::tools
