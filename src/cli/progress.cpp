#include "cli/progress.hpp"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "base/file_writer.hpp"
#include "cli/standard_input.hpp"
#include "cli/terminal.hpp"
#include "scalecalc/report.hpp"

namespace scalecalc::cli {
namespace {

constexpr char kClearLine[] = "\r\033[K";
constexpr int kSignalled = 128;
constexpr std::chrono::milliseconds kInterval(200);

volatile sig_atomic_t bar_shown = 0;

void clear_bar() {
  if (bar_shown == 0) return;
  bar_shown = 0;
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kClearLine, sizeof kClearLine - 1);
}

volatile sig_atomic_t deferred = 0, interrupted = 0;

extern "C" void on_interrupt(int signal) {
  if (deferred != 0 && interrupted == 0) {
    interrupted = signal;
    return;
  }
  clear_bar();
  base::remove_temporary_files();
  ::_exit(kSignalled + signal);
}

}  // namespace

ProgressBar::ProgressBar(std::string what)
    : what_(std::move(what)), thread_([this](std::stop_token stop) { draw_on(std::move(stop)); }) {}

ProgressBar::~ProgressBar() {
  thread_.request_stop();
  thread_.join();
  clear_bar();
}

void ProgressBar::start() {
  const std::lock_guard lock(mutex_);
  start_ = Clock::now();
  done_ = 0;
}

void ProgressBar::update(double done, const std::string& what) {
  const std::lock_guard lock(mutex_);
  done_ = done;
  what_ = what;
}

void ProgressBar::write(const std::string& line) {
  const std::lock_guard lock(mutex_);
  clear_bar();
  std::fputs(line.c_str(), stderr);
}

void ProgressBar::draw_on(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  const auto never = [] { return false; };
  while (!stop.stop_requested()) {
    draw();
    ended_.wait_for(lock, stop, kInterval, never);
  }
}

void ProgressBar::draw() {
  const Clock::time_point now = Clock::now();
  if (is_reading_standard_input()) {
    start_ = now;
    silent_until_ = now + kSilence;
  }
  if (now < silent_until_) return;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  // One column stays free: a full line would wrap on some terminals.
  const int width = terminal_width(STDERR_FILENO) - 1;
  const std::string line = kClearLine + report::progress_line(done_, seconds, what_, width);
  bar_shown = 1;
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

void install_interrupt_handler() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGXCPU}) {
    struct sigaction action = {};
    // nohup goes on without its terminal.
    if (signal == SIGHUP && ::sigaction(signal, nullptr, &action) == 0 &&
        action.sa_handler == SIG_IGN) {
      continue;
    }
    action = {};
    action.sa_handler = on_interrupt;
    ::sigaction(signal, &action, nullptr);
  }
}

void defer_interrupt() {
  deferred = 1;
}
bool was_interrupted() {
  return interrupted != 0;
}
int interrupted_code() {
  return kSignalled + interrupted;
}

}  // namespace scalecalc::cli
