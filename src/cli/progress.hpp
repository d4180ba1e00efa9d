#pragma once

#include <chrono>
#include <string>

namespace scalecalc::cli {

/// A progress bar on the terminal behind stderr: drawn at most ten times a second, gone at the end.
class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(double done, const std::string& what);

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_, drawn_;
};

/// Ctrl-C, SIGTERM, SIGHUP (unless it is ignored, as under nohup) and the end of the CPU time that
/// is allowed take the bar and the temporary files away and end the program with 128 + the signal's
/// number.
void install_interrupt_handler();
/// From now on the first of these signals is only remembered, for was_interrupted(); the second
/// ends the program.
void defer_interrupt();
bool was_interrupted();
/// What the program then returns: 130 after Ctrl-C.
int interrupted_code();

}  // namespace scalecalc::cli
