#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace scalecalc::cli {

/// Where results go: stdout, or a file that appears complete or not at all.
class Output {
 public:
  Output() = default;
  /// Throws at once, naming the option: Error(fault) when nothing could be written there,
  /// Error(usage) for a file that is an input or another option's output. "-" is stdout.
  explicit Output(std::string path, std::string option = "-o");

  bool is_stdout() const;
  /// Throws Error(fault) with the system's reason; a pipe that nobody reads any more is none.
  void write(std::string_view text) const;

 private:
  [[noreturn]] void fail(const std::string& reason) const;

  std::string path_ = "-", option_ = "-o";
};

/// From now on this process knows every file that it reads: a file that is an input and an output,
/// or two outputs, by its device and inode or by the path still to be made, is refused with
/// Error(usage) before anything is written, whichever of the two is named first.
void watch_inputs();
/// What it knows so far is of an earlier command.
void forget_files();
/// For a command that fills the folder of -o itself: throws Error(usage) where it is another
/// option's output, and where a file in it whose name ends so was read as an input.
void check_folder(const std::string& folder, const std::vector<std::string>& endings);

}  // namespace scalecalc::cli
