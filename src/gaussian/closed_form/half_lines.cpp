#include "gaussian/closed_form/half_lines.hpp"

#include <bit>

#include "symbolic/canonical.hpp"

namespace scalecalc::gaussian {
namespace {

Expr call(const char* name, std::vector<Expr> arguments) {
  return Expr::function(name, std::move(arguments));
}

/// value/sqrt(radicand), its factors matched with those of the radicand.
Expr over_root(const Ring& ring, const Ratio& value, const Ratio& radicand) {
  CoprimeBase base;
  for (std::size_t k = 0; k < Polynomial::most_variables; ++k) base.add(Polynomial::variable(k));
  std::vector<Expr> factors;
  const auto collect = [&](const Polynomial& part, const Rational& exponent) {
    const CoprimeBase::Factored factored = base.factor(part);
    factors.push_back(pow(Expr(factored.content), exponent));
    for (const Factor& factor : factored.factors) {
      factors.push_back(pow(ring.expression(factor.base), exponent * Rational(factor.power)));
    }
  };
  for (const Polynomial& part :
       {value.numerator(), value.denominator(), radicand.numerator(), radicand.denominator()}) {
    base.add(part);
  }
  collect(value.numerator(), 1);
  collect(value.denominator(), -1);
  collect(radicand.numerator(), Rational(-1, 2));
  collect(radicand.denominator(), Rational(1, 2));
  return symbolic::multiply(std::move(factors));
}

/// The factors left to average: senses, means and covariances, with every `left` turned around.
struct Events {
  std::vector<bool> signs;  ///< whether it is the sign, else 1 to the right
  std::vector<Ratio> mean;
  std::vector<std::vector<Ratio>> covariance;

  std::size_t size() const { return mean.size(); }
};

class Orthant {
 public:
  Orthant(const Ring& ring, Events events, Pairs pairs)
      : ring_(ring), events_(std::move(events)), pairs_(pairs) {}

  Sum value() const {
    bool at_mean = true;
    for (const Ratio& mean : events_.mean) at_mean = at_mean && mean.is_zero();
    if (events_.size() == 0) return 1;
    if (at_mean) return centred();
    if (events_.size() == 1) return single(0, events_.signs[0]);
    if (events_.size() == 2) return two(events_.signs[0], events_.signs[1]);
    too_many();
  }

 private:
  [[noreturn]] void too_many() const {
    throw NoForm{"it needs the joint probability of " + std::to_string(events_.size()) +
                 " half-lines"};
  }

  Expr correlation(std::size_t i, std::size_t j) const {
    const auto& s = events_.covariance;
    if (s[i][i] == s[j][j]) return ring_.expression(s[i][j] / s[i][i]);
    return over_root(ring_, s[i][j], s[i][i] * s[j][j]);
  }
  Expr standardised(std::size_t k) const {
    return over_root(ring_, events_.mean[k], events_.covariance[k][k]);
  }

  /// Sheppard: E[sign sign] = (2/pi) asin(r). A half-line is (1 + sign)/2; an odd number of signs
  /// averages to 0.
  Sum centred() const {
    if (events_.size() == 2 && !events_.signs[0] && !events_.signs[1]) {
      return Sum::of(Rational(1, 2), 1, 0, call("acos", {-correlation(0, 1)}) / Expr::pi());
    }
    unsigned fixed = 0;
    for (std::size_t k = 0; k < events_.size(); ++k) fixed |= events_.signs[k] ? 1u << k : 0;
    Sum total;
    for (unsigned chosen = 0; chosen < 1u << events_.size(); ++chosen) {
      if ((chosen & fixed) == fixed) total += of_signs(chosen);
    }
    const int halves = static_cast<int>(events_.size()) - std::popcount(fixed);
    return total * Sum(Rational(1, std::int64_t{1} << halves));
  }

  Sum of_signs(unsigned chosen) const {
    const int count = std::popcount(chosen);
    if (count == 0) return 1;
    if (count % 2 != 0) return {};
    if (count > 2) too_many();
    const auto first = static_cast<std::size_t>(std::countr_zero(chosen));
    const auto second = static_cast<std::size_t>(std::bit_width(chosen)) - 1;
    return Sum::of(2, 1, 0, call("asin", {correlation(first, second)}) / Expr::pi());
  }

  Sum single(std::size_t k, bool sign) const {
    const Expr h = standardised(k);
    if (sign) return Sum::of(1, 1, 0, call("erf", {h / sqrt(Expr(2))}));
    return Sum::of(1, 1, 0, call("Phi", {h}));
  }

