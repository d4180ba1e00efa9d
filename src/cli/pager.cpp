#include "cli/pager.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "cli/process.hpp"
#include "cli/terminal.hpp"

namespace scalecalc::cli {
namespace {

constexpr int kNotStarted = 126, kNotFound = 127;  // what sh returns

/// Lines of the screen that it takes.
std::size_t height_of(std::string_view text, std::size_t width) {
  std::size_t height = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    height += line.empty() ? 1 : (line.size() + width - 1) / width;
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return height;
}

/// For sh; empty: none is wanted.
std::string pager_command() {
  for (const char* name : {"SCALECALC_PAGER", "PAGER"}) {
    const char* command = std::getenv(name);
    if (command != nullptr) return std::string_view(command) == "cat" ? "" : command;
  }
  return "less -FRX";
}

}  // namespace

bool show_in_pager(const std::string& text) {
  const int rows = terminal_height(STDOUT_FILENO);
  const auto width = static_cast<std::size_t>(terminal_width(STDOUT_FILENO));
  if (rows == 0 || height_of(text, width) < static_cast<std::size_t>(rows)) return false;
  const std::string command = pager_command();
  if (command.find_first_not_of(' ') == std::string::npos) return false;
  const ProcessEnd end = run_in_foreground({"/bin/sh", "-c", command}, text);
  const int code = WIFEXITED(end.status) ? WEXITSTATUS(end.status) : 0;
  return end.found && code != kNotFound && code != kNotStarted;
}

}  // namespace scalecalc::cli
