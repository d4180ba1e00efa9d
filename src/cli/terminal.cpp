#include "cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string>
#include <string_view>

namespace scalecalc::cli {
namespace {

bool is_dumb() {
  const char* kind = std::getenv("TERM");
  return kind == nullptr || std::string_view(kind) == "dumb";
}

}  // namespace

bool is_terminal(int descriptor) {
  return ::isatty(descriptor) == 1;
}

int terminal_width(int descriptor) {
  constexpr int kDefault = 100, kNarrowest = 40;
  winsize size = {};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kDefault;
  return std::max<int>(size.ws_col, kNarrowest);
}

int terminal_height(int descriptor) {
  winsize size = {};
  if (is_dumb() || !is_terminal(descriptor) || ::ioctl(descriptor, TIOCGWINSZ, &size) != 0)
    return 0;
  return size.ws_row;
}

bool takes_color(int descriptor) {
  // https://no-color.org: present and not empty.
  const char* refused = std::getenv("NO_COLOR");
  if (refused != nullptr && *refused != '\0') return false;
  return is_terminal(descriptor) && !is_dumb();
}

bool takes_unicode() {
  // The first that is set and not empty decides (POSIX, 8.2).
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* locale = std::getenv(name);
    if (locale == nullptr || *locale == '\0') continue;
    std::string text;
    for (const char* at = locale; *at != '\0'; ++at) {
      if (*at != '-') text += static_cast<char>(std::tolower(static_cast<unsigned char>(*at)));
    }
    return text.find("utf8") != std::string::npos;
  }
  return false;
}

}  // namespace scalecalc::cli
