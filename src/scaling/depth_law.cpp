#include "scaling/depth_law.hpp"

#include <algorithm>
#include <cmath>

namespace scalecalc {
namespace {

const Rational kHalf(1, 2);

Rational magnitude(const Rational& value) {
  return value.sign() < 0 ? -value : value;
}

/// What the median draw of a sum over a random walk of variance x at its end has beside the walk's
/// mean: e^(x/20) to first order in x, e^(q x^(1/2)) of the largest value for large x, q = 0.6745
/// the upper quartile of a normal variable (docs/theory/scaling.md#warm-up-draws).
Expr median_draw(const Expr& x) {
  const Expr ends = Rational(91, 20);  // 10 q^2
  return exp(ends * (sqrt(1 + x / (10 * ends)) - 1));
}

/// sum over layers of e^(rate p l/2), each with its branches. Written with the larger end in front,
/// so that every factor is positive.
Expr held_sum(const Rational& power, const BlockMoments& moments, std::int64_t sublayers,
              const Expr& depth) {
  const Rational half_power = power * kHalf, rate = moments.rate * half_power;
  const Expr draws = median_draw(moments.spread * half_power * half_power * depth);
  if (rate.is_zero()) return Expr(sublayers) * depth * draws;
  const Expr size = magnitude(rate);
  const Expr front = rate.sign() > 0 ? exp(size * depth) : Expr(1);
  return Expr(sublayers) * front * draws * (1 - exp(-size * depth)) / size;
}

/// With w = 1 + n beta: w^((kappa - 1) p/2) times the integral of m^(-kappa p/2) dm/beta from 1 to
/// w.
Expr added_sum(const Rational& power, const BlockMoments& moments, const Expr& branches) {
  const Expr beta = moments.growth, end = 1 + branches * beta;
  const Rational half_power = power * kHalf, left = Rational(1) - moments.kappa * half_power;
  const Expr front = pow(end, (moments.kappa - Rational(1)) * half_power);
  if (left.is_zero()) return front * log(end) / beta;
  return (pow(end, Rational(1) - half_power) - front) / (Expr(left) * beta);
}

}  // namespace

Expr plain_loss_change(const StepLaw& law, const Block& block, const BlockMoments& moments,
                       std::int64_t sublayers, const Expr& depth) {
  const Expr sum = stream_growth(block) == StreamGrowth::held
                       ? held_sum(law.gradient_power, moments, sublayers, depth)
                       : added_sum(law.gradient_power, moments, Expr(sublayers) * depth);
  return pow(sum, law.outer_power);
}

// Of ln integral e^(y s + sqrt(x) B_s) ds over 0 < s < 1, B Brownian motion: x times the mean of
// min(s, t) at the weights e^(y s), the integral of (share of weight past s)^2.
std::optional<double> loss_change_spread(const StepLaw& law, const Block& block,
                                         const BlockMoments& moments, double layers) {
  if (stream_growth(block) != StreamGrowth::held) return std::nullopt;
  const double half_power = law.gradient_power.to_double() / 2, outer = law.outer_power.to_double();
  const double x = moments.spread.to_double() * half_power * half_power * layers;
  const double y = moments.rate.to_double() * half_power * layers;
  constexpr double flat = 1e-3;  // rounding in y^3 below it, the next term of the series above
  if (std::fabs(y) < flat) return outer * outer * x * (1.0 / 3 + y / 12);
  // All weight at one end.
  constexpr double largest = 300;
  const double end = std::exp(-std::clamp(y, -largest, largest)), past = 1 - end;
  const double apart = (y - 2 * past + (1 - end * end) / 2) / (y * past * past);
  return outer * outer * x * apart;
}

std::string why_explosive(const Block& block, const BlockMoments& moments) {
  switch (stream_growth(block)) {
    case StreamGrowth::held: return {};
    case StreamGrowth::multiplied:
      return "no norm stands in the block, so each branch multiplies the stream and its gradients "
             "instead of adding to them: the loss change grows exponentially with depth";
    case StreamGrowth::added: break;
  }
  if (!reads_bare_stream(block) || moments.bounded_scores) return {};
  return "attention reads the stream without a norm, so the variance of its scores grows as the "
         "square of the stream's second moment, softmax turns into a choice of one key, and the "
         "gradient through it grows exponentially with depth; norms of q and k (qk_norm) keep it "
         "a power";
}

double summed_loss_change(const StepLaw& law, double beta, double kappa, std::int64_t branches) {
  const double half_power = law.gradient_power.to_double() / 2;
  const double log_end = std::log1p(beta * static_cast<double>(branches));
  double sum = 0;
  for (std::int64_t l = 0; l < branches; ++l) {
    const double log_here = std::log1p(beta * static_cast<double>(l));
    sum += std::exp(half_power * ((kappa - 1) * log_end - kappa * log_here));
  }
  return std::pow(sum, law.outer_power.to_double());
}

}  // namespace scalecalc
