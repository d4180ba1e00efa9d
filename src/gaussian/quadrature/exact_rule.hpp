#pragma once

#include <boost/math/quadrature/gauss.hpp>
#include <boost/multiprecision/mpfr.hpp>
#include <functional>
#include <vector>

#include "gaussian/quadrature/exact.hpp"
#include "gaussian/quadrature/line.hpp"
#include "scalecalc/gaussian.hpp"

/// Arithmetic and rules for many digits: nothing here is shared with the rules for doubles but the
/// choice of panels.
namespace scalecalc::gaussian::quadrature {

/// Numbers of a fixed number of digits, some of them kept as a guard: results have up to `digits`.
template <unsigned Digits, unsigned Guard, unsigned Nodes>
struct Precision {
  using Number =
      boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<Digits + Guard>,
                                    boost::multiprecision::et_off>;
  using Gauss = boost::math::quadrature::gauss<Number, Nodes>;
  static constexpr int digits = Digits, guard = Guard, nodes = Nodes;
  static constexpr mpfr_prec_t bits = static_cast<mpfr_prec_t>((Digits + Guard) * 3.33) + 1;
};
using Shorter = Precision<50, 26, 72>;
using Longer = Precision<100, 34, 132>;

template <class P>
using Number = typename P::Number;

template <class Big>
Big to_big(const symbolic::Real& value) {
  Big result;
  mpfr_set(result.backend().data(), value.get(), MPFR_RNDN);
  return result;
}

template <class Big>
symbolic::Real to_real(const Big& value, mpfr_prec_t bits) {
  symbolic::Real result(bits);
  mpfr_set(result.get(), value.backend().data(), MPFR_RNDN);
  return result;
}

/// To all digits of P. Boost's constant of such numbers is made in every process, as it starts.
template <class P>
const Number<P>& exact_pi() {
  static const Number<P> value = [] {
    Number<P> pi;
    mpfr_const_pi(pi.backend().data(), MPFR_RNDN);
    return pi;
  }();
  return value;
}

/// The nodes of the rule on [-1, 1], rising.
template <class P>
struct ExactRule {
  std::vector<Number<P>> node, weight;
};
template <class P>
const ExactRule<P>& exact_rule() {
  static const ExactRule<P> value = [] {
    ExactRule<P> rule;
    const auto& node = P::Gauss::abscissa();
    const auto& weight = P::Gauss::weights();
    for (std::size_t k = node.size(); k-- > 0;) {
      rule.node.push_back(-node[k]);
      rule.weight.push_back(weight[k]);
    }
    for (std::size_t k = 0; k < node.size(); ++k) {
      rule.node.push_back(node[k]);
      rule.weight.push_back(weight[k]);
    }
    return rule;
  }();
  return value;
}

template <class P>
struct ExactInput {
  Number<P> mean, std, correlation;
  GaussianInput rounded;
};

/// phi or phi' over the numbers of P.
template <class P>
class ExactPhi {
 public:
  ExactPhi(const Activation& activation, bool slope)
      : function_(activation, slope ? ExactFunction::Which::slope : ExactFunction::Which::value,
                  P::bits) {
    for (const symbolic::Real& at : function_.breaks()) {
      breaks_.push_back(to_big<Number<P>>(at));
    }
  }
  /// Throws Error(unsolvable) past a bound that takes some ten seconds.
  Number<P> operator()(const Number<P>& x) const {
    if (++evaluations_ > most_evaluations) {
      throw Error(ErrorKind::unsolvable,
                  "this expectation takes too many evaluations in many digits", {},
                  "take a smaller variance, or fewer digits");
    }
    return to_big<Number<P>>(function_(to_real(x, P::bits)));
  }
  const std::vector<Number<P>>& breaks() const { return breaks_; }

 private:
  static constexpr long most_evaluations = 400000;

  ExactFunction function_;
  std::vector<Number<P>> breaks_;
  mutable long evaluations_ = 0;
};

/// Ends of panels; those next to an exact place are that place.
template <class P>
std::vector<Number<P>> exact_edges(const std::vector<Panel>& panels,
                                   const std::vector<Number<P>>& places) {
  std::vector<Number<P>> edges;
  for (const Panel& panel : panels) edges.emplace_back(panel.centre - panel.half);
  if (!panels.empty()) edges.emplace_back(panels.back().centre + panels.back().half);
  for (const Number<P>& place : places) {
    if (edges.empty() || place <= edges.front() || place >= edges.back()) continue;
    std::size_t nearest = 1;
    for (std::size_t k = 1; k + 1 < edges.size(); ++k) {
      if (abs(edges[k] - place) < abs(edges[nearest] - place)) nearest = k;
    }
    if (nearest < edges.size()) edges[nearest] = place;
  }
  return edges;
}

/// A sum and the sum of absolute values.
template <class P>
struct ExactSum {
  Number<P> value = 0, absolute = 0;
  void add(const ExactSum& other) {
    value += other.value;
    absolute += other.absolute;
  }
};

/// An integral over [low, high] by one rule.
template <class P, class Function>
ExactSum<P> gauss(const Function& f, const Number<P>& low, const Number<P>& high) {
  const ExactRule<P>& rule = exact_rule<P>();
  const Number<P> middle = (low + high) / 2, half = (high - low) / 2;
  ExactSum<P> sum;
  for (std::size_t k = 0; k < rule.node.size(); ++k) {
    const Number<P> term = rule.weight[k] * f(Number<P>(middle + half * rule.node[k]));
    sum.value += term;
    sum.absolute += abs(term);
  }
  sum.value *= half;
  sum.absolute *= half;
  return sum;
}

}  // namespace scalecalc::gaussian::quadrature
