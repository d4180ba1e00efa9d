#include "cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace scalecalc::cli {

bool is_terminal(int descriptor) {
  return ::isatty(descriptor) == 1;
}

int terminal_width(int descriptor) {
  constexpr int kDefault = 100, kNarrowest = 40;
  winsize size = {};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kDefault;
  return std::max<int>(size.ws_col, kNarrowest);
}

bool takes_color(int descriptor) {
  // https://no-color.org: present and not empty.
  const char* refused = std::getenv("NO_COLOR");
  if (refused != nullptr && *refused != '\0') return false;
  const char* kind = std::getenv("TERM");
  return is_terminal(descriptor) && kind != nullptr && std::string_view(kind) != "dumb";
}

}  // namespace scalecalc::cli
