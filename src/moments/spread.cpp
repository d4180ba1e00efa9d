#include "moments/spread.hpp"

#include <cmath>

namespace scalecalc::moments {
namespace {

/// Noise of n independent terms of cumulants k2, k3: the variance of the logarithm of their mean,
/// in two orders (notes 1.6).
double log_variance(double k2, double k3, double n) {
  return k2 / n + (2.5 * k2 * k2 - k3) / (n * n);
}

/// Differences of tokens are Gaussian too, one less than there are tokens.
double apart_noise(double noise, double width, const Counts& counts) {
  const double samples = counts.tokens * counts.batch;
  return samples > 1 ? noise / (width * (samples - 1)) : 0;
}

/// x^2 about the mean over all samples.
double over_samples(const Alike<double>& x, const Counts& counts) {
  return x.second - (x.second + (counts.tokens - 1) * x.cross +
                     (counts.batch - 1) * counts.tokens * x.between) /
                        (counts.tokens * counts.batch);
}

}  // namespace

/// D/s2 with s2 = D + R: c^2 of what D strays, and what R does.
double apart_after_norm(const Spread& spread, const Alike<double>& x) {
  const double c = x.second > 0 ? std::clamp(x.cross / x.second, 0.0, 1.0) : 0;
  const double rest = spread.all - (1 - c) * (1 - c) * spread.apart;
  return c * c * spread.apart + std::max(0.0, rest);
}

Spread gaussian_spread(const Alike<double>& x, double width, const Counts& counts) {
  Spread spread;
  spread.one = 2 / width;
  spread.all = 2 / width * pairs_squared(x, counts);
  spread.apart = apart_noise(2, width, counts);
  return spread;
}

Spread through_linear(const Spread& spread, double share, double noise, const Alike<double>& y,
                      double width, const Counts& counts) {
  Spread out;
  out.one = share * share * spread.one + noise / width;
  out.all = share * share * spread.all + noise / width * pairs_squared(y, counts);
  out.slack = share * share * spread.slack;
  out.shift = share * spread.shift;
  out.pull = share * spread.pull;
  out.apart = spread.apart + apart_noise(noise, width, counts);
  return out;
}

/// Given the variance of u, phi of n features has its own noise in place of the 2/n of u.
Spread through_activation(const Spread& spread, const WidthMoments& phi, const Alike<double>& x,
                          double width, const Counts& counts) {
  const double e = phi.exponent, own = phi.kurtosis - 1;
  const double latent = spread.one - 2 / width;
  const double latent_all = spread.all - 2 / width * pairs_squared(x, counts);
  const double pairs = over_pairs(x, counts, [&](double c) { return phi.covariance(c); });
  Spread out;
  out.one = std::max(0.0, e * e * latent + log_variance(own, phi.third, width));
  out.all = std::max(
      0.0, e * e * latent_all + (own > 0 ? pairs / own * log_variance(own, phi.third, width) : 0));
  out.shift = e * spread.shift + phi.curvature / 2 * latent;
  out.pull = e * spread.pull;
  out.apart = spread.apart + apart_noise(2, width, counts);
  return out;
}

/// m = E phi^2(u) E w^2 = f(q) q up to constants; kurtosis 3 times that of phi.
Spread through_gate(const Spread& spread, const WidthMoments& phi, const Alike<double>& x,
                    double width, const Counts& counts) {
  const double e = phi.exponent + 1;
  const double latent = spread.one - 2 / width;
  const double latent_all = spread.all - 2 / width * pairs_squared(x, counts);
  const auto covariance = [&](double c) { return (1 + phi.covariance(c)) * (1 + 2 * c * c) - 1; };
  Spread out;
  out.one = std::max(0.0, e * e * latent + (3 * phi.kurtosis - 1) / width);
  out.all = std::max(0.0, e * e * latent_all + over_pairs(x, counts, covariance) / width);
  out.shift = e * spread.shift + (phi.curvature + 2 * phi.exponent) / 2 * latent;
  out.pull = e * spread.pull;
  out.apart = spread.apart + apart_noise(2, width, counts);
  return out;
}

/// What the branch has of the stream's own fluctuation (`pull`) adds up with it; x.f/n has variance
/// m m_f/n for independent directions.
Spread through_sum(const Spread& spread, const Spread& branch, const Alike<double>& x,
                   const Alike<double>& f, double width, const Counts& counts) {
  const double total = x.second + f.second + 2 * x.mean * f.mean;
  Spread out;
  if (!(total > 0)) return out;
  const double p = x.second / total, b = f.second / total, coherent = p + b * branch.pull;
  const auto sum = [&](double stream, double own) {
    const double noise = std::max(0.0, own - branch.pull * branch.pull * stream);
    return coherent * coherent * stream + b * b * noise;
  };
  Alike<double> products{0, x.second * f.second, x.cross * f.cross, x.between * f.between};
  out.one = sum(spread.one, branch.one) + 4 * p * b / width;
  out.all = sum(spread.all, branch.all) +
            4 * p * b / width * over_pairs(products, counts, [](double c) { return c; });
  const double cross = x.cross + f.cross + 2 * x.mean * f.mean;
  if (cross > 0) {
    const double pr = x.cross / cross, br = f.cross / cross;
    const double tie = p * pr * (spread.one - spread.slack) + b * br * (branch.one - branch.slack) +
                       2 * (p * br + pr * b) / width;
    out.slack = out.one - tie;
  }
  const double apart = x.second - x.cross, own = f.second - f.cross;
  if (apart + own > 0) {
    const double share = std::clamp(own / (apart + own), 0.0, 1.0);
    out.apart = spread.apart + share * share * std::max(0.0, branch.apart - spread.apart);
  }
  out.level = p * spread.level + b * branch.level;
  const double left = over_samples(x, counts), right = over_samples(f, counts);
  if (left + right > 0) {
    const double kept = left / (left + right), own_kept = 1 - kept;
    out.scatter =
        kept * kept * spread.scatter + own_kept * own_kept * branch.scatter + 2 * kept * own_kept;
    out.skew = std::pow(kept, 1.5) * spread.skew + std::pow(own_kept, 1.5) * branch.skew;
  }
  const double uneven = p * std::sqrt(spread.uneven) + b * std::sqrt(branch.uneven);
  out.uneven = uneven * uneven;
  out.shift = p * spread.shift + b * branch.shift;
  out.pull = coherent * spread.pull;
  return out;
}

/// Gradients of n features are Gaussian going in (fourth moment 3).
Spread back_through_activation(const Spread& gradient, const Spread& forward,
                               const SlopeMoments& phi, const Alike<double>& g, double width,
                               const Counts& counts) {
  const double e = phi.exponent, share = pairs_squared(g, counts);
  const double own = (3 * phi.kurtosis - 3) / width;
  Spread out;
  out.one = gradient.one + own + e * e * std::max(0.0, forward.one - 2 / width);
  out.all = gradient.all + own * share + e * e * std::max(0.0, forward.all - 2 * share / width);
  out.shift = gradient.shift + e * forward.shift;
  return out;
}

}  // namespace scalecalc::moments
