#include <cmath>

#include "base/text.hpp"
#include "scalecalc/transfer.hpp"
#include "transfer/update_size.hpp"

namespace scalecalc {
namespace {

Rational read_alignment(std::string_view text, std::string_view whole, const std::string& where) {
  const auto refuse = [&](const std::string& why) {
    return Error(ErrorKind::input, "an alignment is full, none or three rationals of 0..1; " + why,
                 where + " " + base::shortened(std::string(whole)),
                 "for example --alignment 1,1/2,1");
  };
  Rational value;
  try {
    value = Rational::parse(text);
  } catch (const Error&) {
    throw refuse("'" + base::shortened(std::string(text)) + "' is no number");
  }
  if (value < Rational(0) || Rational(1) < value)
    throw refuse(value.to_string() + " is outside of them");
  return value;
}

}  // namespace

const std::vector<std::string>& growth_axis_names() {
  static const std::vector<std::string> names = {"width",  "depth", "batch",
                                                 "tokens", "heads", "experts"};
  return names;
}

const std::string& ratio_symbol(GrowthAxis axis) {
  static const std::vector<std::string> symbols = {"r_n", "r_L", "r_B", "r_D", "r_H", "r_E"};
  return symbols[static_cast<std::size_t>(axis)];
}

GrowthAxis growth_axis_from(std::string_view name, const std::string& where) {
  const std::vector<std::string>& names = growth_axis_names();
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<GrowthAxis>(i);
  throw unknown_name("axis", std::string(name), names, where);
}

std::string Exponents::formula() const {
  std::string text;
  for (std::size_t i = 0; i < growth_axes; ++i) {
    if (powers_[i].is_zero()) continue;
    if (!text.empty()) text += "*";
    text += ratio_symbol(static_cast<GrowthAxis>(i));
    if (powers_[i].is_one()) continue;
    const std::string power = powers_[i].to_string();
    text += powers_[i].is_integer() ? "^" + power : "^(" + power + ")";
  }
  return text.empty() ? "1" : text;
}

std::string Exponents::latex() const {
  std::string text;
  for (std::size_t i = 0; i < growth_axes; ++i) {
    if (powers_[i].is_zero()) continue;
    if (!text.empty()) text += " ";
    text += ratio_symbol(static_cast<GrowthAxis>(i));
    if (!powers_[i].is_one()) text += "^{" + powers_[i].to_string() + "}";
  }
  return text.empty() ? "1" : text;
}

double Exponents::at(const std::array<double, growth_axes>& ratios) const {
  double product = 1.0;
  for (std::size_t i = 0; i < growth_axes; ++i)
    product *= std::pow(ratios[i], powers_[i].to_double());
  return product;
}

Alignment alignment_from(std::string_view text, const std::string& where) {
  if (text == "full") return {};
  if (text == "none") return {half, half, half};
  std::vector<std::string_view> parts;
  std::string_view rest = text;
  for (std::size_t comma = rest.find(','); comma != std::string_view::npos;
       comma = rest.find(',')) {
    parts.push_back(rest.substr(0, comma));
    rest.remove_prefix(comma + 1);
  }
  parts.push_back(rest);
  if (parts.size() != 3)
    throw Error(ErrorKind::input, "an alignment is full, none or three rationals of 0..1",
                where + " " + base::shortened(std::string(text)),
                "for example --alignment 1,1/2,1");
  return {read_alignment(parts[0], text, where), read_alignment(parts[1], text, where),
          read_alignment(parts[2], text, where)};
}

std::string to_string(const Alignment& alignment) {
  const auto is = [&](const Alignment& other) {
    return alignment.alpha == other.alpha && alignment.omega == other.omega &&
           alignment.u == other.u;
  };
  if (is({})) return "full";
  if (is({half, half, half})) return "none";
  return alignment.alpha.to_string() + "," + alignment.omega.to_string() + "," +
         alignment.u.to_string();
}

}  // namespace scalecalc
