#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/input_file.hpp"

namespace scalecalc::weights {

/// A zip archive whose entries are stored as they are, as torch writes them: no byte of it is
/// inflated, so that no entry is larger than its file.
class ZipArchive {
 public:
  struct Limits {
    static constexpr std::uint64_t directory_bytes = 100'000'000;
    static constexpr std::size_t entries = 1'000'000;
    static constexpr std::size_t name_bytes = 1024;
  };
  struct Entry {
    std::uint64_t begin = 0, size = 0;  ///< bytes of the file
  };

  /// Reads and checks the directory: entries that lie inside the file, one behind the other, stored
  /// and not encrypted, with plain names that occur once. Throws Error(input).
  explicit ZipArchive(const std::string& path);

  const std::string& path() const { return path_; }
  std::uint64_t bytes() const { return size_; }
  const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }
  /// Null: there is none.
  const Entry* find(std::string_view name) const;
  /// Its bytes. Throws Error(input) for more than `most`.
  std::string text(const Entry& entry, std::string_view name, std::uint64_t most) const;
  /// Bytes from `at` on of the file. Throws Error(input) where the file cannot be read any more.
  void read(std::uint64_t at, std::size_t count, void* out) const;

 private:
  struct Directory {
    std::uint64_t begin = 0, size = 0, count = 0;
  };
  Directory find_directory() const;
  void read_directory(const Directory& directory);
  void place(const std::string& name, std::uint64_t header, Entry& entry,
             const Directory& directory) const;
  void check_apart() const;
  [[noreturn]] void fail(const std::string& what) const;

  std::string path_;
  std::unique_ptr<base::InputFile> file_;
  std::uint64_t size_ = 0;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace scalecalc::weights
