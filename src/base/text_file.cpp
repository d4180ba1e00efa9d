#include "base/text_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/text.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::base {
namespace {

constexpr std::size_t max_bytes = std::size_t{1} << 20;

Error unreadable(const std::string& path, const std::string& why, const std::string& what) {
  return {ErrorKind::input, why, shortened(path), "give the path of a " + what + " (TOML)"};
}

Error too_large(const std::string& name, const std::string& what) {
  return {ErrorKind::input, fmt::format("a {} may have at most {} bytes", what, max_bytes),
          shortened(name), "a " + what + " is a few lines of TOML"};
}

}  // namespace

void check_text(std::string_view text, const std::string& name, const std::string& what) {
  if (text.size() > max_bytes) throw too_large(name, what);
  std::size_t line = 1, column = 1;
  for (std::size_t at = 0; at < text.size(); ++column) {
    const Character next = character_at(text, at);
    if (!next.valid)
      throw Error(ErrorKind::input, "a " + what + " must be UTF-8 text",
                  fmt::format("{}:{}:{}", shortened(name), line, column), "save it as UTF-8");
    if (text[at] == '\n') {
      ++line;
      column = 0;
    }
    at += next.bytes;
  }
}

std::string read_text_file(const std::string& path, const std::string& what) {
  std::error_code code;
  const std::filesystem::file_status status = std::filesystem::status(path, code);
  if (path.find('\0') != std::string::npos ||
      status.type() == std::filesystem::file_type::not_found)
    throw unreadable(path, "no such " + what, what);
  if (std::filesystem::is_directory(status))
    throw unreadable(path, "a directory is not a " + what, what);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw unreadable(path, "cannot read the " + what + ": " + std::strerror(errno), what);
  std::string text(max_bytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) throw unreadable(path, "cannot read the " + what, what);
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > max_bytes) throw too_large(path, what);
  return text;
}

}  // namespace scalecalc::base
