#include "base/text_file.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <system_error>

#include "base/input_file.hpp"
#include "base/text.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::base {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_bytes = std::size_t{1} << 20;

Error too_large(const std::string& name, const std::string& what) {
  return {ErrorKind::input, fmt::format("a {} may have at most {} bytes", what, max_bytes),
          shortened(name), "a " + what + " is a few lines of TOML"};
}

}  // namespace

void check_text(std::string_view text, const std::string& name, const std::string& what) {
  if (text.size() > max_bytes) throw too_large(name, what);
  if (is_pickled(text)) throw pickled_file(shortened(name));
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

bool is_pickled(std::string_view begin) {
  constexpr char newest_protocol = 5;
  const bool is_pickle =
      begin.size() > 1 && begin[0] == '\x80' && begin[1] > 0 && begin[1] <= newest_protocol;
  return is_pickle || begin.starts_with("PK\x03\x04");
}

Error pickled_file(const std::string& name) {
  return {ErrorKind::input, "what torch.save writes is pickled, and nothing is unpickled",
          shortened(name),
          "save the tensors as safetensors, safetensors.torch.save_file(model.state_dict(), "
          "\"model.safetensors\")"};
}

std::string read_text_file(const std::string& path, const std::string& what) {
  for (const char* ending : {".bin", ".pt", ".pth", ".ckpt"})
    if (std::error_code code; path.ends_with(ending) && fs::is_regular_file(path, code)) {
      char begin[4] = {};
      InputFile file(path, {what, "give the path of a " + what + " (TOML)", UINT64_MAX, true});
      if (is_pickled({begin, file.read(begin, sizeof begin)})) throw pickled_file(path);
    }
  return read_input(path, {what, "give the path of a " + what + " (TOML)", max_bytes, true});
}

}  // namespace scalecalc::base
