#pragma once
// A text file that is compiled into the binary (cmake/PkEmbed.cmake): explain pages, the library in pk.

#include <string_view>

namespace pk {

struct EmbeddedText {
  std::string_view name;  ///< the file's name without its ending
  std::string_view text;
};

}  // namespace pk
