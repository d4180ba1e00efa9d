#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>

#include "graphs/parts.hpp"
#include "scalecalc/activation.hpp"

namespace scalecalc::graphs {
namespace {

constexpr std::array points = {-4.7, -3.1, -1.3, -0.62, -0.11, 0.17, 0.74, 1.9, 3.3, 5.2};
/// Constants of code, sqrt(2/pi) in six digits or in float, against those of the registry.
constexpr double nearly = 2e-6;

bool is_same(const Function& function, const Activation& known) {
  for (const double x : points) {
    const double due = known.value(x);
    if (!(std::fabs(function.value(x) - due) <= nearly * (1 + std::fabs(due)))) return false;
  }
  return true;
}

}  // namespace

Function scaled(double factor) {
  return {"", fmt::format("{}*x", factor), [factor](double x) { return factor * x; }, factor};
}

Function shifted(double by) {
  return {"", fmt::format("x + {}", by), [by](double x) { return x + by; }, {}};
}

Function composed(const Function& outer, const Function& inner) {
  if (outer.factor && inner.factor) {
    Function both = scaled(*outer.factor * *inner.factor);
    if (*both.factor == 1) both = Function();
    return both;
  }
  Function both;
  for (std::size_t i = 0; i < outer.text.size(); ++i) {
    const auto is_name = [&](std::size_t at) {
      const char c = at < outer.text.size() ? outer.text[at] : ' ';
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    if (i == 0) both.text.clear();
    const bool is_x = outer.text[i] == 'x' && (i == 0 || !is_name(i - 1)) && !is_name(i + 1);
    both.text +=
        is_x ? (inner.text == "x" ? "x" : "(" + inner.text + ")") : std::string(1, outer.text[i]);
  }
  both.value = [outer, inner](double x) { return outer.value(inner.value(x)); };
  both.factor.reset();
  return both;
}

std::string activation_of(const Function& function) {
  if (!function.name.empty()) return function.name;
  static std::map<std::string, std::string> found;  // by text
  const auto [place, is_new] = found.emplace(function.text, function.text);
  if (!is_new) return place->second;
  for (const char* name : {"gelu_tanh", "gelu", "silu", "quick_gelu", "relu_squared", "relu",
                           "tanh", "sigmoid", "mish", "hard_swish"})
    if (is_same(function, Activation::named(name))) return place->second = name;
  return place->second;
}

}  // namespace scalecalc::graphs
