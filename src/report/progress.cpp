#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/text.hpp"

namespace scalecalc::report {
namespace {

std::string duration(double seconds) {
  constexpr double kMost = 3.6e8;
  seconds = seconds < kMost ? std::max(seconds, 0.0) : kMost;  // also for a NaN
  const long long whole = std::llround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string bar(double done, int cells) {
  const int filled = static_cast<int>(done * cells);
  if (filled >= cells) return std::string(cells, '=');
  const std::string arrow = filled > 0 ? std::string(filled - 1, '=') + ">" : "";
  return arrow + std::string(cells - static_cast<int>(arrow.size()), ' ');
}

}  // namespace

std::string progress_line(double done, double seconds_so_far, std::string_view what, int width) {
  if (std::isnan(done)) {
    const std::string line = duration(seconds_so_far) + "  " + single_line(what);
    return std::string(cut_to_width(line, width));
  }
  done = std::clamp(done, 0.0, 1.0);
  std::string line = fmt::format("[{}] {:3d}%", bar(done, std::clamp(width / 4, 5, 30)),
                                 static_cast<int>(100 * done));
  constexpr double kEnoughToGuess = 0.01;
  if (done >= kEnoughToGuess && done < 1) {
    line += "  " + duration(seconds_so_far * (1 - done) / done) + " left";
  }
  if (!what.empty()) line += "  " + single_line(what);
  return std::string(cut_to_width(line, width));
}

}  // namespace scalecalc::report
