#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace scalecalc::base {

/// Writes all bytes, however many calls it takes. False, with errno set, when the system refuses.
bool write_all(int descriptor, const void* bytes, std::size_t count);

/// Where a file of this path is written: through links, absolute.
std::string resolved_path(const std::string& path);

/// What the error of a write that fails says: "WHAT (NAMED PATH: REASON); HINT".
struct WriteMessages {
  std::string what = "cannot write the file";
  std::string named;  ///< before the path, as "-o "; may be empty
  std::string hint = "give a path in an existing, writable folder with enough space";
};

enum class Durability {
  /// Renamed once it is written. The temporary name holds the process' number, so that two
  /// processes do not meet in it.
  visible,
  /// The disk has the file, then its folder, before commit() returns. The temporary name is
  /// temporary_name(), always the same, so that what a killed process has left is used again.
  on_disk,
};

/// A file that is written piece by piece and appears complete, by commit(), or not at all: into a
/// temporary file beside the target (one file system), which is then renamed. The mode of a file
/// that is replaced is kept, its owner where the system allows it, and a link goes on naming what
/// it named. What is no plain file
/// ("/dev/null"), and a file in a folder that cannot be written to, is written in place.
/// All but the destructor throw Error(fault) with the system's reason.
class FileWriter {
 public:
  explicit FileWriter(std::string path, WriteMessages messages = {},
                      Durability durability = Durability::visible);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  void write(const void* bytes, std::size_t count);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit();

  /// Where a file that is to be on disk is written first.
  static std::string temporary_name(const std::string& path) { return path + ".tmp"; }

 private:
  [[noreturn]] void fail() const;
  void sync_folder() const;
  void open_temporary(const struct stat* replaced);

  std::string path_;       ///< as it was given
  std::string target_;     ///< what it names, through links
  std::string temporary_;  ///< empty when there is none
  WriteMessages messages_;
  Durability durability_;
  int descriptor_ = -1;
  void* unfinished_ = nullptr;  ///< its entry for remove_temporary_files()
};

/// Removes the temporary files of all FileWriters of this process, for a handler of signals that
/// ends the process: it may be called at any moment, and in a handler.
void remove_temporary_files() noexcept;

/// Throws as FileWriter does.
void write_file(const std::string& path, std::string_view text, const WriteMessages& messages = {});

/// Throws the Error of a write to `path` that failed for `reason`.
[[noreturn]] void fail_to_write(const std::string& path, const WriteMessages& messages,
                                const std::string& reason);

/// Whether files can be made in the folder of `path`; errno says why not.
bool folder_is_writable(const std::string& path);

}  // namespace scalecalc::base
