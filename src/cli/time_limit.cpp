#include "cli/time_limit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/options.hpp"

namespace scalecalc::cli {
namespace {

using base::Deadline;

bool is_found(const TimedPart& part, Deadline::Clock::time_point end, const std::string& reason) {
  const Deadline deadline(end, reason);
  try {
    part.find();
    return true;
  } catch (const base::DeadlinePassed&) {
    return false;
  }
}

}  // namespace

void TimeLimit::add_to(CLI::App* app, const std::string& help) {
  const Options add{app, "Work"};
  add.text("--time-limit", text_, "SECONDS", help);
}

void TimeLimit::begin() {
  start_ = Deadline::Clock::now();
  if (text_.empty()) return;
  const double seconds = parse_number("--time-limit", text_, 0.001, 1e6, "60");
  end_ = start_ + std::chrono::duration_cast<Deadline::Clock::duration>(
                      std::chrono::duration<double>(seconds));
  last_end_ = end_;
  reason_ = fmt::format("not found in the time limit of {:g} s", seconds);
}

void TimeLimit::leave_an_eighth() {
  last_end_ = std::max(end_, Deadline::Clock::now() + (end_ - start_) / 8);
}

std::string TimeLimit::note() const {
  const double seconds = std::chrono::duration<double>(end_ - start_).count();
  return fmt::format("the time limit of {:g} s was reached; --time-limit {:g} allows more", seconds,
                     10 * seconds);
}

bool find_in_time(const TimeLimit& limit, const std::vector<TimedPart>& parts) {
  const auto first_end = limit.end() - (limit.end() - limit.start()) / 4;
  std::vector<TimedPart> left;
  for (const TimedPart& part : parts)
    if (!is_found(part, first_end, limit.reason())) left.push_back(part);
  bool all = true;
  for (std::size_t k = 0; k < left.size(); ++k) {
    const auto now = Deadline::Clock::now();
    const auto share = (limit.end() - now) / static_cast<std::int64_t>(left.size() - k);
    if (is_found(left[k], now + share, limit.reason())) continue;
    left[k].miss(limit.reason());
    all = false;
  }
  return all;
}

}  // namespace scalecalc::cli
