#include "moments/layers/norm.hpp"

#include <algorithm>
#include <cmath>

namespace scalecalc::moments {

/// The covariance of two tokens' s2, within a sequence, from that of the average over all samples:
/// between sequences it is smaller by the ratio of the squared cosines, as Gaussian features have
/// it.
Fluctuation fluctuation_of(const NormVariance& spread, double width, double share, bool layernorm,
                           const Alike<double>& x, const Counts& counts) {
  const double one = spread.token_variance;
  Fluctuation orders{one, one, one - spread.decorrelation, share,
                     layernorm ? spread.mean_mode / width : 0};
  if (counts.samples() > 1) orders.both = within_sequence(one, spread.batch_variance, x, counts);
  if (layernorm && one > 0) {
    orders.v = std::max(0.0, one + spread.centred_excess);
    orders.both *= orders.v / one;
    orders.covariance += spread.centred_lag;
  }
  return orders;
}

double mean_order(const Alike<double>& x, double skew, double kurtosis, double width,
                  double size_variance) {
  const double m = x.second, mu = x.mean, variance = std::max(0.0, m - mu * mu);
  if (mu == 0 || !(m > 0)) return 0;
  // Of a Gaussian with a mean E x^4 is 3 m^2 - 2 mu^4, which sums of layers leave out of theirs.
  const double share = mu * mu / m, around = 3 - 2 * share * share + std::max(0.0, kurtosis - 3);
  const double of_size = std::max(0.0, std::min(kurtosis, around) - 1) / width;
  if (!(of_size > 0)) return 0;
  const double third = skew * std::pow(variance, 1.5) + 2 * mu * variance;  // E x^3 - mu m
  const double moving = std::min(1.0, size_variance / of_size);
  // The next order, by quadrature of E x_i/|x|, is of relu(x)^2, whose tail is heavy (a kurtosis of
  // 23), -0.9 V of this one; of relu and elu (6 and 4) 0.1 V and 0.4 V, which are left out.
  const double tail = std::max(0.0, kurtosis - 6) / 20;
  return moving * (3 * mu * of_size / 8 - third / (2 * width * m)) / (1 + tail * moving * of_size);
}

double kept_beside_eps(double mean, double eps, double variance) {
  constexpr double least_variance = 1e-12;  // below it nothing is seen of the scatter
  if (!(variance > least_variance)) return mean / (mean + eps);
  // e^z E_k(z) = 1/(z + k - k/(z + k + 2 - 2 (k + 1)/(z + k + 4 - ...))), by Lentz's method: a
  // small variance takes few terms.
  constexpr int most_terms = 64;
  constexpr double negligible = 1e-15;
  const double k = 1 / variance, z = k * eps / mean;
  double denominator = z + k, above = 1e300, below = 1 / denominator, value = below;
  for (int n = 1; n <= most_terms; ++n) {
    const double numerator = -n * (k + n - 1);
    denominator += 2;
    below = 1 / (denominator + numerator * below);
    above = denominator + numerator / above;
    const double factor = above * below;
    value *= factor;
    if (std::fabs(factor - 1) <= negligible) break;
  }
  return 1 - z * value;
}

SampleMeans sample_means(const PerPosition& x, const Counts& over) {
  const Positions& at = *x.positions;
  SampleMeans means;
  means.rows = x.second + ((at.pairs * x.cross).rowwise().sum() / at.weight);
  if (over.batch > 1 && x.between.size() > 0)
    means.rows += (over.batch - 1) * (x.between.matrix() * at.weight.matrix()).array();
  means.rows /= over.samples();
  means.all = (at.weight * means.rows).sum() / over.tokens;
  return means;
}

PerPosition centred(const PerPosition& x, double tokens, double batch) {
  const SampleMeans means = sample_means(x, {tokens, batch});
  const Eigen::Index size = x.second.size();
  PerPosition y = x;
  y.mean.setZero();
  y.second -= 2 * means.rows - means.all;
  const Eigen::ArrayXXd rows = means.rows.replicate(1, size);
  const Eigen::ArrayXXd both = rows + rows.transpose() - means.all;
  y.cross -= both;
  if (y.between.size() > 0) y.between -= both;
  return y;
}

}  // namespace scalecalc::moments
