#include "train/new_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "network/document.hpp"
#include "network/output_file.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::train_room {

NewFile::NewFile(std::string path, const char* what) : path_(std::move(path)), what_(what) {
  descriptor_ = ::open(temporary(path_).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail();
}

NewFile::~NewFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary(path_).c_str());
}

void NewFile::write(const void* bytes, std::size_t count) {
  if (!write_all(descriptor_, bytes, count)) fail();
}

void NewFile::commit() {
  if (::fsync(descriptor_) != 0) fail();
  if (::close(std::exchange(descriptor_, -1)) != 0) fail();
  if (::rename(temporary(path_).c_str(), path_.c_str()) != 0) fail();
  const std::string folder = std::filesystem::path(path_).parent_path().string();
  const int of_folder = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC);
  if (of_folder < 0) fail();
  const bool synced = ::fsync(of_folder) == 0;
  ::close(of_folder);
  if (!synced) fail();
}

void NewFile::fail() const {
  throw Error(ErrorKind::fault, what_, shown(path_) + ": " + std::strerror(errno),
              "give -o a folder that can be written to and has enough space");
}

}  // namespace scalecalc::train_room
