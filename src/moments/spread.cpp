#include "moments/spread.hpp"

#include <cmath>

namespace scalecalc::moments {
namespace {

/// Differences of tokens are Gaussian too, one less than there are tokens.
double apart_noise(double noise, double width, const Counts& counts) {
  const double samples = counts.samples();
  return samples > 1 ? noise / (width * (samples - 1)) : 0;
}

/// x^2 about the mean over all samples.
double over_samples(const Alike<double>& x, const Counts& counts) {
  return x.second - row_sum(x, counts) / counts.samples();
}

/// Of the logarithm's average over N tokens that are alike.
double averaged(double one, double between, const Counts& counts) {
  return between + (one - between) / counts.samples();
}

double relative(double log_ratio) {
  return std::expm1(std::min(log_ratio, largest_log));
}

}  // namespace

/// Where only the differences of tokens stray, E x^2 does by their share of it.
double tie_of(double apart, const Alike<double>& x) {
  return x.second > 0 ? std::clamp(1 - x.cross / x.second, 0.0, 1.0) * apart : 0;
}

/// ln D - w ln s2.
ApartAfterNorm apart_after_norm(const Spread& spread, double normed) {
  const double tie = spread.apart_tie, all = spread.all + spread.leaning;
  return {std::max(0.0, spread.apart + normed * normed * all - 2 * normed * tie),
          (1 - normed) * (tie - normed * all)};
}

Spread gaussian_spread(const Alike<double>& x, double width, const Counts& counts) {
  Spread spread;
  spread.one = 2 / width;
  spread.all = 2 / width * pairs_squared(x, counts);
  spread.apart = apart_noise(2, width, counts);
  spread.apart_tie = tie_of(spread.apart, x);
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
  out.far = spread.far;
  out.apart = spread.apart + apart_noise(noise, width, counts);
  out.apart_tie = share * spread.apart_tie + tie_of(apart_noise(noise, width, counts), y);
  out.lean = share * spread.lean;
  return out;
}

Spread through_mix(const Spread& spread, const Alike<double>& x, const Mixed& mix, double width,
                   const Counts& counts) {
  const double own = 2 / width, c = x.second > 0 ? std::clamp(x.cross / x.second, 0.0, 1.0) : 0;
  const double shared = mix.shared, rest = 1 - shared, pairs = pairs_squared(mix.y, counts);
  const double latent = std::max(0.0, spread.one - own);
  const double latent_all = std::max(0.0, spread.all - own * pairs_squared(x, counts));
  const double fixed =
      own * (1 - mix.p2) * (shared * shared * (1 - c) * (1 - c) + 2 * shared * rest + rest * rest);
  const double free = std::min(1.0, spread.one / own);
  Spread out = spread;
  out.one = free * (own + shared * latent_all + rest * latent) + (1 - free) * fixed;
  const double all =
      free * (own * pairs + latent_all) + (1 - free) * fixed * std::max(pairs, shared * shared);
  out.all = std::min<double>(all, out.one);
  out.slack = rest * rest * spread.slack;
  return out;
}

double between_tokens(double one, double all, const Counts& counts) {
  const double samples = counts.samples();
  return samples > 1 ? std::clamp((samples * all - one) / (samples - 1), 0.0, one) : one;
}

LogSize log_size(const Spread& spread, double width) {
  const double variance = spread.one - 2 / width;
  return {std::log1p(spread.shift) - variance / 2, variance};
}

bool part_ways(double variance, double slope) {
  constexpr double past = 5e-3;  // homogeneous maps, as far as sums tell
  return variance > 1 && slope > 1 + past;
}

Spread apart_ways(const Spread& spread, double far, double noise) {
  constexpr double least = 1e-9;
  Spread out = spread;
  out.shift = 0;
  const double own = std::isfinite(noise) ? std::max(0.0, noise) : 0;
  out.far = std::clamp(std::hypot(far, far_deviations * std::sqrt(own)), least, largest_log);
  return out;
}

/// Given the variance of u, phi of n features has its own noise in place of the 2/n of u.
Spread through_activation(const Spread& spread, const Passage& passage, const WidthMoments& phi,
                          const Alike<double>& x, double width, const Counts& counts) {
  const double e = passage.slope, own = phi.kurtosis - 1;
  const double one = log_size(spread, width).variance;
  const double all = spread.all - 2 / width * pairs_squared(x, counts);
  const double tie = one > 0 ? between_tokens(one, all, counts) / one : 1;
  const double share =
      own > 0 ? over_pairs(x, counts, [&](double c) { return phi.covariance(c); }) / own : 0;
  Spread out;
  out.one = std::max(0.0, e * e * one + passage.rest + passage.noise);
  out.all = std::max(
      0.0, e * e * all + passage.rest * averaged(1, tie * tie, counts) + passage.noise * share);
  out.shift = relative(passage.mean + (e * e * one + passage.rest + passage.noise) / 2);
  out.pull = e * spread.pull;
  out.apart = spread.apart + apart_noise(2, width, counts);
  out.apart_tie = e * spread.apart_tie + tie_of(apart_noise(2, width, counts), x);
  out.lean = e * spread.lean;
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
  out.apart_tie = e * spread.apart_tie + tie_of(apart_noise(2, width, counts), x);
  out.lean = e * spread.lean;
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
  // Cosines alone count; products of moments could overflow.
  Alike<double> products{0, 1, 0, 0};
  if (x.second > 0 && f.second > 0)
    products = {0, 1, x.cross / x.second * (f.cross / f.second),
                x.between / x.second * (f.between / f.second)};
  out.one = sum(spread.one, branch.one) + 4 * p * b / width;
  out.all = sum(spread.all, branch.all) +
            4 * p * b / width * over_pairs(products, counts, [](double c) { return c; });
  const double cross = x.cross + f.cross + 2 * x.mean * f.mean;
  if (cross > 0) {
    const double pr = x.cross / cross, br = f.cross / cross;
    // The covariance of the sum's x_t.x_t and x_t.x_u: what the branch has of the stream's size
    // moves both with it, as it does in `one`.
    const double of_stream = spread.one - spread.slack;
    const double of_branch =
        std::max(0.0, branch.one - branch.slack - branch.pull * branch.pull * of_stream);
    const double tie = coherent * (pr + br * branch.pull) * of_stream + b * br * of_branch +
                       2 * (p * br + pr * b) / width;
    out.slack = out.one - tie;
  }
  const double apart = x.second - x.cross, own = f.second - f.cross;
  if (apart + own > 0) {
    const double share = std::clamp(own / (apart + own), 0.0, 1.0);
    const double of_branch = std::max(0.0, branch.apart - spread.apart);
    const double chance = 2 * share * (1 - share) * apart_noise(2, width, counts);
    out.apart = spread.apart + share * share * of_branch + chance;
    // ln of the sum's size follows that of the stream, and its D besides.
    const double lean = b * branch.lean,
                 follows = coherent * spread.apart_tie + lean * spread.apart;
    out.leaning = coherent * coherent * spread.leaning +
                  std::max(0.0, lean * (lean * spread.apart + 2 * coherent * spread.apart_tie));
    const double own_tie =
        branch.apart_tie - branch.pull * spread.apart_tie - branch.lean * spread.apart;
    out.apart_tie =
        follows + share * b * own_tie + tie_of(chance, {0, x.second + f.second, cross, 0});
    out.lean = coherent * spread.lean + lean;
  }
  out.level = p * spread.level + b * branch.level;
  out.far = std::max(spread.far, branch.far);
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

Spread back_through_linear(const Spread& gradient, std::optional<Follow>& follow, double noise,
                           const Alike<double>& x, double width, const Counts& counts) {
  Spread out = through_linear(gradient, 1, noise, x, width, counts);
  if (!follow) return out;
  const double parallel = follow->parallel, samples = counts.samples();
  follow->parallel += noise / 2 * (1 - parallel) * (1 + 2 * parallel) / width;
  const double realised = (1 + (samples - 1) * parallel) / samples;
  out.all += noise / width * std::max(0.0, realised - pairs_squared(x, counts));
  return out;
}

namespace {

double back_shift(const Spread& gradient, const Spread& out, const Passage& passage) {
  return relative(std::log1p(gradient.shift) - gradient.one / 2 + passage.back_mean + out.one / 2);
}

}  // namespace

/// Gradients of n features are Gaussian going in (fourth moment 3).
Spread back_through_activation(const Spread& gradient, const BackPassage& back,
                               const Alike<double>& g, double width, const Counts& counts) {
  const Passage& p = back.passage;
  const double e = p.back_slope, share = pairs_squared(g, counts);
  Spread out;
  const double one = std::max(0.0, back.forward.one - 2 / width);
  const double all = std::max(0.0, back.forward.all - 2 * share / width);
  const double own = (3 * back.slope_kurtosis - 3) / width;
  out.one = gradient.one + own + p.back_rest + e * e * one;
  out.all = gradient.all + (own + p.back_rest) * share + e * e * all;
  out.shift = back_shift(gradient, out, p);
  return out;
}

/// What phi' does with them has the u, and the units, that phi had on the way to what they follow.
Spread back_through_activation(const Spread& gradient, const Follow& follow,
                               const BackPassage& back, double width, const Counts& counts) {
  const Passage& p = back.passage;
  const double samples = counts.samples(), sense = follow.sense;
  const double one = std::max(0.0, log_size(back.forward, width).variance);
  const double all = back.forward.all - 2 / width * pairs_squared(back.x, counts);
  const double tie = one > 0 ? between_tokens(one, all, counts) / one : 1;
  const double alike =
      samples > 1 ? (samples * pairs_squared(back.x, counts) - 1) / (samples - 1) : 1;
  const double slopes = (back.slope_kurtosis - 1) * alike;
  const double own = 3 * back.slope_kurtosis - 3;
  const double pairs = own > 0 ? slopes * (1 + 2 * follow.parallel) / own : 1;
  const double line = p.back_slope * (p.back_slope + 2 * sense * p.slope) * one;
  const double rest = p.back_rest + 2 * sense * p.both_rest;
  const double shared = 2 * sense * p.both_noise;
  const double before = between_tokens(gradient.one, gradient.all, counts);
  Spread out;
  out.one = std::max(0.0, gradient.one + line + rest + shared + p.back_noise);
  const double between =
      before + line * tie + rest * tie * tie + shared * alike + p.back_noise * pairs;
  out.all = averaged(out.one, std::clamp<double>(between, 0.0, out.one), counts);
  out.shift = back_shift(gradient, out, p);
  return out;
}

}  // namespace scalecalc::moments
