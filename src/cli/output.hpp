#pragma once

#include <string>
#include <string_view>

namespace scalecalc::cli {

/// Where results go: stdout, or a file that appears complete or not at all.
class Output {
 public:
  Output() = default;
  /// Throws Error(fault), naming the option, at once when nothing could be written there; "-" is
  /// stdout.
  explicit Output(std::string path, std::string option = "-o");

  bool is_stdout() const;
  /// Throws Error(fault) with the system's reason.
  void write(std::string_view text) const;

 private:
  [[noreturn]] void fail(const std::string& reason) const;

  std::string path_ = "-", option_ = "-o";
};

/// Whether two paths name one file, there or still to be made, through links and "./".
bool is_same_file(const std::string& a, const std::string& b);

}  // namespace scalecalc::cli
