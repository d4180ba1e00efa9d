#include "network/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "network/document.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc {

bool write_all(int descriptor, const void* bytes, std::size_t count) {
  const auto* at = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t written = ::write(descriptor, at, count);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    at += written;
    count -= static_cast<std::size_t>(written);
  }
  return true;
}

/// The temporary file lies beside the target, so that the rename stays within one file system. The
/// mode of a file that is replaced is kept.
OutputFile::OutputFile(const std::string& path) : path_(path) {
  errno = ENOENT;
  if (path.empty() || path.find('\0') != std::string::npos) fail();
  struct stat about = {};
  const bool exists = ::stat(path.c_str(), &about) == 0;
  if (exists && !S_ISREG(about.st_mode)) {
    descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    std::error_code ignored;
    const std::filesystem::path target = std::filesystem::weakly_canonical(path, ignored);
    target_ = target.empty() ? path : target.string();
    const std::string temporary = target_ + "." + std::to_string(::getpid()) + ".tmp";
    descriptor_ = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                         exists ? about.st_mode & 0777 : 0666);
    if (descriptor_ >= 0) temporary_ = temporary;
  }
  if (descriptor_ < 0) fail();
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::write(const void* bytes, std::size_t count) {
  if (!write_all(descriptor_, bytes, count)) fail();
}

void OutputFile::commit() {
  // Some file systems tell of a failed write only here.
  if (::close(std::exchange(descriptor_, -1)) != 0) fail();
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail();
  temporary_.clear();
}

void OutputFile::fail() const {
  throw Error(ErrorKind::fault, "cannot write the file", shown(path_) + ": " + std::strerror(errno),
              "give a path in an existing, writable folder with enough space");
}

}  // namespace scalecalc
