#include "fuzz/fuzz.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "base/file_writer.hpp"
#include "base/text.hpp"

namespace scalecalc::fuzz {
namespace {

/// Made once, and gone when the process ends by itself.
class Folder {
 public:
  Folder() {
    const std::filesystem::path memory = "/dev/shm";
    std::error_code code;
    const auto parent = std::filesystem::is_directory(memory, code)
                            ? memory
                            : std::filesystem::temp_directory_path();
    std::string name = (parent / "scalecalc-fuzz-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) failed("no folder for files", name);
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path;
};

}  // namespace

void failed(const char* what, std::string_view details) {
  std::fprintf(stderr, "fuzz: %s: %.*s\n", what, static_cast<int>(details.size()), details.data());
  ::abort();
}

void hold_message(const Error& error) {
  const std::string message = error.what();
  hold(error.kind() != ErrorKind::fault, "an input is called a fault of the system", message);
  hold(!message.empty() && base::printable(message) == message,
       "a message is not one line of printable text", message);
}

const std::string& folder() {
  static const Folder made;
  return made.path;
}

std::string file_of(std::string_view bytes, const std::string& name) {
  std::string path = folder() + "/" + name;
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  hold(descriptor >= 0 && base::write_all(descriptor, bytes.data(), bytes.size()),
       "a file could not be written", path);
  ::close(descriptor);
  return path;
}

Halves halves(std::string_view input, char separator) {
  const std::size_t at = input.find(separator);
  if (at == std::string_view::npos) return {input, {}};
  return {input.substr(0, at), input.substr(at + 1)};
}

}  // namespace scalecalc::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  scalecalc::fuzz::one({reinterpret_cast<const char*>(data), size});
  return 0;
}
