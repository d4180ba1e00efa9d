#include <algorithm>
#include <cmath>

#include "base/split.hpp"
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

const std::string& to_string(GrowthAxis axis) {
  return growth_axis_names()[static_cast<std::size_t>(axis)];
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

std::vector<GrowthAxis> growth_axes_from(std::string_view names, const std::string& where) {
  std::vector<GrowthAxis> axes;
  for (const std::string& name : base::split(names, ','))
    axes.push_back(growth_axis_from(name, where));
  std::ranges::sort(axes);
  const auto repeated = std::ranges::unique(axes);
  axes.erase(repeated.begin(), repeated.end());
  return axes;
}

template <class Written>
std::string Exponents::product(const char* between, const Written& written) const {
  std::string text;
  for (std::size_t i = 0; i < growth_axes; ++i) {
    if (powers_[i].is_zero()) continue;
    if (!text.empty()) text += between;
    text += ratio_symbol(static_cast<GrowthAxis>(i));
    if (!powers_[i].is_one()) text += "^" + written(powers_[i]);
  }
  return text.empty() ? "1" : text;
}

std::string Exponents::formula() const {
  return product("*", [](const Rational& power) {
    return power.is_integer() ? power.to_string() : "(" + power.to_string() + ")";
  });
}

std::string Exponents::latex() const {
  return product(" ", [](const Rational& power) { return "{" + power.to_string() + "}"; });
}

Exponents operator*(Exponents first, const Exponents& second) {
  for (std::size_t i = 0; i < growth_axes; ++i)
    first.powers_[i] = first.powers_[i] + second.powers_[i];
  return first;
}

Exponents operator/(Exponents first, const Exponents& second) {
  for (std::size_t i = 0; i < growth_axes; ++i)
    first.powers_[i] = first.powers_[i] - second.powers_[i];
  return first;
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
  const std::vector<std::string> parts = base::split(text, ',');
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
