#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/file_writer.hpp"
#include "base/input_file.hpp"
#include "base/text.hpp"
#include "train/files.hpp"

namespace scalecalc::train_room {
namespace {

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw Error(ErrorKind::fault, what, base::shortened(path) + ": " + std::strerror(errno),
              "give -o a folder that can be written to and has enough space");
}

std::string read_all(int descriptor, const std::string& path) {
  std::string text;
  std::array<char, 65536> block;
  for (;;) {
    const ssize_t got = ::read(descriptor, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path, "cannot read the log");
    if (got == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

Log::Log(std::string path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
  if (descriptor_ < 0) fail(path_, "cannot open the log");
  try {
    struct stat about = {};
    if (::fstat(descriptor_, &about) != 0) fail(path_, "cannot read the log");
    std::string why = base::why_not_regular(about, "log");
    if (static_cast<std::uint64_t>(about.st_size) > kMostLogBytes) {
      why = "a log may have at most " + std::to_string(kMostLogBytes) + " bytes";
    }
    if (!why.empty()) {
      throw Error(ErrorKind::input, why, base::shortened(path_),
                  "remove it, or give -o another folder");
    }
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      throw Error(ErrorKind::usage, "another process is at this run", base::shortened(path_),
                  "wait for it, or give -o another folder");
    }
    const std::string text = read_all(descriptor_, path_);
    const std::size_t whole = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
    if (whole < text.size() && ::ftruncate(descriptor_, static_cast<off_t>(whole)) != 0) {
      fail(path_, "cannot write the log");
    }
    for (std::size_t at = 0; at < whole;) {
      const std::size_t end = text.find('\n', at);
      std::optional<std::string> line = sums_.take(text.substr(at, end - at));
      if (!line) damaged(lines_.size(), kDamaged);
      lines_.push_back(std::move(*line));
      at = end + 1;
    }
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

Log::~Log() {
  ::close(descriptor_);
}

void Log::append(const std::string& line) {
  const std::string text = sums_.add(line) + "\n";
  if (!base::write_all(descriptor_, text.data(), text.size())) fail(path_, "cannot write the log");
  if (::fdatasync(descriptor_) != 0) fail(path_, "cannot write the log");
}

void Log::damaged(std::size_t line, const std::string& why) const {
  throw Error(ErrorKind::input, why, base::shortened(path_) + ":" + std::to_string(line + 1),
              "remove this file and its checkpoint to train the run again, or give -o another "
              "folder");
}

void make_folder(const std::string& path) {
  std::error_code failure;
  std::filesystem::create_directories(path, failure);
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) {
    errno = failure ? failure.value() : ENOTDIR;
    fail(path, "cannot make the folder");
  }
}

}  // namespace scalecalc::train_room
