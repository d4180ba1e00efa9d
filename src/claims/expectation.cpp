#include "claims/expectation.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "symbolic/canonical.hpp"

namespace scalecalc::claims {
namespace {

using Kind = Expr::Kind;
using Names = std::set<std::string>;

/// Of those that one claim may take in its loops.
constexpr std::int64_t steps_of_expectation = 50;

void collect(const Expr& expr, const Gaussians& gaussians, Names& names) {
  if (expr.kind() == Kind::symbol && gaussians.find(expr.name()) != nullptr)
    names.insert(expr.name());
  for (const Expr& operand : expr.operands()) collect(operand, gaussians, names);
}
Names variables_of(const Expr& expr, const Gaussians& gaussians) {
  Names names;
  collect(expr, gaussians, names);
  return names;
}

std::vector<Expr> factors_of(const Expr& expr) {
  if (expr.kind() == Kind::product) return expr.operands();
  return {expr};
}

/// The first argument inside a function or a power that is a sum over several variables.
std::optional<Expr> inner_combination(const Expr& expr, const Gaussians& gaussians, bool inside) {
  if (inside && expr.kind() == Kind::sum && variables_of(expr, gaussians).size() > 1) return expr;
  const bool enters = expr.kind() == Kind::function || expr.kind() == Kind::power;
  for (const Expr& operand : expr.operands())
    if (auto found = inner_combination(operand, gaussians, inside || enters)) return found;
  return std::nullopt;
}

Expr replace(const Expr& expr, const Expr& what, const Expr& by) {
  if (expr == what) return by;
  if (expr.operands().empty()) return expr;
  std::vector<Expr> operands;
  for (const Expr& operand : expr.operands()) operands.push_back(replace(operand, what, by));
  return symbolic::rebuild(expr, std::move(operands));
}

class Composition {
 public:
  Composition(const Gaussians& gaussians, ExpectationRules& rules)
      : gaussians_(gaussians), rules_(rules) {}

  Expr operator()(const Expr& body) {
    const Names names = variables_of(body, gaussians_);
    if (names.empty()) return body;
    if (names.size() == 1) return one(body, *gaussians_.find(*names.begin()));
    if (auto reduced = combination(body)) return *reduced;
    const Expr expanded = multiplied_out(body);
    if (expanded.kind() == Kind::sum) {
      Expr result = 0;
      for (const Expr& term : expanded.operands()) result = result + product(term);
      return result;
    }
    return product(expanded);
  }

 private:
  static Expr multiplied_out(const Expr& body) {
    try {
      return expand(body);
    } catch (const Error&) {
      throw NotApplicable{"too many terms when it is multiplied out"};
    }
  }

  Expr one(const Expr& f, const Gaussian& x) {
    if (x.variance.is_zero()) return substitute(f, {{x.name, x.mean}});
    return rules_.one(f, x);
  }

  /// phi(u + v): a linear combination of Gaussian variables is one of its own.
  std::optional<Expr> combination(const Expr& body) {
    const std::optional<Expr> inner = inner_combination(body, gaussians_, false);
    if (!inner) return std::nullopt;
    const Names names = variables_of(*inner, gaussians_);
    Gaussian sum{"sum__", *inner, 0, -1};
    std::map<std::string, Expr> means;
    for (const std::string& a : names) {
      const Expr slope = differentiate(*inner, a);
      if (!variables_of(slope, gaussians_).empty()) return std::nullopt;
      means.emplace(a, gaussians_.find(a)->mean);
      for (const std::string& b : names)
        sum.variance =
            sum.variance + slope * differentiate(*inner, b) *
                               gaussians_.covariance(*gaussians_.find(a), *gaussians_.find(b));
    }
    sum.mean = substitute(*inner, means);
    const Expr rest = replace(body, *inner, Expr::symbol(sum.name, Assumption::real));
    if (!variables_of(rest, gaussians_).empty()) return std::nullopt;
    return one(rest, sum);
  }

  /// Independent factors apart.
  Expr product(const Expr& term) {
    Expr coefficient = 1;
    std::vector<std::pair<Names, Expr>> blocks;
    for (const Expr& factor : factors_of(term)) {
      Names names = variables_of(factor, gaussians_);
      if (names.empty()) {
        coefficient = coefficient * factor;
        continue;
      }
      Expr together = factor;
      for (auto block = blocks.begin(); block != blocks.end();) {
        if (!hang_together(names, block->first)) {
          ++block;
          continue;
        }
        names.insert(block->first.begin(), block->first.end());
        together = together * block->second;
        block = blocks.erase(block);
      }
      blocks.emplace_back(std::move(names), together);
    }
    for (const auto& [names, f] : blocks) coefficient = coefficient * block(names, f);
    return coefficient;
  }

  bool hang_together(const Names& left, const Names& right) const {
    for (const std::string& a : left)
      for (const std::string& b : right)
        if (!gaussians_.covariance(*gaussians_.find(a), *gaussians_.find(b)).is_zero()) return true;
    return false;
  }

