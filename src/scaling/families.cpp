#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "scalecalc/optimizer_mixture.hpp"
#include "scalecalc/scaling.hpp"

namespace scalecalc {
namespace {

Optimizer define(std::string name, std::string_view rule, std::string note = {},
                 const std::string& where = "optimizer") {
  ParseOptions options;
  options.otherwise = Assumption::real;
  options.known_symbols = {"g", "theta"};
  options.where = where;
  return {std::move(name), parse(rule, options), std::move(note)};
}

Family group(std::string title, std::vector<Optimizer> optimizers) {
  Family family;
  family.name = optimizers.front().name;
  family.title = std::move(title);
  family.update = optimizers.front().update;
  for (std::size_t i = 1; i < optimizers.size(); ++i) family.aliases.push_back(optimizers[i].name);
  family.optimizers = std::move(optimizers);
  return family;
}

// The steps at the first update, momenta and averages starting at zero with their usual bias
// corrections; the notes say by which factor, free of depth, later steps differ.
std::vector<Family> make_families() {
  return {
      group(
          "the gradient itself",
          {define("sgd", "g"), define("momentum", "g", "grows to 1/(1 - mu) times the first step"),
           define("nesterov", "g", "1 + mu times the gradient at first, then 1/(1 - mu) times")}),
      group("the sign of the gradient",
            {define("adam", "sign(g)"), define("adamw", "sign(g)", "weight decay is apart"),
             define("rmsprop", "sign(g)", "first step 1/sqrt(1 - rho) times larger, falling to 1"),
             define("adagrad", "sign(g)", "falls as 1/sqrt(step)"), define("lion", "sign(g)"),
             define("signsgd", "sign(g)")}),
      group("a step relative to the parameter",
            {define("lamb", "rms(theta)*sign(g)"), define("lars", "norm(theta)*g/norm(g)"),
             define("adafactor", "rms(theta)*sign(g)", "rms(theta) has a floor of 1e-3")}),
      group(
          "the orthogonal factor of the gradient",
          {define("muon", "orthogonal(g)"),
           define("shampoo", "orthogonal(g)", "first step; later an average of gradients"),
           define("soap", "orthogonal(g)", "first step: signs in the gradient's singular basis")}),
      group("the gradient over the norm of all gradients",
            {define("ngd", "g/global_norm(g)",
                    "while the clip of that norm is active, else the gradient itself")}),
  };
}

const Rational half(1, 2);

Optimizer written_rule(std::string_view text, const std::string& where) {
  Optimizer rule = define(std::string(text), text, {}, where);
  if (!rule.update.contains("g"))
    throw Error(ErrorKind::input,
                "the update rule " + to_string(rule.update) + " does not depend on the gradient g",
                where, "for example \"sign(g)*norm(theta)\"");
  step_law(rule.update, where);
  return rule;
}

const Family* find_family(std::string_view name) {
  for (const Family& family : families())
    if (std::any_of(family.optimizers.begin(), family.optimizers.end(),
                    [&](const Optimizer& member) { return member.name == name; }))
      return &family;
  return nullptr;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return std::tolower(c); });
  return result;
}

/// The first name of a mixture.
std::string leading(const Optimizer& optimizer) {
  const auto mixture = read_mixture(optimizer.name, "optimizer");
  return mixture ? mixture->first : optimizer.name;
}

Optimizer mixed(OptimizerMixture mixture, const std::string& where) {
  Optimizer first = optimizer(mixture.first, where);
  const Optimizer second = optimizer(mixture.second, where);
  mixture.first = first.name;
  mixture.second = second.name;
  first.name = to_string(mixture);
  first.rest = {second.name, second.update, std::move(mixture.roles)};
  return first;
}

const Family* family_with(const StepLaw& law) {
  for (const Family& family : families())
    if (step_law(family.update) == law) return &family;
  return nullptr;
}

Expr global_as_symbol(const Expr& expr) {
  if (expr.kind() == Expr::Kind::function && expr.name() == "global_norm")
    return Expr::symbol("global");
  if (expr.operands().empty()) return expr;
  std::vector<Expr> parts;
  for (const Expr& operand : expr.operands()) parts.push_back(global_as_symbol(operand));
  switch (expr.kind()) {
    case Expr::Kind::sum: {
      Expr total = 0;
      for (const Expr& part : parts) total = total + part;
      return total;
    }
    case Expr::Kind::product: {
      Expr total = 1;
      for (const Expr& part : parts) total = total * part;
      return total;
    }
    case Expr::Kind::power: return pow(parts[0], parts[1]);
    default: return Expr::function(expr.name(), parts);
  }
}

}  // namespace

