#include "gaussian/closed_form/expectation.hpp"

#include <set>

#include "gaussian/closed_form/half_lines.hpp"

namespace scalecalc::gaussian {
namespace {

Ratio half(const Ratio& value) {
  return value * Ratio(Rational(1, 2));
}

/// (2 pi variance)^(-1/2) exp(-mean^2/(2 variance)), the density of N(mean, variance) at 0.
Sum density_at_zero(const Ratio& mean, const Ratio& variance) {
  const Expr root = pow(2 * Expr::pi(), Rational(-1, 2));
  return Sum::of(1, 1 / variance, -half(mean * mean / variance), root);
}

/// E[u^i v^j wave half-lines] for one Gaussian vector: u, v, the half-lines shifted to threshold 0,
/// and the phase of the wave.
class Average {
 public:
  Average(const Ring& ring, GaussianVector vector, std::vector<Sense> senses, bool has_wave,
          Pairs pairs)
      : ring_(ring),
        vector_(std::move(vector)),
        senses_(std::move(senses)),
        has_wave_(has_wave),
        pairs_(pairs) {}

  /// Stein: E[x f] = mean E f + sum over y of Cov(x, y) E[df/dy].
  const Sum& value(const std::array<int, 2>& powers, bool sine) {
    const auto key = std::make_pair(powers, sine);
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
    Sum total;
    const std::size_t x = powers[0] > 0 ? 0 : 1;
    if (powers[x] == 0) {
      total = base(sine);
    } else {
      std::array<int, 2> rest = powers;
      --rest[x];
      if (!vector_.mean[x].is_zero()) total += Sum(vector_.mean[x]) * value(rest, sine);
      for (std::size_t y = 0; y < 2; ++y) total += from_power(x, y, rest, sine);
      for (std::size_t k = 0; k < senses_.size(); ++k) total += from_edge(x, k, rest, sine);
      if (has_wave_) total += from_wave(x, rest, sine);
    }
    return known_.emplace(key, std::move(total)).first->second;
  }

 private:
  std::size_t wave_place() const { return 2 + senses_.size(); }

  Sum from_power(std::size_t x, std::size_t y, std::array<int, 2> rest, bool sine) {
    const Ratio& covariance = vector_.covariance[x][y];
    const int power = rest[y]--;
    if (power == 0 || covariance.is_zero()) return {};
    return Sum(covariance * Ratio(power)) * value(rest, sine);
  }

  /// The derivative of a half-line is a point mass at its edge: its density there, times the
  /// expectation given that.
  Sum from_edge(std::size_t x, std::size_t k, const std::array<int, 2>& rest, bool sine) {
    const Ratio& covariance = vector_.covariance[x][2 + k];
    if (covariance.is_zero()) return {};
    const int jump = senses_[k] == Sense::sign ? 2 : senses_[k] == Sense::left ? -1 : 1;
    const Ratio &mean = vector_.mean[2 + k], &variance = vector_.covariance[2 + k][2 + k];
    return Sum(covariance * Ratio(jump)) * density_at_zero(mean, variance) *
           at_edge(k).value(rest, sine);
  }

  Sum from_wave(std::size_t x, const std::array<int, 2>& rest, bool sine) {
    const Ratio& covariance = vector_.covariance[x][wave_place()];
    if (covariance.is_zero()) return {};
    return Sum(sine ? covariance : -covariance) * value(rest, !sine);
  }

  Average& at_edge(std::size_t k) {
    std::unique_ptr<Average>& edge = edges_[k];
    if (!edge) {
      std::vector<Sense> senses = senses_;
      senses.erase(senses.begin() + static_cast<std::ptrdiff_t>(k));
      edge = std::make_unique<Average>(ring_, given_zero(vector_, 2 + k), std::move(senses),
                                       has_wave_, pairs_);
    }
    return *edge;
  }

  /// Without monomials. E[cos t] = cos(mean) exp(-variance/2).
  Sum base(bool sine) const {
    if (!has_wave_) return probability(ring_, vector_, senses_, pairs_);
    if (!senses_.empty()) {
      throw NoForm{
          "it averages sin or cos over a half-line or against erf, which needs erf of a "
          "complex number"};
    }
    const std::size_t place = wave_place();
    const Expr mean = ring_.expression(vector_.mean[place]);
    return Sum::of(1, 1, -half(vector_.covariance[place][place]),
                   Expr::function(sine ? "sin" : "cos", {mean}));
  }