  Expr block(const Names& names, const Expr& f) {
    if (names.size() == 1) return one(f, *gaussians_.find(*names.begin()));
    if (const auto powers = monomial_of(f))
      if (const auto result = rules_.monomial(*powers, gaussians_)) return *result;
    if (names.size() > 2)
      throw NotApplicable{"an expectation of " + std::to_string(names.size()) +
                          " variables that hang together"};
    const Gaussian &u = *gaussians_.find(*names.begin()), &v = *gaussians_.find(*names.rbegin());
    if (u.group == v.group) {
      const Expr& correlation = gaussians_.correlations[static_cast<std::size_t>(u.group)];
      if (correlation.is_one()) return one(substitute(f, {{v.name, symbol(u)}}), u);
      if (const auto result = separable(f, u, v, correlation)) return *result;
    }
    return rules_.plane(f, gaussians_, u, v);
  }

  static Expr symbol(const Gaussian& x) { return Expr::symbol(x.name, Assumption::real); }

  static std::optional<std::vector<std::pair<std::string, int>>> monomial_of(const Expr& f) {
    std::vector<std::pair<std::string, int>> powers;
    for (const Expr& factor : factors_of(f)) {
      if (factor.kind() == Kind::symbol) {
        powers.emplace_back(factor.name(), 1);
      } else if (factor.kind() == Kind::power && factor.operands()[0].kind() == Kind::symbol &&
                 factor.operands()[1].is_number()) {
        const auto power = factor.operands()[1].number().to_int64();
        if (!power || *power < 1 || *power > 64) return std::nullopt;
        powers.emplace_back(factor.operands()[0].name(), static_cast<int>(*power));
      } else {
        return std::nullopt;
      }
    }
    return powers;
  }

  /// E g(u) h(v) of alike variables: E (g + h)(u) (g + h)(v) is E gg + E hh + 2 E gh.
  std::optional<Expr> separable(const Expr& f, const Gaussian& u, const Gaussian& v,
                                const Expr& correlation) {
    Expr g = 1, h = 1;
    for (const Expr& factor : factors_of(f)) {
      const Names names = variables_of(factor, gaussians_);
      if (names.size() != 1) return std::nullopt;
      if (*names.begin() == u.name)
        g = g * factor;
      else
        h = h * substitute(factor, {{v.name, symbol(u)}});
    }
    if (g == h) return rules_.pair(g, u, correlation);
    return (rules_.pair(g + h, u, correlation) - rules_.pair(g, u, correlation) -
            rules_.pair(h, u, correlation)) /
           Expr(2);
  }

  const Gaussians& gaussians_;
  ExpectationRules& rules_;
};

}  // namespace

Expr compose_expectation(const Expr& body, const Gaussians& gaussians, ExpectationRules& rules) {
  return Composition(gaussians, rules)(body);
}

Expr expectation_of(const Expr& body, const Gaussians& gaussians, Engine& engine) {
  if (engine.is_symbolic()) return compose_expectation(body, gaussians, *exact_rules());
  engine.spend(steps_of_expectation);
  if (engine.samples()) return sampled_expectation(body, gaussians, engine);
  return compose_expectation(body, gaussians, *quadrature_rules(engine));
}

namespace {

/// Each monomial below the first is met many times over.
class Isserlis {
 public:
  Isserlis(std::vector<const Gaussian*> variables, const Gaussians& gaussians)
      : variables_(std::move(variables)), gaussians_(gaussians) {}

  Expr operator()(const std::vector<int>& powers) {
    const auto first =
        std::find_if(powers.begin(), powers.end(), [](int power) { return power > 0; });
    if (first == powers.end()) return 1;
    const auto known = found_.find(powers);
    if (known != found_.end()) return known->second;
    const Gaussian& x = *variables_[static_cast<std::size_t>(first - powers.begin())];
    std::vector<int> rest = powers;
    --rest[static_cast<std::size_t>(first - powers.begin())];
    // E x f = E x E f + sum over y of Cov(x, y) E df/dy.
    Expr result = x.mean.is_zero() ? Expr(0) : x.mean * (*this)(rest);
    for (std::size_t k = 0; k < rest.size(); ++k) {
      const Expr covariance = gaussians_.covariance(x, *variables_[k]);
      if (rest[k] == 0 || covariance.is_zero()) continue;
      std::vector<int> derived = rest;
      --derived[k];
      result = result + Expr(rest[k]) * covariance * (*this)(derived);
    }
    return found_[powers] = expand(result);
  }

 private:
  std::vector<const Gaussian*> variables_;
  const Gaussians& gaussians_;
  std::map<std::vector<int>, Expr> found_;
};

}  // namespace

Expr isserlis(const std::vector<std::pair<std::string, int>>& powers, const Gaussians& gaussians) {
  constexpr double most_monomials = 4096;
  std::vector<const Gaussian*> variables;
  std::vector<int> exponents;
  double monomials = 1;
  for (const auto& [name, power] : powers) {
    variables.push_back(gaussians.find(name));
    exponents.push_back(power);
    monomials *= power + 1;
  }
  if (monomials > most_monomials) throw NotApplicable{"a monomial of too high a degree"};
  return Isserlis(std::move(variables), gaussians)(exponents);
}

}  // namespace scalecalc::claims
