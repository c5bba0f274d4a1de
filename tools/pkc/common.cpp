#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "commands.h"
#include "pk/frontend/followers.h"
#include "pk/frontend/render.h"

namespace pk::tools {

FileId read_source(const std::string& path, Sources& sources, Diagnostics& diags) {
  std::error_code error;
  const bool folder = std::filesystem::is_directory(path, error);
  std::ifstream in;
  if (!folder) in.open(path, std::ios::binary);
  std::ostringstream text;
  if (in.is_open() && in.peek() != std::ifstream::traits_type::eof()) text << in.rdbuf();
  if (!in.is_open() || in.bad() || text.bad()) {
    diags.report<diag::cannot_read_file>({}, path, folder ? "it is a folder" : std::strerror(errno));
    return {};
  }
  return sources.add(path, std::move(text).str());
}

sema::ModulePtr check_file(const std::string& path, const ir::Target& target, Sources& sources, Diagnostics& diags) {
  const FileId file = read_source(path, sources, diags);
  if (!file.valid()) return nullptr;
  Diagnostics found;
  sema::ModulePtr module = sema::load(sources, file, found);
  sema::check(*module, target, found);
  drop_followers(sources, sema::tree(*module), found);
  for (Diagnostic& d : found.take()) diags.add(std::move(d));
  return module;
}

bool write_file(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.flush();
  if (!file.good()) fmt::print(stderr, "pkc: cannot write `{}`: {}\n", path, std::strerror(errno));
  return file.good();
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

std::optional<int> parse_code(std::string_view text) {
  if (text.starts_with("PK") || text.starts_with("pk")) text.remove_prefix(2);
  int code = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), code);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return code;
}

std::optional<ir::Target> parse_target(const std::string& name) {
  const auto target = ir::find_target(name);
  if (!target) fmt::print(stderr, "pkc: unknown target `{}`; there are sm_90a and sm_80\n", name);
  return target;
}

}  // namespace pk::tools
