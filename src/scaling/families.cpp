#include <algorithm>

#include "scalecalc/scaling.hpp"

namespace scalecalc {
namespace {

Optimizer define(std::string name, std::string_view rule, std::string note = {}) {
  ParseOptions options;
  options.otherwise = Assumption::real;
  options.known_symbols = {"g", "theta"};
  options.where = name;
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
           define("nesterov", "g", "1 + mu times sgd's first step, then 1/(1 - mu)")}),
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
                    "sgd while its global clip is active, else plain sgd")}),
  };
}

const Rational half(1, 2);

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
  for (const Family& family : families()) {
    if (std::any_of(family.optimizers.begin(), family.optimizers.end(),
                    [&](const Optimizer& member) { return member.name == name; }))
      return family;
  }
  throw unknown_name("optimizer", name, family_names(), where);
}

const Optimizer& optimizer(std::string_view name, const std::string& where) {
  const Family& home = family(name, where);
  return *std::find_if(home.optimizers.begin(), home.optimizers.end(),
                       [&](const Optimizer& member) { return member.name == name; });
}

// <g, dtheta> of one matrix scales as g^a theta^b S^e, S = (sum over matrices of g^2)^(1/2) the
// global norm where the rule has one. For n equal matrices the sum is
// n g^a theta^b (n g^2)^(e/2) = [n g^p theta^s]^o with o = 1 + e/2, p = (a + e)/o, s = b/o.
StepLaw step_law(const Expr& update) {
  const Expr change = Expr::symbol("g", Assumption::real) * global_as_symbol(update);
  const auto in_gradient = homogeneity(change, "g");
  const auto in_parameter = homogeneity(change, "theta");
  const auto in_global = homogeneity(change, "global");
  if (!in_gradient || !in_parameter || !in_global)
    throw Error(ErrorKind::input, "the update rule " + to_string(update) + " is not homogeneous",
                "optimizer", "use products of g, theta, sign, norm, rms, orthogonal, global_norm");
  StepLaw law;
  law.outer_power = Rational(1) + *in_global * half;
  if (law.outer_power.is_zero())
    throw Error(
        ErrorKind::input,
        "the update rule " + to_string(update) + " does not depend on the number of matrices",
        "optimizer", "then no depth scaling is needed");
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
