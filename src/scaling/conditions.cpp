#include <cmath>

#include "scaling/derivation.hpp"

namespace scalecalc {
namespace {

Condition compare(std::string name, std::string statement, Scaled quantity, double bound,
                  bool at_most) {
  Condition condition{std::move(name), std::move(statement), std::move(quantity), bound, at_most};
  // Equality counts: the bounds are orders of magnitude, and formulas meet them exactly.
  const double slack = 1e-12 * std::fabs(bound);
  condition.holds = at_most ? condition.quantity.value <= bound + slack
                            : condition.quantity.value >= bound - slack;
  return condition;
}

}  // namespace

// A branch that is homogeneous and He-matched has a second moment of lambda^4 times its input's;
// the chain rule through the identity path holds while all branches together add at most about as
// much as the stream carries.
std::vector<Condition> conditions(const Setup& setup, const ScalingSolution& solution,
                                  std::int64_t) {
  const Scaled& weight = solution.branch_weight;
  const Scaled single{weight.formula * weight.formula, weight.value * weight.value};
  std::vector<Condition> list;
  if (closes_by_growth(setup.block)) {
    // The first branch sees the stream before it grows: (m_n)^(kappa - 1) is its squared gradient,
    // whatever lambda.
    list.push_back(compare("kappa", "squared gradients grow no faster than the stream (kappa)",
                           {setup.moments.kappa, setup.moments.kappa.to_double()}, 1.0, true));
    return list;
  }
  list.push_back(
      compare("branch_small", "one branch is small against the stream", single, 0.5, true));
  list.push_back(compare("branch_sum_small", "all branches together do not outgrow the stream",
                         solution.branch_sum, 1.0, true));
  const Expr identity = is_normalised(setup.block)
                            ? pow(1 + single.formula, -setup.matrices / 2)
                            : pow(1 + solution.branch_sum.formula, Expr(Rational(-1, 2)));
  const double depth_branches = single.value > 0 ? solution.branch_sum.value / single.value : 0;
  const double identity_value = is_normalised(setup.block)
                                    ? std::exp(-0.5 * depth_branches * std::log1p(single.value))
                                    : 1 / std::sqrt(1 + solution.branch_sum.value);
  list.push_back(compare("identity_path",
                         "the input keeps half of its weight along the identity path",
                         {identity, identity_value}, 0.5, false));
  return list;
}

}  // namespace scalecalc
