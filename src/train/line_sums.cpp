#include "train/line_sums.hpp"

#include <fmt/format.h>

#include <string_view>

#include "train/hash.hpp"

namespace scalecalc::train_room {
namespace {

constexpr std::string_view kKey = ",\"sum\":\"", kEnd = "\"}";
constexpr std::size_t kDigits = 16, kTail = kKey.size() + kDigits + kEnd.size();

bool has_sum(std::string_view line) {
  return line.size() > kTail && line.ends_with(kEnd) &&
         line.substr(line.size() - kTail).starts_with(kKey);
}

std::string with(std::string_view line, std::uint64_t sum) {
  return fmt::format("{}{}{:016x}{}", line.substr(0, line.size() - 1), kKey, sum, kEnd);
}

}  // namespace

std::optional<std::string> LineSums::take(const std::string& line) {
  if (is_first_) has_sums_ = has_sum(line);
  is_first_ = false;
  if (has_sum(line) != has_sums_) return std::nullopt;
  if (!has_sums_) return line;
  const std::string own = line.substr(0, line.size() - kTail) + "}";
  sum_ = hash(own.data(), own.size(), sum_);
  if (with(own, sum_) != line) return std::nullopt;
  return own;
}

std::string LineSums::add(const std::string& line) {
  is_first_ = false;
  if (!has_sums_) return line;
  sum_ = hash(line.data(), line.size(), sum_);
  return with(line, sum_);
}

}  // namespace scalecalc::train_room
