#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "claims/language.hpp"
#include "scalecalc/symbolic.hpp"

/// What the names of a claim mean.
namespace scalecalc::claims {

/// Words that stand for no number here, in any spelling of small and large letters (nan, inf,
/// infinity, undefined, none, null, true, false): as names they would be free symbols unnoticed.
bool is_reserved(const std::string& name);

/// One Gaussian variable. Those of one group have alike means and variances, and every two of them
/// the group's correlation.
struct Gaussian {
  std::string name;
  Expr mean, variance;
  int group = 0;
};
struct Gaussians {
  std::vector<Gaussian> variables;
  std::vector<Expr> correlations;  ///< by group
  const Gaussian* find(const std::string& name) const;
  Expr covariance(const Gaussian& a, const Gaussian& b) const;
};

/// What a symbol may be; numbers that stand for it are taken from there.
struct Domain {
  enum class Kind { positive, real, integer, interval };
  Kind kind = Kind::positive;
  Expr low = 0, high = 1;  ///< of an interval, open
  Expr symbol(const std::string& name) const;
  bool contains(const Rational& value) const;
};

/// A declaration of `let`, as it is written.
struct Declaration {
  enum class Kind { gaussian, domain, value };
  Kind kind = Kind::gaussian;
  std::vector<std::string> names;
  std::vector<Node> parameters;  ///< of normal(...): mean, variance, correlation
  std::optional<Node> count;     ///< of normal(...)[count]: names[1], names[2], ...
  Domain domain;
  Node value;  ///< of a formula that the name stands for
  Place place;
};
/// "normal(0, q)", "normal(0, q, c)", "normal(0, 1)[d]", "real", "integer", "in (-1, 1)", or a
/// formula. Throws PlacedError.
Declaration read_declaration(const std::string& names, const std::string& text, const Place& place);

/// A symbol that needs a number before numbers can be found.
struct Unbound {
  std::string name;
  Domain domain;
};

struct Scope {
  std::map<std::string, Expr> values;  ///< of `for`, of `let`, of loops
  std::map<std::string, Domain> domains;
  Gaussians gaussians;
  bool in_expectation = false;
};

class Engine;
/// Names get their meaning in the order of `let`; without a z there, z is normal(0, 1). Throws
/// PlacedError, NotApplicable.
Scope open_scope(const std::vector<Declaration>& let, const std::map<std::string, Expr>& values,
                 Engine& engine);

}  // namespace scalecalc::claims
