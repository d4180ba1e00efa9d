#include <algorithm>
#include <cmath>
#include <limits>

#include "claims/library.hpp"
#include "scalecalc/gains.hpp"

namespace scalecalc::claims {
namespace {

/// A registered activation with its parameters, or a quoted expression in x.
Activation activation_of(Arguments& arguments, const std::vector<std::string>& own) {
  const std::string name = arguments.text("activation");
  const std::vector<std::string> known = activation_names();
  const std::vector<std::string> given = arguments.others(own);
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    if (!given.empty()) throw unknown_name("argument", given.front(), own, "");
    return Activation::from_expression(name);
  }
  std::map<std::string, Rational> parameters;
  for (const std::string& key : given) parameters[key] = arguments.rational(key);
  return Activation::named(name, parameters);
}

Expr found(Engine& engine, const std::optional<Estimate>& estimate, const std::string& what) {
  if (!estimate) throw Error(ErrorKind::input, what + " does not exist here");
  return engine.leaf(*estimate);
}

const std::vector<std::string>& gain_keys() {
  static const std::vector<std::string> all = {"activation", "variance", "mean"};
  return all;
}

/// 1/sqrt of a moment's closed form.
Expr exact_gain(const Activation& phi, const std::string& member, const Expr& mean,
                const Expr& variance) {
  const InputMean input = mean.is_zero() ? InputMean::zero : InputMean::symbol;
  const auto moment = [&](Moment which) {
    const ClosedForm form = closed_form(phi, which, input);
    if (!form.formula) throw NotApplicable{"no closed form: " + form.why_not};
    return substitute(*form.formula, {{"q", variance}, {"mu", mean}});
  };
  if (member == "second") return pow(moment(Moment::second), Expr(Rational(-1, 2)));
  if (member == "backward") return pow(moment(Moment::slope_second), Expr(Rational(-1, 2)));
  if (member != "variance") throw NotApplicable{"gain(...)." + member + " is found by numbers"};
  return pow(moment(Moment::second) - pow(moment(Moment::mean), Expr(2)), Expr(Rational(-1, 2)));
}

Expr gain(Arguments& arguments, const std::string& member) {
  Engine& engine = arguments.engine();
  const Activation phi = activation_of(arguments, gain_keys());
  const Expr mean = arguments.expr_or("mean", 0), variance = arguments.expr_or("variance", 1);
  if (engine.is_symbolic()) return exact_gain(phi, member, mean, variance);
  const Gains all = gains(phi, {engine.value(mean), engine.value(variance), {}});
  const std::vector<std::pair<std::string, std::optional<Estimate>>> members = {
      {"second", all.second},         {"variance", all.variance}, {"backward", all.backward},
      {"activation", all.activation}, {"q_slope", all.q_slope},   {"compromise", all.compromise}};
  for (const auto& [name, value] : members)
    if (name == member) return found(engine, value, "gain." + name);
  throw Error(ErrorKind::input, "there is no gain of this kind");
}

Expr framework(Arguments& arguments, const std::string&) {
  const std::string wanted = arguments.text("framework");
  const std::string name = arguments.text("activation");
  std::vector<std::string> known;
  for (const FrameworkGain& shipped : framework_gains(activation(name).name)) {
    if (shipped.framework == wanted) {
      const auto formula =
          parse_failure(shipped.formula) ? std::nullopt : std::optional(parse(shipped.formula));
      if (formula) return arguments.in_scope(*formula);
      return Expr(Rational::exactly(shipped.value));
    }
    known.push_back(shipped.framework);
  }
  throw unknown_name("framework", wanted, known, "");
}

using Members = std::vector<std::pair<std::string, std::optional<Estimate>>>;

Estimate of_root(const Root& root) {
  return {root.value, std::abs(root.value) * 4e-15, Method::quadrature};
}
Estimate of_number(double value) {
  return {value, std::abs(value) * 1e-11, Method::quadrature};
}

Members self_normalizing(Arguments& arguments) {
  const auto solutions =
      solve_self_normalizing(arguments.text_or("family", "selu"), arguments.number_or("low", 0.01),
                             arguments.number_or("high", 100));
  const SelfNormalizing& first = solutions.front();
  return {{"lambda", of_root(first.lambda)},
          {"alpha", of_root(first.alpha)},
          {"slope_second", of_number(first.slope_second)},
          {"q_slope", of_number(first.q_slope)}};
}

const std::vector<std::string>& solve_keys() {
  static const std::vector<std::string> all = {"problem",         "activation",   "variance",
                                               "family",          "low",          "high",
                                               "weight_variance", "bias_variance"};
  return all;
}

Members tuned_members(Arguments& arguments) {
  const Tuned found =
      tuned(activation_of(arguments, solve_keys()), arguments.number_or("variance", 1));
  return {{"scale", found.scale},
          {"shift", found.shift},
          {"centred_scale", found.centred_scale},
          {"slope_before", found.slope_before},
          {"slope_after", found.slope_after},
          {"centred_slope_after", found.centred_slope_after}};
}

Members of_critical(const Critical& found) {
  return {{"weight_variance", of_root(found.weight_variance)},
          {"bias_variance", of_number(found.bias_variance)},
          {"q_star", of_number(found.q_star)},
          {"q_slope", of_number(found.q_slope)}};
}
Members critical_members(Arguments& arguments) {
  return of_critical(
      solve_critical(activation_of(arguments, solve_keys()), arguments.number("bias_variance")));
}
Members critical_pair_members(Arguments& arguments) {
  return of_critical(solve_critical_pair(activation_of(arguments, solve_keys())));
}

Members fixed_point_members(Arguments& arguments) {
  const FixedPoint first = solve_fixed_points(activation_of(arguments, solve_keys()),
                                              arguments.number("weight_variance"),
                                              arguments.number_or("bias_variance", 0))
                               .front();
  Members members = {{"q_star", of_root(first.q_star)},
                     {"chi", of_number(first.chi)},
                     {"q_slope", of_number(first.q_slope)},
                     {"activation_second", of_number(first.activation_second)},
                     {"q_depth_scale", of_number(first.q_depth_scale)},
                     {"c_depth_scale", of_number(first.c_depth_scale)}};
  if (first.c_star) members.emplace_back("c_star", of_root(*first.c_star));
  return members;
}

Members truncated_members(Arguments& arguments) {
  const TruncatedNormal found = truncated_normal(arguments.number("low"), arguments.number("high"));
  const double std = std::sqrt(found.variance.value);
  return {{"mean", found.mean},
          {"variance", found.variance},
          {"ratio", found.ratio},
          {"correction", found.correction},
          {"std", Estimate{std, found.variance.error / (2 * std), Method::quadrature}}};
}

Expr solve_problem(Arguments& arguments, const std::string& member) {
  static const std::vector<std::pair<std::string, Members (*)(Arguments&)>> problems = {
      {"self-normalizing", self_normalizing}, {"tuned", tuned_members},
      {"critical", critical_members},         {"critical-pair", critical_pair_members},
      {"fixed-point", fixed_point_members},   {"truncated-normal", truncated_members}};
  Engine& engine = arguments.engine();
  std::string wanted = arguments.text("problem");
  std::replace(wanted.begin(), wanted.end(), '_', '-');
  std::vector<std::string> names;
  for (const auto& [name, solve] : problems) {
    names.push_back(name);
    if (name != wanted) continue;
    if (engine.is_symbolic()) throw NotApplicable{"solve(...) is found by numbers"};
    Members members;
    try {
      members = solve(arguments);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::unsolvable && member == "exists") return 0;
      throw;
    }
    if (member == "exists") return 1;
    std::vector<std::string> known;
    for (const auto& [key, value] : members) {
      if (key == member || member == "value") return found(engine, value, key);
      known.push_back(key);
    }
    throw unknown_name("member of solve(" + name + ")", member, known, "");
  }
  throw unknown_name("problem", wanted, names, "");
}

}  // namespace

std::vector<LibraryFunction> gain_functions() {
  return {{"gain",
           gain_keys(),
           {"second", "variance", "backward", "activation", "compromise", "q_slope"},
           true,
           false,
           true,
           gain},
          {"framework", {"framework", "activation"}, {"value"}, false, false, false, framework},
          {"solve",
           solve_keys(),
           {"value",
            "exists",
            "lambda",
            "alpha",
            "slope_second",
            "q_slope",
            "scale",
            "shift",
            "centred_scale",
            "slope_before",
            "slope_after",
            "centred_slope_after",
            "weight_variance",
            "bias_variance",
            "q_star",
            "c_star",
            "chi",
            "activation_second",
            "q_depth_scale",
            "c_depth_scale",
            "mean",
            "variance",
            "ratio",
            "correction",
            "std"},
           true,
           false,
           true,
           solve_problem}};
}

}  // namespace scalecalc::claims