bool operator==(const StepLaw& a, const StepLaw& b) {
  return a.gradient_power == b.gradient_power && a.parameter_power == b.parameter_power &&
         a.outer_power == b.outer_power;
}

const std::vector<Family>& families() {
  static const std::vector<Family> all = make_families();
  return all;
}

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const Family& family : families())
    for (const Optimizer& member : family.optimizers) names.push_back(member.name);
  return names;
}

const Family& family(std::string_view name, const std::string& where) {
  if (const Family* found = find_family(name)) return *found;
  throw unknown_name("optimizer", name, family_names(), where);
}

Optimizer optimizer(std::string_view text, const std::string& where) {
  if (auto mixture = read_mixture(text, where)) return mixed(std::move(*mixture), where);
  const std::string name = lower(text);
  if (!find_family(name) && !is_optimizer_name(text)) return written_rule(text, where);
  const Family& home = family(name, where);
  return *std::find_if(home.optimizers.begin(), home.optimizers.end(),
                       [&](const Optimizer& member) { return member.name == name; });
}

std::string optimizer_title(const Optimizer& optimizer) {
  if (const Family* home = find_family(leading(optimizer))) {
    if (!optimizer.rest) return home->title;
    std::string of_first;
    for (const std::string& role : optimizer.rest->first_roles)
      of_first += (of_first.empty() ? "" : ", ") + role;
    return fmt::format("{} ({}), {} (all else)", home->title,
                       of_first.empty() ? "hidden matrices" : of_first,
                       find_family(optimizer.rest->name)->title);
  }
  const Family* same = family_with(step_law(optimizer.update));
  return same ? "a rule with the powers of " + same->name : "a rule with powers of its own";
}

std::string family_name(const Optimizer& optimizer) {
  const Family* home = find_family(leading(optimizer));
  if (!home) home = family_with(step_law(optimizer.update));
  return home ? home->name : "rule";
}

// <g, dtheta> of one matrix scales as g^a theta^b S^e, S = (sum over matrices of g^2)^(1/2) the
// global norm where the rule has one. For n equal matrices the sum is
// n g^a theta^b (n g^2)^(e/2) = [n g^p theta^s]^o with o = 1 + e/2, p = (a + e)/o, s = b/o.
StepLaw step_law(const Expr& update, const std::string& where) {
  const Expr change = Expr::symbol("g", Assumption::real) * global_as_symbol(update);
  const auto in_gradient = homogeneity(change, "g");
  const auto in_parameter = homogeneity(change, "theta");
  const auto in_global = homogeneity(change, "global");
  if (!in_gradient || !in_parameter || !in_global)
    throw Error(ErrorKind::input,
                "the update rule " + to_string(update) +
                    " is not homogeneous: scaling g and theta does not scale it by a power",
                where, "use products of g, theta, sign, norm, rms, orthogonal, global_norm");
  StepLaw law;
  law.outer_power = Rational(1) + *in_global * half;
  if (law.outer_power.is_zero())
    throw Error(
        ErrorKind::input,
        "the update rule " + to_string(update) + " does not depend on the number of matrices",
        where, "then no depth scaling is needed");
  law.gradient_power = (*in_gradient + *in_global) / law.outer_power;
  law.parameter_power = *in_parameter / law.outer_power;
  return law;
}

Expr step_size(const Expr& update, const Expr& gradient, const Expr& parameter,
               const Expr& matrices) {
  const auto recurse = [&](const Expr& part) {
    return step_size(part, gradient, parameter, matrices);
  };
  switch (update.kind()) {
    case Expr::Kind::symbol: return update.name() == "g" ? gradient : parameter;
    case Expr::Kind::product: {
      Expr total = 1;
      for (const Expr& factor : update.operands()) total = total * recurse(factor);
      return total;
    }
    case Expr::Kind::power: return pow(recurse(update.operands()[0]), update.operands()[1]);
    case Expr::Kind::function:
      if (update.name() == "sign" || update.name() == "orthogonal") return 1;
      if (update.name() == "global_norm") return sqrt(matrices) * recurse(update.operands()[0]);
      return recurse(update.operands()[0]);
    default: return update;
  }
}

}  // namespace scalecalc
