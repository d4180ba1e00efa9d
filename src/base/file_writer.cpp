#include "base/file_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/text.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::base {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // as Linux follows

std::string folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

/// One temporary file, for remove_temporary_files(): nodes are used again and never freed, so that
/// a signal handler can walk them at any moment.
struct Unfinished {
  std::atomic<bool> taken = false, is_named = false;
  char path[PATH_MAX] = {};
  Unfinished* next = nullptr;
};
std::atomic<Unfinished*> unfinished_files = nullptr;
static_assert(std::atomic<Unfinished*>::is_always_lock_free);

Unfinished* free_node() {
  for (Unfinished* at = unfinished_files; at != nullptr; at = at->next) {
    if (!at->taken.exchange(true)) return at;
  }
  auto* node = new Unfinished;
  node->taken = true;
  node->next = unfinished_files;
  while (!unfinished_files.compare_exchange_weak(node->next, node)) {
  }
  return node;
}

Unfinished* note_unfinished(const std::string& path) {
  if (path.size() >= PATH_MAX) return nullptr;
  Unfinished* node = free_node();
  std::memcpy(node->path, path.c_str(), path.size() + 1);
  node->is_named = true;
  return node;
}

void forget(Unfinished* node) {
  if (node == nullptr) return;
  node->is_named = false;
  node->taken = false;
}

/// Of the file that is replaced. A program that may not give a file away does not give its rights
/// (set-user-ID) to another owner.
void keep_owner_and_mode(int descriptor, const struct stat& about) {
  mode_t mode = about.st_mode & 07777;
  if (::fchown(descriptor, about.st_uid, about.st_gid) != 0) {
    mode &= 0777;
    [[maybe_unused]] const int group = ::fchown(descriptor, static_cast<uid_t>(-1), about.st_gid);
  }
  ::fchmod(descriptor, mode);
}

}  // namespace

void remove_temporary_files() noexcept {
  for (Unfinished* at = unfinished_files; at != nullptr; at = at->next) {
    if (at->is_named) ::unlink(at->path);
  }
}

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

std::string resolved_path(const std::string& path) {
  std::error_code ignored;
  fs::path named = fs::absolute(path, ignored);
  // What a link names need not be there.
  for (int links = 0; links < kMostLinks && fs::is_symlink(named, ignored); ++links)
    named = named.parent_path() / fs::read_symlink(named, ignored);
  const fs::path target = fs::weakly_canonical(named, ignored);
  return target.empty() ? path : target.string();
}

bool folder_is_writable(const std::string& path) {
  const std::string folder = folder_of(path);
  struct stat about = {};
  if (::stat(folder.c_str(), &about) != 0) return false;
  if (!S_ISDIR(about.st_mode)) {
    errno = ENOTDIR;
    return false;
  }
  return ::access(folder.c_str(), W_OK) == 0;
}

void fail_to_write(const std::string& path, const WriteMessages& messages,
                   const std::string& reason) {
  throw Error(ErrorKind::fault, messages.what, messages.named + shortened(path) + ": " + reason,
              messages.hint);
}

FileWriter::FileWriter(std::string path, WriteMessages messages, Durability durability)
    : path_(std::move(path)), messages_(std::move(messages)), durability_(durability) {
  errno = ENOENT;
  if (path_.empty() || path_.find('\0') != std::string::npos) fail();
  struct stat about = {};
  const bool exists = ::stat(path_.c_str(), &about) == 0;
  if (!exists && errno != ENOENT) fail();
  target_ = resolved_path(path_);
  if (exists && (!S_ISREG(about.st_mode) || !folder_is_writable(target_))) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  } else {
    open_temporary(exists ? &about : nullptr);
  }
  if (descriptor_ < 0) fail();
}

void FileWriter::open_temporary(const struct stat* replaced) {
  const bool on_disk = durability_ == Durability::on_disk;
  const std::string temporary =
      on_disk ? temporary_name(target_) : target_ + "." + std::to_string(::getpid()) + ".tmp";
  unfinished_ = note_unfinished(temporary);
  descriptor_ =
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | (on_disk ? O_TRUNC : O_EXCL) | O_CLOEXEC,
             replaced != nullptr ? replaced->st_mode & 0777 : 0666);
  if (descriptor_ < 0) {
    const int why = errno;
    forget(static_cast<Unfinished*>(std::exchange(unfinished_, nullptr)));
    errno = why;
    return;
  }
  temporary_ = temporary;
  if (replaced != nullptr) keep_owner_and_mode(descriptor_, *replaced);
}

FileWriter::~FileWriter() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  forget(static_cast<Unfinished*>(unfinished_));
}

void FileWriter::write(const void* bytes, std::size_t count) {
  if (!write_all(descriptor_, bytes, count)) fail();
}

void FileWriter::commit() {
  const bool on_disk = durability_ == Durability::on_disk && !temporary_.empty();
  if (on_disk && ::fsync(descriptor_) != 0) fail();
  // Some file systems tell of a failed write only here.
  if (::close(std::exchange(descriptor_, -1)) != 0) fail();
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail();
  temporary_.clear();
  forget(static_cast<Unfinished*>(std::exchange(unfinished_, nullptr)));
  if (on_disk) sync_folder();
}

void FileWriter::sync_folder() const {
  const int folder = ::open(folder_of(target_).c_str(), O_RDONLY | O_CLOEXEC);
  if (folder < 0) fail();
  const bool synced = ::fsync(folder) == 0;
  ::close(folder);
  if (!synced) fail();
}

void FileWriter::fail() const {
  fail_to_write(path_, messages_, std::strerror(errno));
}

void write_file(const std::string& path, std::string_view text, const WriteMessages& messages) {
  FileWriter file(path, messages);
  file.write(text);
  file.commit();
}

}  // namespace scalecalc::base
