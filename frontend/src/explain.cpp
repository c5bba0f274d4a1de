#include "pk/frontend/explain.h"

#include "pk/frontend/diagnostics.h"

namespace pk {

std::string_view explain_page(int code) {
  const std::string name = code_name(code);
  for (const EmbeddedText& page : explain_texts()) {
    if (page.name == name) return page.text;
  }
  return {};
}

std::string_view explain_title(int code) {
  const std::string_view page = explain_page(code);
  const std::size_t colon = page.find(": ");
  const std::size_t end = page.find('\n');
  return colon == std::string_view::npos || end < colon ? std::string_view{} : page.substr(colon + 2, end - colon - 2);
}

}  // namespace pk
