#include "base/input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/text.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::base {
namespace {

constexpr int kSilenceMilliseconds = 10'000;
constexpr std::size_t kBlock = std::size_t{1} << 16;
/// More than anyone types; some devices never end.
constexpr std::uint64_t kDeviceBytes = std::uint64_t{1} << 24;

InputObserver& observer() {
  static InputObserver set;
  return set;
}

std::string kind_of(const struct stat& about) {
  if (S_ISDIR(about.st_mode)) return "directory";
  if (S_ISFIFO(about.st_mode)) return "pipe";
  if (S_ISSOCK(about.st_mode)) return "socket";
  return "device";
}

}  // namespace

std::string why_not_regular(const struct stat& about, const std::string& what) {
  if (S_ISREG(about.st_mode)) return {};
  return "a " + kind_of(about) + " is not a " + what;
}

void set_input_observer(InputObserver to) {
  observer() = std::move(to);
}

InputFile::InputFile(std::string path, InputKind kind)
    : path_(std::move(path)), kind_(std::move(kind)) {
  if (path_.empty() || path_.find('\0') != std::string::npos) fail("no such " + kind_.what);
  // Opening some devices does something; without O_NONBLOCK a pipe would wait for its writer.
  struct stat about = {};
  const auto refuse_what_is_not_read = [&] {
    const bool is_read = S_ISREG(about.st_mode) ||
                         (kind_.streams && (S_ISFIFO(about.st_mode) || S_ISCHR(about.st_mode)));
    if (!is_read) fail(why_not_regular(about, kind_.what));
  };
  if (::stat(path_.c_str(), &about) == 0) refuse_what_is_not_read();
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor_ < 0) {
    if (errno == ENOENT || errno == ENOTDIR) fail("no such " + kind_.what);
    fail("cannot read the " + kind_.what + ": " + std::strerror(errno));
  }
  try {
    if (::fstat(descriptor_, &about) != 0) fail(std::strerror(errno));
    refuse_what_is_not_read();
    if (S_ISREG(about.st_mode)) size_ = static_cast<std::uint64_t>(about.st_size);
    if (S_ISCHR(about.st_mode) && kind_.most_bytes > kDeviceBytes) {
      kind_.what += " from a device";
      kind_.most_bytes = kDeviceBytes;
    }
    if (size_ > kind_.most_bytes)
      fail(fmt::format("a {} may have at most {} bytes", kind_.what, kind_.most_bytes));
    if (observer()) observer()(path_, about);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

InputFile::~InputFile() {
  ::close(descriptor_);
}

void InputFile::fail(const std::string& why) const {
  throw Error(ErrorKind::input, why, shortened(path_), kind_.hint);
}

void InputFile::wait_for_more() const {
  pollfd wanted = {descriptor_, POLLIN, 0};
  const int ready = ::poll(&wanted, 1, kSilenceMilliseconds);
  if (ready == 0)
    fail(fmt::format("nothing came from the {} within {} seconds", kind_.what,
                     kSilenceMilliseconds / 1000));
}

std::size_t InputFile::read(void* out, std::size_t count) {
  std::size_t done = 0;
  while (done < count) {
    const ssize_t got = ::read(descriptor_, static_cast<char*>(out) + done, count - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      wait_for_more();
      continue;
    }
    if (got < 0) fail("cannot read the " + kind_.what + ": " + std::strerror(errno));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

std::optional<std::string> InputFile::read_line(std::size_t most) {
  std::string text;
  while (text.size() < most) {
    const std::size_t before = text.size();
    text.resize(before + std::min(kBlock, most - before));
    const std::size_t got = read(text.data() + before, text.size() - before);
    text.resize(before + got);
    const std::size_t end = text.find('\n', before);
    if (end != std::string::npos) {
      const auto behind = static_cast<off_t>(text.size() - end - 1);
      if (::lseek(descriptor_, -behind, SEEK_CUR) < 0)
        fail("cannot read the " + kind_.what + ": " + std::strerror(errno));
      text.resize(end);
      return text;
    }
    if (got == 0) break;
  }
  return std::nullopt;
}

std::string InputFile::read_rest() {
  std::string text;
  for (;;) {
    const std::size_t before = text.size();
    // A regular file in one piece; one that has grown since, and a stream, block by block.
    text.resize(before + (before == 0 && size_ > 0 ? size_ + 1 : kBlock));
    const std::size_t got = read(text.data() + before, text.size() - before);
    const bool is_end = before + got < text.size();
    text.resize(before + got);
    if (text.size() > kind_.most_bytes)
      fail(fmt::format("a {} may have at most {} bytes", kind_.what, kind_.most_bytes));
    if (is_end) return text;
  }
}

std::string read_input(const std::string& path, const InputKind& kind) {
  return InputFile(path, kind).read_rest();
}

}  // namespace scalecalc::base
