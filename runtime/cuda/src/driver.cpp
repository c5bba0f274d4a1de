#include "driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace pk::cuda {
namespace {

Driver load() {
  Driver d;
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    d.problem = "there is no CUDA driver (libcuda.so.1) here";
    return d;
  }
#define PK_DRIVER(name, symbol, parameters)                            \
  d.name = reinterpret_cast<decltype(d.name)>(dlsym(library, symbol)); \
  if (d.name == nullptr) d.problem = fmt::format("the CUDA driver is too old: it has no {}", symbol);
#include "driver_functions.def"
  return d;
}

}  // namespace

const Driver& driver() {
  static const Driver loaded = load();
  return loaded;
}

std::string describe(Status status) {
  const char* name = nullptr;
  const char* text = nullptr;
  driver().error_name(status, &name);
  driver().error_string(status, &text);
  return fmt::format("{}: {}", name == nullptr ? fmt::format("error {}", status) : name, text == nullptr ? "" : text);
}

}  // namespace pk::cuda
