#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "scalecalc/report.hpp"

namespace scalecalc::report {
namespace {

/// Significant digits without trailing zeros, and the power of ten of the first.
struct Decimal {
  std::string digits;
  int exponent = 0;
};

Decimal decimal(double magnitude, int digits) {
  const std::string text = fmt::format("{:.{}e}", magnitude, digits - 1);
  const std::size_t mark = text.find('e');
  Decimal result{text.substr(0, mark), std::atoi(text.c_str() + mark + 1)};
  std::erase(result.digits, '.');
  result.digits.erase(result.digits.find_last_not_of('0') + 1);
  return result;
}

std::string positional(const Decimal& d) {
  const int count = static_cast<int>(d.digits.size());
  if (d.exponent < 0) return "0." + std::string(-d.exponent - 1, '0') + d.digits;
  if (count <= d.exponent + 1) return d.digits + std::string(d.exponent + 1 - count, '0');
  return d.digits.substr(0, d.exponent + 1) + "." + d.digits.substr(d.exponent + 1);
}

std::string scientific(const Decimal& d) {
  std::string mantissa = d.digits;
  if (mantissa.size() > 1) mantissa.insert(1, 1, '.');
  return fmt::format("{}e{}", mantissa, d.exponent);
}

}  // namespace

std::string format_number(double value, int digits) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (value == 0) return "0";
  const Decimal d = decimal(std::abs(value), std::clamp(digits, 1, 17));
  const bool plain = d.exponent >= -5 && d.exponent < 7;
  const std::string magnitude = plain ? positional(d) : scientific(d);
  return value < 0 ? fmt::format("-{}", magnitude) : magnitude;
}

std::string shortest(double value) {
  return fmt::format("{}", value);
}

}  // namespace scalecalc::report
