#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace scalecalc::base {

/// What is read, for messages and limits.
struct InputKind {
  std::string what;  ///< "model file"
  std::string hint;  ///< "give the path of a model file (TOML)"
  std::uint64_t most_bytes = UINT64_MAX;
  /// Pipes and devices are read too, as the shell's <(...) and /dev/stdin are. Else only regular
  /// files are, through links.
  bool streams = false;
};

/// The one place where files are opened for reading, so that nothing which is named as an input can
/// stop the program: opening waits for no writer, a stream that stays silent for ten seconds is
/// given up, and no more than the limit is read, of a device (some never end) at most 16 MiB.
class InputFile {
 public:
  /// Throws Error(input): no such file, a directory, a file that may not be read, one that is not
  /// regular, a regular file above the limit.
  InputFile(std::string path, InputKind kind);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_; }
  /// In bytes; 0 for a stream.
  std::uint64_t size() const { return size_; }
  /// The next `count` bytes, fewer only at the end. Throws Error(input).
  std::size_t read(void* out, std::size_t count);
  /// Of a regular file: up to the end of the line, which is left out; nothing where `most` bytes
  /// have none. What follows is read next. Throws Error(input).
  std::optional<std::string> read_line(std::size_t most);
  /// All that is left. Throws Error(input), also above the limit.
  std::string read_rest();

 private:
  [[noreturn]] void fail(const std::string& why) const;
  void wait_for_more() const;

  std::string path_;
  InputKind kind_;
  std::uint64_t size_ = 0;
  int descriptor_ = -1;
};

/// All of a file.
std::string read_input(const std::string& path, const InputKind& kind);

/// "a directory is not a WHAT" and the like; empty for a regular file.
std::string why_not_regular(const struct stat& about, const std::string& what);

/// Called for each file that InputFile opens, before it is read; it may throw. For a program that
/// must not overwrite what it reads. Set it while there is one thread.
using InputObserver = std::function<void(const std::string& path, const struct stat& about)>;
void set_input_observer(InputObserver observer);

}  // namespace scalecalc::base
