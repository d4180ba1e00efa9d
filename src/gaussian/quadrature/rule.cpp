#include "gaussian/quadrature/rule.hpp"

#include <boost/math/quadrature/gauss_kronrod.hpp>

namespace scalecalc::gaussian::quadrature {
namespace {

Rule make() {
  using Kronrod = boost::math::quadrature::gauss_kronrod<double, Rule::nodes>;
  using Gauss = boost::math::quadrature::gauss<double, Rule::nodes / 2>;
  const auto& node = Kronrod::abscissa();  // from 0 upwards
  const auto& weight = Kronrod::weights();
  const auto& gauss = Gauss::weights();
  constexpr std::size_t middle = Rule::nodes / 2;
  Rule rule;
  for (std::size_t k = 0; k <= middle; ++k) {
    // The Gauss nodes, 0 among them, are every other Kronrod node.
    const double gauss_weight = k % 2 == 0 ? gauss[k / 2] : 0.0;
    for (const std::size_t at : {middle - k, middle + k}) {
      rule.node[at] = at < middle ? -node[k] : node[k];
      rule.kronrod[at] = weight[k];
      rule.gauss[at] = gauss_weight;
    }
  }
  for (std::size_t k = 0; k + 1 < Rule::nodes; ++k) rule.step[k] = 1;
  return rule;
}

}  // namespace

const Rule& rule() {
  static const Rule value = make();
  return value;
}

}  // namespace scalecalc::gaussian::quadrature
