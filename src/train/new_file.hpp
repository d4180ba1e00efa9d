#pragma once

#include <cstddef>
#include <string>

namespace scalecalc::train_room {

/// A file of an experiment's folder that is renamed over the old one once the disk has it. Its
/// temporary name is always the same, so that what a kill has left is used again. Every function
/// but the destructor throws Error(fault) that says `what`, with the system's reason.
class NewFile {
 public:
  NewFile(std::string path, const char* what);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(const void* bytes, std::size_t count);
  void commit();
  /// Where a file of this path is written first.
  static std::string temporary(const std::string& path) { return path + ".tmp"; }

 private:
  [[noreturn]] void fail() const;

  std::string path_;
  const char* what_;
  int descriptor_ = -1;
};

}  // namespace scalecalc::train_room
