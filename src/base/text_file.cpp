#include "base/text_file.hpp"

#include <fmt/format.h>

#include "base/input_file.hpp"
#include "base/text.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::base {
namespace {

constexpr std::size_t max_bytes = std::size_t{1} << 20;

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
  return read_input(path, {what, "give the path of a " + what + " (TOML)", max_bytes, true});
}

}  // namespace scalecalc::base
