#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "base/text.hpp"
#include "scalecalc/optimizer_mixture.hpp"
#include "scalecalc/scaling.hpp"
#include "scalecalc/transfer.hpp"
#include "transfer/update_size.hpp"

namespace scalecalc {
namespace {

/// Where the published algorithms add their eps; what is not here has none.
EpsPlace eps_place(const std::string& name) {
  static const std::map<std::string, EpsPlace> places = {{"adam", EpsPlace::gradient},
                                                         {"adamw", EpsPlace::gradient},
                                                         {"rmsprop", EpsPlace::gradient},
                                                         {"adagrad", EpsPlace::gradient},
                                                         {"lamb", EpsPlace::gradient},
                                                         {"adafactor", EpsPlace::squared_entry},
                                                         {"muon", EpsPlace::frobenius},
                                                         {"soap", EpsPlace::frobenius},
                                                         {"shampoo", EpsPlace::squared_frobenius}};
  const auto found = places.find(name);
  return found == places.end() ? EpsPlace::none : found->second;
}

/// Whether it averages gradients, or their squares, with a beta.
bool averages(const std::string& name) {
  static const std::vector<std::string> with_beta = {"adam", "adamw", "rmsprop", "lion",
                                                     "lamb", "muon",  "shampoo", "soap"};
  return std::ranges::find(with_beta, name) != with_beta.end();
}

Expr parse_rule(std::string_view text, const std::string& where) {
  ParseOptions options;
  options.assumptions = {{"fan_in", Assumption::positive}, {"fan_out", Assumption::positive}};
  options.otherwise = Assumption::real;
  options.known_symbols = {"g", "theta", "fan_in", "fan_out"};
  options.where = where;
  return parse(text, options);
}

Expr muon_factor(std::string_view scale, const std::string& where) {
  if (scale == "none") return 1;
  if (scale == "shape") return parse_rule("sqrt(max(1, fan_out/fan_in))", where);
  if (scale == "spectral") return parse_rule("sqrt(fan_out/fan_in)", where);
  if (scale == "match_rms") return parse_rule("0.2*sqrt(max(fan_in, fan_out))", where);
  throw unknown_name("scale", std::string(scale), muon_scale_names(), "--muon-scale");
}

/// "shampoo(1/4,1/4)".
std::optional<TransferRule> read_shampoo(std::string_view text, const std::string& where) {
  constexpr std::string_view start = "shampoo(";
  if (!text.starts_with(start) || !text.ends_with(")")) return {};
  const std::string_view inside = text.substr(start.size(), text.size() - start.size() - 1);
  const std::size_t comma = inside.find(',');
  if (comma == std::string_view::npos)
    throw Error(ErrorKind::input, "shampoo has two powers, of the left and the right side",
                where + " " + std::string(text), "for example \"shampoo(1/4,1/4)\"");
  const auto power = [&](std::string_view of) {
    try {
      return Rational::parse(of);
    } catch (const Error&) {
      throw Error(ErrorKind::input,
                  "'" + base::shortened(std::string(of)) + "' is no power of shampoo",
                  where + " " + base::shortened(std::string(text)),
                  "give two numbers, for example \"shampoo(1/4,1/4)\"");
    }
  };
  if (inside.find(',', comma + 1) != std::string_view::npos)
    throw Error(ErrorKind::input, "shampoo has two powers, of the left and the right side",
                where + " " + base::shortened(std::string(text)),
                "for example \"shampoo(1/4,1/4)\"");
  const Rational left = power(inside.substr(0, comma)), right = power(inside.substr(comma + 1));
  if (left < Rational(0) || right < Rational(0) || Rational(1) < left + right)
    throw Error(ErrorKind::input, "the powers of shampoo are at least 0, and at most 1 together",
                where + " " + std::string(text), "for example \"shampoo(1/4,1/4)\"");
  return TransferRule{
      fmt::format("shampoo({},{})", left.to_string(), right.to_string()),
      Expr::function("shampoo", {Expr::symbol("g", Assumption::real), Expr(left), Expr(right)}),
      EpsPlace::squared_frobenius, true};
}

TransferRule named(const std::string& name, const Expr& update, const Expr& muon) {
  return {name, name == "muon" ? muon * update : update, eps_place(name), averages(name)};
}

/// Whether it begins with a function of rules, which are no optimizers with roles.
bool begins_rule(std::string_view text) {
  const std::size_t open = text.find('(');
  const std::string_view name = text.substr(0, open);
  static const std::vector<std::string_view> functions = {
      "sign", "abs", "sqrt", "norm", "rms", "max", "min", "orthogonal", "global_norm"};
  return open != std::string_view::npos && std::ranges::find(functions, name) != functions.end();
}

/// A rule as it is written.
TransferRule written(std::string_view text, const std::string& where) {
  const Expr update = parse_rule(text, where);
  if (!update.contains("g"))
    throw Error(ErrorKind::input,
                "the update rule " + to_string(update) + " does not depend on the gradient g",
                where, "for example \"sign(g)*norm(theta)\"");
  update_powers(update, where);
  return {to_string(update), update, EpsPlace::none, false};
}

std::string without_spaces(std::string_view text) {
  std::string result;
  for (const char c : text)
    if (c != ' ') result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

}  // namespace

const std::vector<std::string>& muon_scale_names() {
  static const std::vector<std::string> names = {"none", "shape", "spectral", "match_rms"};
  return names;
}

TransferOptimizer transfer_optimizer(std::string_view text, std::string_view muon_scale,
                                     const std::string& where) {
  const Expr muon = muon_factor(muon_scale, where);
  if (auto shampoo = read_shampoo(without_spaces(text), where))
    return {shampoo->name, *shampoo, {}, {}};
  const auto mixture = begins_rule(without_spaces(text)) ? std::optional<OptimizerMixture>()
                                                         : read_mixture(text, where);
  if (!mixture && !is_optimizer_name(text)) {
    TransferRule rule = written(text, where);
    return {rule.name, rule, {}, {}};
  }
  const Optimizer found = optimizer(text, where);
  if (!mixture) return {found.name, named(found.name, found.update, muon), {}, {}};
  const Optimizer first = optimizer(mixture->first, where);
  return {found.name, named(first.name, first.update, muon),
          named(found.rest->name, found.rest->update, muon), found.rest->first_roles};
}

}  // namespace scalecalc