  Sum two(bool first_sign, bool second_sign) const {
    if (first_sign) return Sum(2) * two(false, second_sign) + Sum(-1) * single(1, second_sign);
    if (second_sign) return Sum(2) * two(false, false) + Sum(-1) * single(0, false);
    return both_right();
  }

  /// P(w1 > 0, w2 > 0). Owen 1956: for equal thresholds Phi(h) - 2 T(h, ((1-r)/(1+r))^(1/2)), for
  /// opposite ones 2 T(h, ((1+r)/(1-r))^(1/2)).
  Sum both_right() const {
    const auto& s = events_.covariance;
    const Ratio product = s[0][0] * s[1][1], covariance = s[0][1];
    const Expr h = standardised(0), k = standardised(1);
    if (covariance.is_zero()) return single(0, false) * single(1, false);
    const bool same_scale = s[0][0] == s[1][1];
    if (covariance * covariance == product) {
      const bool opposite = same_scale ? covariance == -s[0][0] : evaluate(correlation(0, 1)) < 0;
      return Sum::of(1, 1, 0, call("Phi2", {h, k, opposite ? -1 : 1}));
    }
    const Ratio below = s[0][0] - covariance, above = s[0][0] + covariance;
    const bool by_owen = same_scale && pairs_ == Pairs::owens_t;
    if (by_owen && events_.mean[0] == events_.mean[1]) {
      return single(0, false) + Sum::of(-2, 1, 0, call("owens_t", {h, ring_.root(below / above)}));
    }
    if (by_owen && events_.mean[0] == -events_.mean[1]) {
      return Sum::of(2, 1, 0, call("owens_t", {h, ring_.root(above / below)}));
    }
    return unequal(h, k, correlation(0, 1));
  }

  /// P(X < h, Y < k) = P(X < h) - P(X < h, -Y < -k): of the two, the one with a positive r.
  Sum unequal(const Expr& h, const Expr& k, const Expr& r) const {
    const bool in_order = !(k < h);
    const Expr &first = in_order ? h : k, &second = in_order ? k : h;
    const bool turn = pairs_ == Pairs::owens_t && symbolic::prefers_opposite(r);
    if (!turn) return Sum::of(1, 1, 0, call("Phi2", {first, second, r}));
    const Expr opposite = call("Phi2", {first, -second, -r});
    return Sum::of(1, 1, 0, call("Phi", {first})) + Sum::of(-1, 1, 0, opposite);
  }

  const Ring& ring_;
  Events events_;
  Pairs pairs_;
};

}  // namespace

GaussianVector given_zero(const GaussianVector& vector, std::size_t place) {
  const std::vector<Ratio>& gain = vector.covariance[place];
  GaussianVector result;
  for (std::size_t i = 0; i < vector.mean.size(); ++i) {
    if (i == place) continue;
    const Ratio slope = gain[i] / gain[place];
    result.mean.push_back(vector.mean[i] - slope * vector.mean[place]);
    result.covariance.emplace_back();
    for (std::size_t j = 0; j < vector.mean.size(); ++j) {
      if (j == place) continue;
      result.covariance.back().push_back(vector.covariance[i][j] - slope * gain[j]);
    }
  }
  return result;
}

Sum probability(const Ring& ring, const GaussianVector& vector, const std::vector<Sense>& senses,
                Pairs pairs) {
  Sum certain = 1;
  Events events;
  std::vector<std::size_t> kept;
  std::vector<int> turns;
  for (std::size_t k = 0; k < senses.size(); ++k) {
    const int turn = senses[k] == Sense::left ? -1 : 1;
    const bool sign = senses[k] == Sense::sign;
    const Ratio mean = Ratio(turn) * vector.mean[2 + k];
    if (vector.covariance[2 + k][2 + k].is_zero()) {
      certain = certain * Sum::of(1, 1, 0, call(sign ? "sign" : "step", {ring.expression(mean)}));
      continue;
    }
    events.signs.push_back(sign);
    events.mean.push_back(mean);
    kept.push_back(2 + k);
    turns.push_back(turn);
  }
  for (std::size_t i = 0; i < kept.size(); ++i) {
    events.covariance.emplace_back();
    for (std::size_t j = 0; j < kept.size(); ++j) {
      const Ratio& covariance = vector.covariance[kept[i]][kept[j]];
      events.covariance.back().push_back(Ratio(turns[i] * turns[j]) * covariance);
    }
  }
  return certain * Orthant(ring, std::move(events), pairs).value();
}

}  // namespace scalecalc::gaussian
