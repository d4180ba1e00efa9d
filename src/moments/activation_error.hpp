#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "moments/activation_moments.hpp"

/// How far the rule of an activation may be off.
namespace scalecalc::moments {

/// What has no mean, as a gradient's second moment, as it is taken for one: an error of ten times
/// its size.
inline constexpr double no_mean = 10;

/// ln a/b, of sizes that may leave the range of a double.
inline double log_ratio(double a, double b) {
  const double found = std::log(a / b);
  return std::isnan(found) ? largest_log : std::clamp(found, -largest_log, largest_log);
}

/// How far up a draw of u may be: 0 while they stay together.
template <class C>
double log_range_of(C& calculus, const NormVariance& spread, const LogSize& x,
                    const Passage& passed, double exponent) {
  if (spread.log_range > 0) return spread.log_range;
  // Of what comes out, with the noise of both ways: a map may be steep where infinite width is not.
  const double slope = std::max(exponent, passed.slope);
  const double variance = std::max(x.variance, passed.slope * passed.slope * x.variance +
                                                   passed.rest + passed.noise + passed.back_noise);
  if (!leaves_lognormal(variance, slope)) {
    calculus.omit(0, omitted_of_cross(variance, slope));
    return 0;
  }
  calculus.assume("activation", "draws of this width part ways: some die, some grow",
                  "variance of ln E x^2 where its map is steeper than 1", variance, most_lognormal);
  return std::min(std::max(0.0, x.mean) + range_deviations * std::sqrt(x.variance), largest_log);
}

/// Behind a gated unit a feature y = phi_g(u) w is Gaussian given u, of variance S q with S =
/// phi_g(u)^2/E phi_g^2: what E phi^2, and E phi beside its root, over S are off by from those at S
/// = 1.
template <class C>
double heavy_of_gate(C& calculus, const typename C::Function& phi, const ActivationInput& gate,
                     double variance) {
  constexpr double step = 0.25, reach = 6;
  const Activation& of_gate = calculus.function(gate.function)->activation();
  const double mean = gate.input.mean,
               deviation = std::sqrt(std::max(0.0, gate.input.second - mean * mean));
  double all = 0, second = 0;
  std::vector<std::array<double, 2>> nodes;  // weight and phi_g^2
  for (double z = -reach; z <= reach; z += step) {
    const double value = of_gate.value(mean + deviation * z);
    nodes.push_back({std::exp(-z * z / 2), value * value});
    all += nodes.back()[0];
    second += nodes.back()[0] * nodes.back()[1];
  }
  if (!(second > 0) || !std::isfinite(second)) return no_mean;
  const auto mean_at = [&](double q) {
    return calculus.expectation(phi, Moment::mean, Token<double>{0, q});
  };
  const double one = calculus.sizes(phi, 0, variance).second, mean_of_one = mean_at(variance);
  double f = 0, m = 0;
  for (const auto& [weight, square] : nodes) {
    constexpr double least = 1e-9;
    const double q = variance * std::max(least, square * all / second);
    f += weight / all * calculus.sizes(phi, 0, q).second;
    m += weight / all * mean_at(q);
  }
  const double of_mean = std::fabs(m - mean_of_one) / std::sqrt(one);
  const double found = std::max(
      std::fabs(f / one - 1), of_mean * std::max(1.0, 2 * std::fabs(mean_of_one) / std::sqrt(one)));
  return std::isfinite(found) ? found : no_mean;
}

/// What E phi^2 and E phi(u)phi(v) may be off by for features that are not Gaussian, of
/// `heavy` = kurtosis/3 - 1: a gate's are a mixture; of others a fourth cumulant kappa adds kappa/6
/// d^2/dq^2 E phi^2, as E phi^2 follows the heat equation, and what that leaves is its square and
/// that of a third one.
template <class C, class X>
double known_heavy(C& calculus, const typename C::Function& phi, const Signal<X>& in,
                   const Alike<double>& x, const Alike<double>& y, const WidthMoments& moments,
                   double heavy) {
  const double variance = x.second - x.mean * x.mean;
  if (!(heavy > 0) || !(variance > 0) || !in.mixture.plain()) return heavy;
  if (in.flat && in.flat->gate && x.mean == 0)
    return std::min(heavy, heavy_of_gate(calculus, phi, *in.flat, variance));
  const double of_mean = std::fabs(moments.mean_curvature) / std::sqrt(y.second);
  const double bend =
      std::max(std::fabs(moments.curvature),
               of_mean * std::max(1.0, 2 * std::fabs(y.mean) / std::sqrt(y.second)));
  const double skewness = in.spread.skewness;
  const double known = heavy / 2 * bend + heavy * heavy + skewness * skewness;
  return std::isfinite(known) ? std::min(heavy, known) : heavy;
}

/// E phi phi moves with r by E phi' phi', at most what it is on the way to two tokens that are one,
/// and with m where r stays by what is left of its growth with both.
template <class C, class X>
RelativeError error_through(const C& calculus, const RelativeError& of, const Alike<double>& x,
                            const Alike<double>& y, const WidthMoments& moments, const X* slopes) {
  const double both = std::fabs(moments.exponent);
  RelativeError made{both * of.second, both * of.cross};
  const double apart = x.second - x.cross;
  if (slopes == nullptr || !(y.second > 0) || !(apart > 0)) return made;
  const Alike<double> slope = values_of(calculus, *slopes);
  const double reach = std::min(1.0, of.apart() * x.second / apart);
  const double most = std::fabs(slope.cross) + reach * std::fabs(slope.second - slope.cross);
  const double by_r = most * x.second / y.second;
  const double by_m =
      std::fabs(moments.exponent * y.cross / y.second - slope.cross * x.cross / y.second);
  made.cross = std::min<double>(both * (of.cross + of.second), by_r * of.cross + by_m * of.second);
  // Of f(m) - K, by what it grows with m where D stays besides.
  const double by_size =
      std::fabs(moments.exponent * (y.second - y.cross) - slope.cross * apart) / y.second;
  const double unknown = by_r * of.apart() + by_size * of.second;
  made.cross = std::min<double>(made.cross, made.second + unknown);
  made.know_apart(unknown);
  return made;
}

/// E K(r) - K(E r) of K = E phi(u)phi(v), over an overlap r of mean `cross` that fluctuates by
/// `variance`, half of it to either side (docs/theory/layers.md#bend). Where r has not that room it
/// is no rule but the size of one: `fits` is false.
struct Bend {
  double value = 0;
  bool fits = true;
};
template <class C>
Bend bend_of_pair(C& calculus, const typename C::Function& phi, const Alike<double>& x,
                  double cross, double variance) {
  const double q = x.second - x.mean * x.mean;
  if (!(variance > 0) || !(q > 0)) return {};
  const double room = std::min(x.second - cross, q + cross - x.mean * x.mean);
  const double deviation = std::sqrt(variance), step = std::min(deviation, std::max(room, 0.0));
  // Of nearly equal tokens it is no more than (1 - c)^(1/2) of what they differ by (at a kink of
  // phi), where differences of rounded kernels would say anything.
  constexpr double least_room = 1e-8;
  if (!(step > 0) || room < least_room * x.second) return {};
  const Token<double> u{x.mean, x.second};
  const auto at = [&](double r) { return calculus.pair(phi, Moment::cross, u, u, r); };
  const double bend = (at(cross + step) + at(cross - step) - 2 * at(cross)) / 2;
  return {bend * variance / (step * step), room >= deviation};
}

/// What E phi'^2 = `slope` may be off by for features x of kurtosis 3 (1 + h): to first order h, as
/// of sizes that vary. To second order h/(1 + h) of them may be nearly the same within a deviation
/// of the mean, as where most are 0, with the largest phi'^2 there.
inline double unknown_slopes(const Activation& phi, const Alike<double>& x, double slope,
                             double heavy) {
  if (!(slope > 0) || !(heavy > 0)) return heavy;
  const double deviation = std::sqrt(std::max(0.0, x.second - x.mean * x.mean));
  double most = 0;
  const auto look = [&](double at) {
    if (std::fabs(at - x.mean) <= deviation) most = std::max(most, std::fabs(phi.slope(at)));
  };
  for (const double at : {x.mean - deviation, x.mean, x.mean + deviation}) look(at);
  for (const double at : phi.scales()) look(at);
  const double same = std::min(1.0, heavy) * heavy / (1 + heavy);
  return std::max(heavy, same * (most * most / slope - 1));
}

/// E phi'^2 and E phi'(u)phi'(v) where E u^2 and E u v are not known better: the second moves with
/// d ln E phi'^2/d ln q, the cross by the mean slope of the kernel between its cosine and 1
/// besides.
template <class C, class X>
RelativeError relative_slope_error(const C& calculus, const ActivationRecord<X>& record) {
  const Alike<double>& x = record.passage.x;
  const Alike<double> slopes = values_of(calculus, record.slopes);
  RelativeError bound{
      std::fabs(record.slope_exponent) * record.truncation.second + record.heavy_slopes, 0};
  bound.cross = bound.second;
  const double apart = x.second - x.cross;
  if (slopes.second > 0 && apart > 0)
    bound.cross +=
        std::min<double>(record.truncation.cross * x.second / apart,
                         record.truncation.apart() * x.second / apart + record.truncation.second) *
        std::fabs(slopes.second - slopes.cross) / slopes.second;
  return bound;
}

/// What of a gradient without a mean is left below the activation is the share that few samples
/// make.
inline double few_samples_error(double alive, double few) {
  return 2 * few / alive;
}

}  // namespace scalecalc::moments
