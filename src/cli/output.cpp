#include "cli/output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "network/output_file.hpp"
#include "scalecalc/error.hpp"
#include "symbolic/text.hpp"

namespace scalecalc::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kStdout[] = "-";

/// A path, and the option that names it.
struct Target {
  const std::string& path;
  const std::string& option;
};

[[noreturn]] void fail(const Target& to, const std::string& reason) {
  const bool to_stdout = to.path == kStdout;
  throw Error(ErrorKind::fault, "cannot write the results",
              (to_stdout ? "standard output" : to.option + " " + symbolic::shortened(to.path)) +
                  ": " + reason,
              to_stdout ? "check what standard output is connected to"
                        : "give " + to.option + " a path in an existing, writable folder");
}
[[noreturn]] void fail(const Target& to) {
  fail(to, std::strerror(errno));
}

/// A file descriptor that is closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }
  /// Some file systems tell of a failed write only here.
  bool close() { return ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

void write_in_place(const Target& to, std::string_view text) {
  Descriptor file(::open(to.path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (file.number() < 0 || !write_all(file.number(), text.data(), text.size()) || !file.close())
    fail(to);
}

/// Beside the target, so that the rename stays within one file system.
void write_and_rename(const std::string& path, mode_t mode, const Target& to,
                      std::string_view text) {
  const std::string temporary = path + "." + std::to_string(::getpid()) + ".tmp";
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (file.number() < 0) fail(to);
  if (!write_all(file.number(), text.data(), text.size()) || !file.close() ||
      ::rename(temporary.c_str(), path.c_str()) != 0) {
    const std::string reason = std::strerror(errno);
    ::unlink(temporary.c_str());
    fail(to, reason);
  }
}

/// A link keeps pointing to what it names: the named file is replaced, not the link.
std::string target_of(const std::string& path) {
  std::error_code ignored;
  const fs::path target = fs::weakly_canonical(fs::absolute(path, ignored), ignored);
  return target.empty() ? path : target.string();
}

bool folder_is_writable(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  struct stat about = {};
  if (::stat(folder.c_str(), &about) != 0) return false;
  if (!S_ISDIR(about.st_mode)) {
    errno = ENOTDIR;
    return false;
  }
  return ::access(folder.c_str(), W_OK) == 0;
}

}  // namespace

Output::Output(std::string path, std::string option)
    : path_(std::move(path)), option_(std::move(option)) {
  if (is_stdout()) return;
  const Target to{path_, option_};
  struct stat about = {};
  if (::stat(path_.c_str(), &about) == 0) {
    if (S_ISDIR(about.st_mode)) fail(to, std::strerror(EISDIR));
    if (::access(path_.c_str(), W_OK) != 0) fail(to);
  } else if (!folder_is_writable(path_)) {
    fail(to);
  }
}

bool Output::is_stdout() const {
  return path_ == kStdout;
}

void Output::write(std::string_view text) const {
  if (is_stdout()) {
    if (!write_all(STDOUT_FILENO, text.data(), text.size())) fail({path_, option_});
    return;
  }
  struct stat about = {};
  const bool exists = ::stat(path_.c_str(), &about) == 0;
  if (exists && (!S_ISREG(about.st_mode) || !folder_is_writable(path_))) {
    write_in_place({path_, option_}, text);
    return;
  }
  write_and_rename(target_of(path_), exists ? about.st_mode & 0777 : 0666, {path_, option_}, text);
}

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return fs::equivalent(a, b, ignored) || target_of(a) == target_of(b);
}

}  // namespace scalecalc::cli
