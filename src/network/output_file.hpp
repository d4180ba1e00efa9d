#pragma once

#include <cstddef>
#include <string>

namespace scalecalc {

/// Writes all bytes, however many calls it takes. False, with errno set, when the system refuses.
bool write_all(int descriptor, const void* bytes, std::size_t count);

/// A file that is written piece by piece and appears complete, by commit(), or not at all. What is
/// no plain file ("/dev/null") is written in place. All but the destructor throw Error(fault) with
/// the system's reason.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const void* bytes, std::size_t count);
  void commit();

 private:
  [[noreturn]] void fail() const;

  std::string path_;       ///< as it was given
  std::string target_;     ///< what it names, through links
  std::string temporary_;  ///< empty when there is none
  int descriptor_ = -1;
};

}  // namespace scalecalc
