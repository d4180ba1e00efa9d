#include "moments/activation_chain.hpp"

#include <map>
#include <mutex>
#include <tuple>

#include "moments/gaussian_function.hpp"
#include "scalecalc/activation.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/symbolic.hpp"

namespace scalecalc::moments {
namespace {

/// By so little left of a kink at 0, where relu and selu have the slope that passes take.
Expr just_below() {
  return pow(Expr(2), Expr(-1000));
}

enum class Part { value, slope, product };

std::optional<std::string> made(const std::string& outer, const std::string& inner, Part part) {
  const Activation second = activation_of(outer), first = activation_of(inner);
  try {
    Expr at = first.expression();
    if (part != Part::value && (second.name() == "relu" || second.name() == "selu"))
      at = at - just_below();
    const Expr of = part == Part::value   ? second.expression()
                    : part == Part::slope ? second.derivative()
                                          : second.expression() * second.derivative();
    const std::string text = to_string(substitute(of, {{"x", at}}));
    Activation::from_expression(text);
    return text;
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Composing and its analysis take milliseconds: once for each pair of functions.
std::optional<std::string> known(const std::string& outer, const std::string& inner, Part part) {
  using Key = std::tuple<std::string, std::string, Part>;
  static std::mutex guard;
  static std::map<Key, std::optional<std::string>> all;
  const std::lock_guard lock(guard);
  const Key key{outer, inner, part};
  auto found = all.find(key);
  if (found == all.end()) found = all.emplace(key, made(outer, inner, part)).first;
  return found->second;
}

}  // namespace

std::optional<std::string> composed(const std::string& outer, const std::string& inner) {
  return known(outer, inner, Part::value);
}

std::optional<std::string> composed_slope(const std::string& outer, const std::string& inner) {
  return known(outer, inner, Part::slope);
}

std::optional<std::string> composed_product(const std::string& outer, const std::string& inner) {
  return known(outer, inner, Part::product);
}

}  // namespace scalecalc::moments
