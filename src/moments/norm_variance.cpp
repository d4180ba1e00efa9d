#include "moments/norm_variance.hpp"

#include <cmath>

#include "moments/token_distance.hpp"

namespace scalecalc::moments {
namespace {

bool is_steep(double slope) {
  constexpr double past = 5e-3;  // homogeneous maps, as far as sums tell
  return slope > 1 + past;
}

/// Of the logarithm's average over N tokens that are alike.
double averaged(double one, double between, const Counts& counts) {
  return between + (one - between) / counts.samples();
}

double relative(double log_ratio) {
  return std::expm1(std::min(log_ratio, largest_log));
}

}  // namespace

double over_samples(const Alike<double>& x, const Counts& counts) {
  return x.second - row_sum(x, counts) / counts.samples();
}

NormVariance gaussian_spread(const Alike<double>& x, double width, const Counts& counts) {
  NormVariance spread;
  spread.token_variance = 2 / width;
  spread.batch_variance = 2 / width * pairs_squared(x, counts);
  spread.distance_variance = apart_noise(2, width, counts);
  spread.distance_covariance = covariance_with_norm(spread.distance_variance, x);
  return spread;
}

NormVariance through_linear(const NormVariance& spread, double share, double noise,
                            const Alike<double>& y, double width, const Counts& counts) {
  NormVariance out;
  out.token_variance = share * share * spread.token_variance + noise / width;
  out.batch_variance =
      share * share * spread.batch_variance + noise / width * pairs_squared(y, counts);
  out.decorrelation = share * share * spread.decorrelation;
  out.mean_shift = share * spread.mean_shift;
  out.susceptibility = share * spread.susceptibility;
  out.own_ratio = spread.own_ratio;
  out.log_range = spread.log_range;
  out.distance_variance = spread.distance_variance + apart_noise(noise, width, counts);
  out.distance_covariance = share * spread.distance_covariance +
                            covariance_with_norm(apart_noise(noise, width, counts), y);
  out.distance_susceptibility = share * spread.distance_susceptibility;
  out.distance_slope = spread.distance_slope;
  return out;
}

NormVariance through_mix(const NormVariance& spread, const Alike<double>& x, const Mixed& mix,
                         double width, const Counts& counts) {
  const double own = 2 / width, c = x.second > 0 ? std::clamp(x.cross / x.second, 0.0, 1.0) : 0;
  const double shared = mix.shared, rest = 1 - shared, pairs = pairs_squared(mix.y, counts);
  const double latent = std::max(0.0, spread.token_variance - own);
  const double latent_all = std::max(0.0, spread.batch_variance - own * pairs_squared(x, counts));
  const double fixed =
      own * (1 - mix.p2) * (shared * shared * (1 - c) * (1 - c) + 2 * shared * rest + rest * rest);
  const double free = std::min(1.0, spread.token_variance / own);
  NormVariance out = spread;
  out.token_variance = free * (own + shared * latent_all + rest * latent) + (1 - free) * fixed;
  const double all =
      free * (own * pairs + latent_all) + (1 - free) * fixed * std::max(pairs, shared * shared);
  out.batch_variance = std::min<double>(all, out.token_variance);
  out.decorrelation = rest * rest * spread.decorrelation;
  return out;
}

double between_tokens(double one, double all, const Counts& counts) {
  const double samples = counts.samples();
  return samples > 1 ? std::clamp((samples * all - one) / (samples - 1), 0.0, one) : one;
}

double within_sequence(double one, double all, const Alike<double>& x, const Counts& counts) {
  const double square = x.mean * x.mean;
  const double within = (x.cross - square) * (x.cross - square),
               between = (x.between - square) * (x.between - square);
  const double ratio = within > 0 ? std::min(between / within, 1.0) : 1;
  const double pairs = counts.tokens - 1 + (counts.batch - 1) * counts.tokens * ratio;
  const double found = pairs > 0 ? std::min((counts.samples() * all - one) / pairs, one) : one;
  if (counts.batch <= 1 || one <= 0) return found;
  // What a nearly equal token's size has apart is no more than Gaussian features make of it.
  const double q = x.second - square, c = q > 0 ? std::clamp((x.cross - square) / q, 0.0, 1.0) : 1;
  return std::max(found, one * c * c);
}

LogSize log_size(const NormVariance& spread, double width) {
  const double variance = spread.token_variance - 2 / width;
  return {std::log1p(spread.mean_shift) - variance / 2, variance};
}

bool leaves_lognormal(double variance, double slope) {
  return variance > most_lognormal && is_steep(slope);
}

double omitted_of_cross(double variance, double slope) {
  return variance > 1 && is_steep(slope) ? std::expm1(std::min(variance, most_lognormal) / 4) : 0;
}

NormVariance beyond_lognormal(const NormVariance& spread, double far, double noise) {
  constexpr double least = 1e-9;
  NormVariance out = spread;
  out.mean_shift = 0;
  const double own = std::isfinite(noise) ? std::max(0.0, noise) : 0;
  out.log_range =
      std::clamp(std::hypot(far, range_deviations * std::sqrt(own)), least, largest_log);
  return out;
}

namespace {

/// Of a token's ln x.x: its variance, its covariance with another token's, and by how much that
/// with ln x_t.x_u is less than the variance.
struct LogSizes {
  double one = 0, both = 0, lag = 0;
};

/// Cov(ln y_t.y_t, ln y_t.y_u) of the n features' noise, and of the sizes and the overlap of u
/// (docs/theory/layers.md#lean); the same of y about its mean.
void add_leans(NormVariance& out, const WidthMoments& phi, const Passage& passage,
               const LogSizes& u, const Alike<double>& x, double width) {
  const double q = x.second - x.mean * x.mean;
  const double c = q > 0 ? std::clamp((x.cross - x.mean * x.mean) / q, -1.0, 1.0) : 1;
  const double own = (phi.kurtosis - 1) / width;
  if (!(own > 0)) return;
  const double orders = passage.noise / own;  // the second beside the first
  // The correlation of two tokens varies with the size of one by what their overlap does beyond
  // both sizes. Sizes that vary much see the mean slope of their range.
  const double turns = (u.one - u.both) / 2 - u.lag;
  const auto covariance = [&](const WidthMoments::Lean& lean, double e, double local) {
    const double rise = local != 0 ? lean.rise * e / local : lean.rise;
    return orders * lean.noise / width + e * (rise * (u.one + u.both) + lean.slope * turns) +
           passage.rest;
  };
  if (const auto lean = phi.lean(c); lean.rise != 0 || lean.noise != 0)
    out.decorrelation = out.token_variance - covariance(lean, passage.slope, phi.exponent);
  const double e = phi.variance_exponent;
  out.centred_excess = e * e * u.one + passage.rest + orders * (phi.centred_kurtosis - 1) / width -
                       out.token_variance;
  // Of two tokens that have nothing but their mean in common, the limit.
  constexpr double least_correlation = 0.05;
  const auto lean = phi.centred_lean(std::fabs(c) < least_correlation ? least_correlation : c);
  if (lean.rise == 0 && lean.noise == 0) return;
  const double one = out.token_variance + out.centred_excess;
  out.centred_lag =
      std::min(covariance(lean, e, e), one) - (out.token_variance - out.decorrelation);
}

}  // namespace

/// Given the variance of u, phi of n features has its own noise in place of the 2/n of u.
NormVariance through_activation(const NormVariance& spread, const Passage& passage,
                                const WidthMoments& phi, const Alike<double>& x, double width,
                                const Counts& counts, double distance_slope) {
  const double e = passage.slope, own = phi.kurtosis - 1;
  const double one = log_size(spread, width).variance;
  const double all = spread.batch_variance - 2 / width * pairs_squared(x, counts);
  const double correlation = one > 0 ? between_tokens(one, all, counts) / one : 1;
  const double share =
      own > 0 ? over_pairs(x, counts, [&](double c) { return phi.covariance(c); }) / own : 0;
  NormVariance out;
  out.token_variance = std::max(0.0, e * e * one + passage.rest + passage.noise);
  out.batch_variance =
      std::max(0.0, e * e * all + passage.rest * averaged(1, correlation * correlation, counts) +
                        passage.noise * share);
  add_leans(out, phi, passage,
            {one, std::max(0.0, within_sequence(one, all, x, counts)), spread.decorrelation}, x,
            width);
  out.mean_shift = relative(passage.mean + (e * e * one + passage.rest + passage.noise) / 2);
  out.susceptibility = e * spread.susceptibility;
  out.own_ratio = spread.own_ratio;
  pass_distance(spread, distance_slope, e, out);
  out.distance_variance += apart_noise(2, width, counts);
  out.distance_covariance += covariance_with_norm(apart_noise(2, width, counts), x);
  return out;
}

/// m = E phi^2(u) E w^2 = f(q) q up to constants; kurtosis 3 times that of phi. The size of the
/// common input moves both factors; what weights that are no normal ones leave out of the 2/n of
/// new features, each factor has of its own.
NormVariance through_gate(const NormVariance& spread, const WidthMoments& phi,
                          const Alike<double>& x, double noise, double width, const Counts& counts,
                          double distance_slope) {
  const double e = phi.exponent + 1, both = phi.exponent * phi.exponent + 1;
  const double pairs = pairs_squared(x, counts), own = (noise - 2) / width;
  const double common = spread.token_variance - noise / width;
  const double common_all = spread.batch_variance - noise / width * pairs;
  const auto covariance = [&](double c) { return (1 + phi.covariance(c)) * (1 + 2 * c * c) - 1; };
  NormVariance out;
  out.token_variance = std::max(0.0, e * e * common + both * own + (3 * phi.kurtosis - 1) / width);
  out.batch_variance = std::max(
      0.0, e * e * common_all + both * own * pairs + over_pairs(x, counts, covariance) / width);
  out.mean_shift = e * spread.mean_shift + (phi.curvature + 2 * phi.exponent) / 2 * common +
                   phi.curvature / 2 * own;
  out.susceptibility = e * spread.susceptibility;
  out.own_ratio = spread.own_ratio;
  pass_distance(spread, distance_slope, e, out);
  out.distance_variance += apart_noise(2, width, counts);
  out.distance_covariance += covariance_with_norm(apart_noise(2, width, counts), x);
  return out;
}

namespace {

/// Of a sum's E y^2, or of its E y_t y_u. What is made of both means goes as the root of either
/// size, so that either side has half of it.
struct SumShares {
  double stream = 0, branch = 0;
};
SumShares sum_shares(double stream, double branch, double both_means) {
  const double total = stream + branch + 2 * both_means;
  return {(stream + both_means) / total, (branch + both_means) / total};
}

Alike<double> about_mean(const Alike<double>& x) {
  const double square = x.mean * x.mean;
  return {0, std::max(x.second - square, 0.0), x.cross - square, x.between - square};
}

}  // namespace

/// What the branch has of the stream's own fluctuation (`susceptibility`) adds up with it; of x and
/// f about their means x.f/n has the variance of both over n, for independent directions.
NormVariance through_sum(const NormVariance& spread, const NormVariance& branch,
                         const Alike<double>& x, const Alike<double>& f, double width,
                         const Counts& counts) {
  const double both_means = x.mean * f.mean, total = x.second + f.second + 2 * both_means;
  NormVariance out;
  if (!(total > 0)) return out;
  const auto [p, b] = sum_shares(x.second, f.second, both_means);
  const double coherent = p + b * branch.susceptibility;
  const double by_all = branch.susceptibility, by_own = by_all * branch.own_ratio,
               own_coherent = p + b * by_own;
  // What one token's size differs by from others' moves less of its branch than what all share.
  const auto sum = [&](double stream, double apart, double own) {
    const double moved = by_all * by_all * stream + by_own * by_own * apart;
    return coherent * coherent * stream + own_coherent * own_coherent * apart +
           b * b * std::max(0.0, own - moved);
  };
  const double shared = between_tokens(spread.token_variance, spread.batch_variance, counts);
  const Alike<double> x_apart = about_mean(x), f_apart = about_mean(f);
  const double products = 4 * (x_apart.second / total) * (f_apart.second / total) / width;
  // Cosines alone count; products of moments could overflow.
  Alike<double> cosines{0, 1, 0, 0};
  if (x_apart.second > 0 && f_apart.second > 0)
    cosines = {0, 1, x_apart.cross / x_apart.second * (f_apart.cross / f_apart.second),
               x_apart.between / x_apart.second * (f_apart.between / f_apart.second)};
  out.token_variance =
      sum(shared, spread.token_variance - shared, branch.token_variance) + products;
  out.batch_variance = sum(spread.batch_variance, 0, branch.batch_variance) +
                       products * over_pairs(cosines, counts, [](double c) { return c; });
  const double cross = x.cross + f.cross + 2 * both_means;
  // The covariance of the sum's x_t.x_t and x_t.x_u: what the branch has of the stream's size moves
  // both with it, as it does in `one`.
  const double in_common = spread.token_variance > 0 ? shared / spread.token_variance : 1;
  const auto covariance = [&](double of_stream, double in_branch, const SumShares& one,
                              const SumShares& pair) {
    const auto both = [&](double one_own, double one_part, double pair_own, double pair_part) {
      const auto of = [&](double by) {
        return (one_own + one_part * by) * (pair_own + pair_part * by);
      };
      return of_stream * (in_common * of(by_all) + (1 - in_common) * of(by_own));
    };
    return both(one.stream, one.branch, pair.stream, pair.branch) +
           one.branch * pair.branch * std::max(0.0, in_branch - both(0, 1, 0, 1));
  };
  // What x.f adds to it, of a sum of these E y^2 and E y_t y_u.
  const auto of_products = [&](double second, double pair) {
    return 2 / width *
           (x_apart.second / second * (f_apart.cross / pair) +
            x_apart.cross / pair * (f_apart.second / second));
  };
  const double of_stream = spread.token_variance - spread.decorrelation,
               of_branch = branch.token_variance - branch.decorrelation;
  if (cross > 0)
    out.decorrelation =
        out.token_variance - of_products(total, cross) -
        covariance(of_stream, of_branch, {p, b}, sum_shares(x.cross, f.cross, both_means));
  // The same of both about their means.
  const double centred = x_apart.second + f_apart.second, pairs = x_apart.cross + f_apart.cross;
  if (centred > 0 && (x.mean != 0 || f.mean != 0)) {
    const double own = f_apart.second / centred, share = 1 - own;
    const double one = spread.token_variance + spread.centred_excess,
                 other = branch.token_variance + branch.centred_excess;
    const double together = share + own * by_all;
    const double variance = together * together * one +
                            own * own * std::max(0.0, other - by_all * by_all * one) +
                            4 * share * own / width;
    out.centred_excess = variance - out.token_variance;
    const double pair = f_apart.cross / pairs;
    if (pairs > 0)
      out.centred_lag = covariance(of_stream + spread.centred_lag, of_branch + branch.centred_lag,
                                   {share, own}, {1 - pair, pair}) +
                        of_products(centred, pairs) - (out.token_variance - out.decorrelation);
  }
  const double apart = x.second - x.cross, own = f.second - f.cross;
  if (apart + own > 0) {
    const double share = std::clamp(own / (apart + own), 0.0, 1.0);
    const double moves = 1 - share + share * branch.distance_slope;
    const double more_apart = own_distance_variance(spread, branch);
    const double chance = 2 * share * (1 - share) * apart_noise(2, width, counts);
    out.distance_variance =
        moves * moves * spread.distance_variance + share * share * more_apart + chance;
    // ln of the sum's size follows that of the stream, and its D besides.
    const double lean = b * branch.distance_susceptibility,
                 follows = coherent * spread.distance_covariance + lean * spread.distance_variance;
    out.distance_response = coherent * coherent * spread.distance_response +
                            std::max(0.0, lean * (lean * spread.distance_variance +
                                                  2 * coherent * spread.distance_covariance));
    out.distance_covariance = moves * follows +
                              share * b * own_distance_covariance(spread, branch) +
                              covariance_with_norm(chance, {0, x.second + f.second, cross, 0});
    out.distance_susceptibility =
        coherent * spread.distance_susceptibility + lean * spread.distance_slope;
    out.distance_slope = moves * spread.distance_slope;
  }
  out.mean_mode = p * spread.mean_mode + b * branch.mean_mode;
  out.log_range = std::max(spread.log_range, branch.log_range);
  const double left = over_samples(x, counts), right = over_samples(f, counts);
  if (left + right > 0) {
    const double kept = left / (left + right), own_kept = 1 - kept;
    out.batch_noise = kept * kept * spread.batch_noise + own_kept * own_kept * branch.batch_noise +
                      2 * kept * own_kept;
    out.skewness =
        std::pow(kept, 1.5) * spread.skewness + std::pow(own_kept, 1.5) * branch.skewness;
  }
  const double uneven =
      p * std::sqrt(spread.position_variance) + b * std::sqrt(branch.position_variance);
  out.position_variance = uneven * uneven;
  out.mean_shift = p * spread.mean_shift + b * branch.mean_shift;
  out.susceptibility = coherent * spread.susceptibility;
  out.own_ratio = coherent > 0 ? spread.own_ratio * own_coherent / coherent : 1;
  return out;
}

/// A sum in which the right branch follows the left as far as both follow the start.
NormVariance through_branches(const NormVariance& start, const NormVariance& left,
                              const NormVariance& right, const Alike<double>& x,
                              const Alike<double>& f, double width, const Counts& counts) {
  const double both_means = x.mean * f.mean;
  if (!(x.second + f.second + 2 * both_means > 0)) return {};
  const auto [p, b] = sum_shares(x.second, f.second, both_means);
  NormVariance follows = right;
  follows.susceptibility = left.batch_variance > 0 ? left.susceptibility * right.susceptibility *
                                                         start.batch_variance / left.batch_variance
                                                   : 0;
  NormVariance out = through_sum(left, follows, x, f, width, counts);
  out.susceptibility = p * left.susceptibility + b * right.susceptibility;
  if (out.susceptibility > 0)
    out.own_ratio =
        (p * left.susceptibility * left.own_ratio + b * right.susceptibility * right.own_ratio) /
        out.susceptibility;
  out.distance_susceptibility =
      p * left.distance_susceptibility + b * right.distance_susceptibility;
  out.distance_response = 0;
  const double apart = x.second - x.cross, own = f.second - f.cross;
  if (!(apart + own > 0)) return out;
  const double share = std::clamp(own / (apart + own), 0.0, 1.0), kept = 1 - share;
  const double chance = 2 * share * kept * apart_noise(2, width, counts);
  const double moves = kept * left.distance_slope + share * right.distance_slope;
  out.distance_variance = moves * moves * start.distance_variance +
                          kept * kept * own_distance_variance(start, left) +
                          share * share * own_distance_variance(start, right) + chance;
  out.distance_covariance =
      moves * (out.susceptibility * start.distance_covariance +
               out.distance_susceptibility * start.distance_variance) +
      p * kept * own_distance_covariance(start, left) +
      b * share * own_distance_covariance(start, right) +
      covariance_with_norm(chance, {0, x.second + f.second, x.cross + f.cross, 0});
  out.distance_slope = moves;
  return out;
}

NormVariance back_through_linear(const NormVariance& gradient,
                                 std::optional<SignalCoupling>& coupling, double noise,
                                 const Alike<double>& x, double width, const Counts& counts) {
  NormVariance out = through_linear(gradient, 1, noise, x, width, counts);
  if (!coupling) return out;
  const double parallel = coupling->squared_cosine, samples = counts.samples();
  coupling->squared_cosine += noise / 2 * (1 - parallel) * (1 + 2 * parallel) / width;
  const double realised = (1 + (samples - 1) * parallel) / samples;
  out.batch_variance += noise / width * std::max(0.0, realised - pairs_squared(x, counts));
  return out;
}

namespace {

double back_shift(const NormVariance& gradient, const NormVariance& out, const Passage& passage) {
  return relative(std::log1p(gradient.mean_shift) - gradient.token_variance / 2 +
                  passage.back_mean + out.token_variance / 2);
}

}  // namespace

/// Gradients of n features are Gaussian going in (fourth moment 3).
NormVariance back_through_activation(const NormVariance& gradient, const BackPassage& back,
                                     const Alike<double>& g, double width, const Counts& counts) {
  const Passage& p = back.passage;
  const double e = p.back_slope, share = pairs_squared(g, counts);
  NormVariance out;
  const double one = std::max(0.0, back.forward.token_variance - 2 / width);
  const double all = std::max(0.0, back.forward.batch_variance - 2 * share / width);
  const double own = (3 * back.slope_kurtosis - 3) / width;
  out.token_variance = gradient.token_variance + own + p.back_rest + e * e * one;
  out.batch_variance = gradient.batch_variance + (own + p.back_rest) * share + e * e * all;
  out.mean_shift = back_shift(gradient, out, p);
  return out;
}

/// What phi' does with them has the u, and the units, that phi had on the way to what they follow.
NormVariance back_through_activation(const NormVariance& gradient, const SignalCoupling& coupling,
                                     const BackPassage& back, double width, const Counts& counts) {
  const Passage& p = back.passage;
  const double samples = counts.samples(), sense = coupling.sensitivity;
  const double one = std::max(0.0, log_size(back.forward, width).variance);
  const double all = back.forward.batch_variance - 2 / width * pairs_squared(back.x, counts);
  const double correlation = one > 0 ? between_tokens(one, all, counts) / one : 1;
  const double alike =
      samples > 1 ? (samples * pairs_squared(back.x, counts) - 1) / (samples - 1) : 1;
  const double slopes = (back.slope_kurtosis - 1) * alike;
  const double own = 3 * back.slope_kurtosis - 3;
  const double pairs = own > 0 ? slopes * (1 + 2 * coupling.squared_cosine) / own : 1;
  const double line = p.back_slope * (p.back_slope + 2 * sense * p.slope) * one;
  const double rest = p.back_rest + 2 * sense * p.both_rest;
  const double shared = 2 * sense * p.both_noise;
  const double before = between_tokens(gradient.token_variance, gradient.batch_variance, counts);
  NormVariance out;
  out.token_variance = std::max(0.0, gradient.token_variance + line + rest + shared + p.back_noise);
  const double between = before + line * correlation + rest * correlation * correlation +
                         shared * alike + p.back_noise * pairs;
  out.batch_variance =
      averaged(out.token_variance, std::clamp<double>(between, 0.0, out.token_variance), counts);
  out.mean_shift = back_shift(gradient, out, p);
  return out;
}

}  // namespace scalecalc::moments
