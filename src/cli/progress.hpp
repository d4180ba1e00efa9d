#pragma once

#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <string>
#include <thread>

namespace scalecalc::cli {

/// A line on the terminal behind stderr from the second second on, drawn five times in each, not
/// while somebody types, gone at the end: how much is done and what is left, or, of work that does
/// not say, how long it lasts.
class ProgressBar {
 public:
  explicit ProgressBar(std::string what);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// From here on the share that is done is known, and counts from now.
  void start();
  void update(double done, const std::string& what);
  /// A line that stays, where the bar is.
  void write(const std::string& line);

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kSilence{1000};  ///< from the start, or a typed line
  void draw_on(std::stop_token stop);
  void draw();

  std::mutex mutex_;
  std::condition_variable_any ended_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point silent_until_ = start_ + kSilence;
  std::string what_;
  double done_ = std::numeric_limits<double>::quiet_NaN();  ///< not known
  std::jthread thread_;                                     ///< last: it reads the others
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
