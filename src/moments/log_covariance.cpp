#include "moments/log_covariance.hpp"

#include <algorithm>
#include <cmath>

#include "moments/head_softmax.hpp"
#include "moments/loss_variance.hpp"
#include "scalecalc/softmax.hpp"

namespace scalecalc::moments {
namespace {

using Two = Eigen::Matrix2d;

Two symmetric(double second, double sum, double both) {
  Two made;
  made << second, both, both, sum;
  return made;
}

/// The average over pairs of different samples; one sample is as alike as itself.
double cross_of(const Alike<double>& x, const Counts& counts) {
  return counts.samples() > 1 ? mean_of_pairs(x, counts) : x.second;
}

double cosine_of(const Alike<double>& x, const Counts& counts) {
  return x.second > 0 ? std::clamp(cross_of(x, counts) / x.second, -1.0, 1.0) : 1;
}

/// What is left of `now` beyond what it has of the start's.
Two own_part(const LogCovariance& logs, const Two& start) {
  const Two own = logs.value - logs.propagator * start * logs.propagator.transpose();
  const double second = std::max(own(0, 0), 0.0), sum = std::max(own(1, 1), 0.0);
  const double most = std::sqrt(second * sum);
  return symmetric(second, sum, std::clamp(own(0, 1), -most, most));
}

void propagate_by(LogCovariance& logs, const Two& slopes) {
  logs.value = slopes * logs.value * slopes.transpose();
  logs.propagator = slopes * logs.propagator;
}

}  // namespace

Coherent::Coherent(const Alike<double>& g, const Counts& counts)
    : samples(counts.samples()), second(g.second), row(std::max(row_sum(g, counts), 0.0)) {
  if (!(second > 0)) return;
  coherence = std::clamp(row / (samples * second), 0.0, 1.0);
  purity = std::clamp(pairs_squared({0, g.second, g.cross, g.between}, counts), 0.0, 1.0);
}

/// Cross-entropy: with p_t about 1/V added up to pi, and the targets' counts about N/V to nu, the
/// sum is pi - nu, and |pi|^2 - 2 pi.nu + |nu|^2 has the variance of |pi|^2, 4 |pi|^2 N/V and 2 N
/// (N - 1)/V (pairs of equal targets) beside its square.
LogCovariance covariance_of_loss(const Network& network, const Alike<double>& logits,
                                 const NormVariance& spread, const Alike<double>& gradient,
                                 const Counts& counts) {
  LogCovariance made;
  const LossVariance head = loss_variance(network, logits, spread, gradient, counts);
  const Coherent g(gradient, counts);
  const auto v = static_cast<double>(network.classes);
  const double n = g.samples;
  double sum = 2 / v;
  if (network.loss == Loss::mse) {
    const double total = logits.second + network.target_second;
    const double share = total > 0 ? logits.second / total : 0;
    const double own = 2 / v * pairs_squared(logits, counts);
    sum += share * share * std::max(0.0, spread.batch_variance - own);
  } else if (g.row > 0 && v > 1) {
    // In units in which one target's is 1: g stands for V g = 1 - 2/V + P2.
    const double tau2 = std::min(logits.second, condensed);
    const SoftmaxOrders one = softmax_orders(network.classes, tau2);
    const double own = std::max(one.p2 - 1 / v, 0.0), unit = 1 - 2 / v + one.p2;
    const double total = n * unit * g.row / g.second, targets = n * (1 - 1 / v);
    const double pi = std::max(total - targets, n * own);
    const double pairs = std::clamp(1 - n * own / pi, 0.0, 1.0);
    const double alone =
        own > 0 ? std::max(one.t2 - 1 + 2 * one.p2 - one.p2 * one.p2, 0.0) / own / own : 0;
    const double of_pi = alone * (pairs * pairs + (1 - pairs) * (1 - pairs) / n);
    const double variance = pi * pi * of_pi + 4 * pi * n / v + 2 * n * (n - 1) / v * (1 - 1 / v);
    sum = std::log1p(variance / (total * total));
  }
  made.value = symmetric(head.spread.batch_variance, sum, 0);
  return made;
}

void covariance_through_linear(LogCovariance& logs, const Coherent& g, double noise, double width) {
  logs.value += noise / width * symmetric(g.purity, 1, g.coherence);
}

/// Units whose phi' is large have it for all tokens that are alike.
void covariance_through_slopes(LogCovariance& logs, const SlopeStatistics& by,
                               const Alike<double>& g, const Counts& counts) {
  const Coherent in(g, counts);
  const double k = cross_of(g, counts), slope = cross_of(by.slopes, counts);
  const double row = by.slopes.second * in.second + (in.samples - 1) * slope * k;
  const double share = row > 0 ? std::clamp(slope * in.row / row, 0.0, 1.0) : 0;
  Two slopes;
  slopes << 1, 0, 1 - share, share;
  propagate_by(logs, slopes);
  const double c = cosine_of(by.x, counts), c_g = cosine_of(g, counts), others = in.samples - 1;
  const double alike = (1 + others * c * c) / in.samples;
  const double second = (3 + others * c * c * (1 + 2 * c_g * c_g)) / in.samples;
  const double noise = (by.kurtosis - 1) / by.width;
  logs.value += noise * symmetric(second, 3 * alike, alike * (1 + 2 * in.coherence));
  covariance_through_norm(logs, by.follows);
}

void covariance_through_norm(LogCovariance& logs, double of_size) {
  logs.value += symmetric(of_size, of_size, of_size);
}

LogCovariance covariance_of_sum(const LogCovariance& start, const LogCovariance& skip,
                                const LogCovariance& branch, const Alike<double>& left,
                                const Alike<double>& right, double width, const Counts& counts) {
  const Coherent l(left, counts), r(right, counts);
  const double total = l.second + r.second, rows = l.row + r.row;
  LogCovariance made = start;
  if (!(total > 0)) return made;
  const double p = l.second / total, p_sum = rows > 0 ? l.row / rows : p;
  const Two kept = symmetric(p, p_sum, 0), added = symmetric(1 - p, 1 - p_sum, 0);
  const Two slopes = kept * skip.propagator + added * branch.propagator;
  made.value = slopes * start.value * slopes.transpose() +
               kept * own_part(skip, start.value) * kept +
               added * own_part(branch, start.value) * added;
  made.propagator = slopes * start.propagator;
  // Scalar products of the two, of independent directions.
  const double c_l = cosine_of(left, counts), c_r = cosine_of(right, counts);
  const double alike = std::max(0.0, (1 + (l.samples - 1) * c_l * c_r) / l.samples);
  const double one = 4 * p * (1 - p) / width * alike, sum = 4 * p_sum * (1 - p_sum) / width;
  made.value += symmetric(one, sum, std::sqrt(one * sum * std::sqrt(l.coherence * r.coherence)));
  return made;
}

namespace {

/// Of a g + (N - 1) b k = (a - b) g + b row, the share of the latter.
double share_of_sum(const Alike<double>& g, const PairShares& shares, const Counts& counts) {
  const double own = shares.own * g.second;
  const double total = own + shares.pair * (counts.tokens - 1) * g.cross;
  if (!(total > 0)) return 0;
  const double row = g.second + (counts.tokens - 1) * g.cross;
  return std::clamp(shares.pair * row / total, 0.0, 1.0);
}

}  // namespace

LogCovariance covariance_to_keys(const LogCovariance& logs, const Alike<double>& g,
                                 const PairShares& shares, const Counts& counts) {
  LogCovariance made = logs;
  const double sum = share_of_sum(g, shares, counts);
  Two slopes;
  slopes << 1 - sum, sum, 0, 1;
  propagate_by(made, slopes);
  return made;
}

LogCovariance covariance_to_queries(const LogCovariance& logs, const Alike<double>& g,
                                    const PairShares& shares, const Counts& counts) {
  LogCovariance made = logs;
  const double sum = share_of_sum(g, shares, counts);
  Two slopes;
  slopes << 1, 0, 1 - sum, sum;
  propagate_by(made, slopes);
  return made;
}

double variance_of_product(const LogCovariance& logs, const Alike<double>& x,
                           const Alike<double>& g, const Counts& counts) {
  const Coherent of(g, counts);
  const double r = std::max(cross_of(x, counts), 0.0), apart = std::max(x.second - r, 0.0);
  const double total = r * of.row + apart * of.second;
  if (!(total > 0)) return std::max(logs.value(0, 0), 0.0);
  const Eigen::Vector2d weights(apart * of.second / total, r * of.row / total);
  return std::max(weights.dot(logs.value * weights), 0.0);
}

}  // namespace scalecalc::moments