  const Ring& ring_;
  GaussianVector vector_;
  std::vector<Sense> senses_;
  bool has_wave_;
  Pairs pairs_;
  std::map<std::pair<std::array<int, 2>, bool>, Sum> known_;
  std::map<std::size_t, std::unique_ptr<Average>> edges_;
};

/// u and v after the density was multiplied by exp(linear . x - quadratic . x^2), and the mass.
struct Tilted {
  std::array<Ratio, 2> mean;
  std::array<std::array<Ratio, 2>, 2> covariance;
  Sum mass;
};

/// With K = 2 diag(quadratic) and A = 1 + S K: mean' = A^-1 (mean + S linear), S' = A^-1 S,
/// mass = det(A)^(-1/2) exp((linear . mean' + linear . mean - mean K mean')/2).
Tilted tilt(const Pair& pair, const Shape& shape) {
  const Ratio &q = pair.variance, &r = pair.covariance, two = 2;
  const Ratio k0 = two * shape.quadratic[0], k1 = two * shape.quadratic[1];
  const Ratio &l0 = shape.linear[0], &l1 = shape.linear[1];
  const Ratio a0 = 1 + q * k0, a1 = 1 + q * k1, determinant = a0 * a1 - r * r * k0 * k1;
  const Ratio x0 = pair.mean + q * l0 + r * l1, x1 = pair.mean + r * l0 + q * l1;
  Tilted result;
  result.mean = {(a1 * x0 - r * k1 * x1) / determinant, (a0 * x1 - r * k0 * x0) / determinant};
  const Ratio cross = r / determinant;
  result.covariance = {
      {{(a1 * q - r * r * k1) / determinant, cross}, {cross, (a0 * q - r * r * k0) / determinant}}};
  const Ratio exponent = l0 * (result.mean[0] + pair.mean) + l1 * (result.mean[1] + pair.mean) -
                         pair.mean * (k0 * result.mean[0] + k1 * result.mean[1]);
  result.mass = Sum::of(1, 1 / determinant, half(exponent) + shape.exponent, 1);
  return result;
}

GaussianVector vector_of(const Tilted& tilted, const Shape& shape) {
  std::vector<std::array<Ratio, 2>> rows{{1, 0}, {0, 1}};
  GaussianVector vector;
  vector.mean = {tilted.mean[0], tilted.mean[1]};
  for (const HalfLine& line : shape.half_lines) {
    rows.push_back(rows[static_cast<std::size_t>(line.variable)]);
    vector.mean.push_back(tilted.mean[static_cast<std::size_t>(line.variable)] - line.threshold);
  }
  if (shape.wave.present) {
    const auto& slope = shape.wave.slope;
    rows.push_back(slope);
    vector.mean.push_back(slope[0] * tilted.mean[0] + slope[1] * tilted.mean[1] + shape.wave.phase);
  }
  vector.covariance.assign(rows.size(), std::vector<Ratio>(rows.size()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < rows.size(); ++j) {
      for (std::size_t k = 0; k < 4; ++k) {
        const Ratio weight = rows[i][k / 2] * rows[j][k % 2];
        if (weight.is_zero()) continue;
        vector.covariance[i][j] =
            vector.covariance[i][j] + weight * tilted.covariance[k / 2][k % 2];
      }
    }
  }
  for (std::size_t k = 0; k < shape.half_lines.size(); ++k) {
    Ratio& variance = vector.covariance[2 + k][2 + k];
    variance = variance + shape.half_lines[k].noise;
  }
  return vector;
}

}  // namespace

Sum expectation(const Ring& ring, const Pair& pair, const Terms& terms) {
  // Terms that differ in their monomial alone share one vector.
  std::map<Shape, std::map<std::array<int, 2>, Expr>> groups;
  for (const auto& [shape, coefficient] : terms) {
    Shape bare = shape;
    bare.powers = {};
    groups[bare].emplace(shape.powers, coefficient);
  }
  Sum total;
  for (const auto& [shape, monomials] : groups) {
    const Tilted tilted = tilt(pair, shape);
    std::vector<Sense> senses;
    for (const HalfLine& line : shape.half_lines) senses.push_back(line.sense);
    const bool grows = !shape.linear[0].is_zero() || !shape.linear[1].is_zero();
    Average average(ring, vector_of(tilted, shape), std::move(senses), shape.wave.present,
                    grows ? Pairs::distribution : Pairs::owens_t);
    Sum group;
    for (const auto& [powers, coefficient] : monomials) {
      group += Sum::of(1, 1, 0, coefficient) * average.value(powers, shape.wave.sine);
    }
    total += tilted.mass * group;
  }
  return total;
}

}  // namespace scalecalc::gaussian
