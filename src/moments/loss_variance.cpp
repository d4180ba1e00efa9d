#include "moments/loss_variance.hpp"

#include <algorithm>
#include <cmath>

#include "moments/head_softmax.hpp"
#include "moments/weightless.hpp"
#include "scalecalc/softmax.hpp"

namespace scalecalc::moments {
namespace {

/// g over the average entry's infinite-width value at tau2 e^x.
class LossSize {
 public:
  LossSize(const Network& network, double tau2)
      : network_(network), tau2_(tau2), at_(value(tau2)) {}
  double log_at(double x) const { return std::log(value(tau2_ * std::exp(x)) / at_); }
  /// Relative variance of |dL/dy|^2 at given logit variance: a target's own probability, or a
  /// Gaussian of so many entries.
  double own() const {
    const auto v = static_cast<double>(network_.classes);
    if (network_.loss == Loss::mse) return 2 / v;
    const double p2 = at_ - 1 + 2 / v;
    return at_ > 0 ? 4 * std::max(0.0, p2 / v - 1 / (v * v)) / (at_ * at_) : 0;
  }

 private:
  double value(double tau2) const {
    if (network_.loss == Loss::mse) return tau2 + network_.target_second;
    const auto v = static_cast<double>(network_.classes);
    return 1 - 2 / v + softmax_one(network_.classes, std::min(tau2, condensed)).p2.value;
  }
  const Network& network_;
  double tau2_, at_;
};

struct Line {
  double mean = 0, slope = 0, rest = 0;
};

/// The best line through ln g, x Gaussian: three points where it fluctuates little.
Line line_of(const LossSize& size, const LogSize& x) {
  constexpr double little = 0.3, least = 1e-6;
  const double deviation = std::sqrt(std::max(x.variance, least));
  const int half = x.variance < little ? 1 : 5;
  const double step = half == 1 ? std::sqrt(3.0) : 1;
  double total = 0, y = 0, ty = 0, yy = 0;
  for (int k = -half; k <= half; ++k) {
    const double t = k * step;
    const double weight = half == 1 ? (k == 0 ? 4.0 : 1.0) : std::exp(-t * t / 2);
    const double at = size.log_at(x.mean + deviation * t);
    total += weight;
    y += weight * at;
    ty += weight * t * at;
    yy += weight * at * at;
  }
  Line line{y / total, ty / total / deviation, 0};
  line.rest = std::max(
      0.0, yy / total - line.mean * line.mean - line.slope * line.slope * deviation * deviation);
  return line;
}

}  // namespace

LossVariance loss_variance(const Network& network, const Alike<double>& logits,
                           const NormVariance& spread, const Alike<double>& gradient,
                           const Counts& counts) {
  LossVariance head;
  head.classes = static_cast<double>(network.classes);
  head.gradient = gradient;
  // The loss of one class is 0, and so is its gradient in every draw.
  if (!(logits.second > 0) || !(gradient.second > 0)) return head;
  const LossSize size(network, logits.second);
  const LogSize x = log_size(spread, head.classes);
  const Line line = line_of(size, x);
  const double own = size.own(), samples = counts.samples();
  // The entries of orthogonal weights fluctuate by less than Gaussian ones do.
  const double latent = std::max(0.0, x.variance);
  const double follows = line.slope * line.slope * latent + line.rest;
  head.spread.token_variance = follows + own;
  const double all = spread.batch_variance - 2 / head.classes * pairs_squared(logits, counts);
  const double correlation =
      spread.token_variance > 2 / head.classes
          ? std::clamp(all / (spread.token_variance - 2 / head.classes), 1 / samples, 1.0)
          : 1;
  head.spread.batch_variance =
      follows * correlation +
      (network.loss == Loss::mse ? own * pairs_squared(gradient, counts) : own / samples);
  head.spread.mean_shift = std::expm1(line.mean - own / 2 + head.spread.token_variance / 2);
  head.sensitivity = line.slope;
  if (spread.log_range > 0)
    head.spread.log_range = std::max(std::fabs(size.log_at(spread.log_range)),
                                     std::fabs(size.log_at(-spread.log_range)));
  const double cross = samples > 1 ? mean_of_pairs(gradient, counts) : gradient.cross;
  const double k = gradient.second > 0 ? cross / gradient.second : 0;
  head.squared_cosine = std::min(1.0, k * k + (head.classes > 1 ? 1 / (head.classes - 1) : 0));
  return head;
}

bool is_plain(const Network& network) {
  return std::all_of(network.layers.begin(), network.layers.end(), [](const Layer& layer) {
    return is_matrix(layer) || std::holds_alternative<ActivationLayer>(layer.op) ||
           is_identity(layer);
  });
}

/// Over tokens the covariance of one feature's gradients, and that of the inputs, is a (1 on the
/// diagonal) + b elsewhere: their product entry by entry has two eigenvalues.
Pairing pairing(const LossVariance& head, const SignalCoupling& coupling, const Alike<double>& x,
                const Counts& counts) {
  const double samples = counts.samples();
  const double g = head.gradient.second, m = x.second;
  if (samples <= 1 || !(g > 0) || !(m > 0)) return {};
  const double k = mean_of_pairs(head.gradient, counts) / g, r = mean_of_pairs(x, counts) / m;
  const auto purity = [&](double a, double b, double less) {
    const double shared = (1 + (samples - 1) * a) * (1 + (samples - 1) * b);
    const double apart = (1 - a) * (1 - b), total = shared + (samples - 1) * apart;
    if (!(total > 0)) return 1.0;
    const double squares = shared * shared + (samples - 1) * apart * apart - less;
    return std::clamp(squares / (total * total), 0.0, 1.0);
  };
  Pairing made;
  const double tied = std::clamp(coupling.token_ratio * k, -1 / (samples - 1), 1.0);
  const double chance = std::max(0.0, coupling.squared_cosine - tied * tied);
  made.purity = purity(r, tied, -samples * (samples - 1) * chance * (1 - r) * (1 - r));
  // Gaussian but for a token's own square, which the loss makes nearly constant.
  if (head.classes > 1)
    made.noise = 2 / (head.classes - 1) * purity(coupling.token_ratio * r, k, samples);
  return made;
}

/// The gradient follows the input with the exponent `follows` beside what is independent.
WeightVariance weight_variance(const LossVariance& head, const NormVariance& g,
                               const SignalCoupling& coupling, const NormVariance& input,
                               double share, const Alike<double>& x, const Counts& counts) {
  const double follows = coupling.sensitivity * share;
  const Pairing pairs = pairing(head, coupling, x, counts);
  const auto part = [&](const NormVariance& of) {
    const double between = between_tokens(of.token_variance, of.batch_variance, counts);
    return between + (of.token_variance - between) * pairs.purity;
  };
  WeightVariance made;
  made.spread = std::max(0.0, part(g) + (1 + 2 * follows) * part(input)) + pairs.noise;
  const double log_mean =
      std::log1p(input.mean_shift) + std::log1p(g.mean_shift) + follows * input.token_variance;
  made.mean_shift = std::expm1(std::min(log_mean, largest_log));
  made.log_range = std::min(input.log_range + g.log_range, largest_log);
  return made;
}

}  // namespace scalecalc::moments
