#pragma once

#include <cmath>
#include <cstdint>

#include "base/host_device.hpp"

/// The arithmetic of the optimizers that acts on each entry alone, for the host and for CUDA.
namespace scalecalc::tensor {

/// What is done with one entry: theta, its gradient g, and two averages of the past. In all of them
/// h = scale g + coupled_decay theta.
enum class ElementRule {
  clip,              ///< g = scale g, clamped to +-limit
  descent,           ///< theta -= rate h + decay theta
  momentum,          ///< first = beta1 first + h; theta -= rate first + decay theta
  nesterov,          ///< the same; theta -= rate (h + beta1 first) + decay theta
  momentum_only,     ///< the same; g = first, theta stays
  nesterov_only,     ///< the same; g = h + beta1 first, theta stays
  adam,              ///< both averages; theta -= rate a + decay theta, with a as below
  adam_only,         ///< both averages; g = rate a + decay theta, theta stays
  lion,              ///< theta -= rate sign(beta1 first + (1 - beta1) h) + decay theta
  root_mean_square,  ///< second = beta2 second + (1 - beta2) (h^2 + eps); g = h/sqrt(second)
  rmsprop,           ///< second = beta2 second + (1 - beta2) h^2; theta -= rate a + decay theta,
                     ///< a = h/(sqrt(second) + eps)
  adagrad,           ///< second += h^2; theta likewise
};

/// Adam's a = first/(sqrt(second) second_correction + eps), first and second being averages of h
/// and h^2 with beta1 and beta2; the correction of the first is part of the rate. Lion's first
/// moves towards h with beta2, after the step.
struct ElementUpdate {
  ElementRule rule = ElementRule::descent;
  double rate = 0.0;
  double decay = 0.0;
  double coupled_decay = 0.0;
  double scale = 1.0;
  double limit = INFINITY;
  double beta1 = 0.0, beta2 = 0.0;
  double eps = 0.0;
  double second_correction = 1.0;
};

/// The same in the precision of the entries.
template <class Real>
struct ElementFactors {
  Real rate, decay, coupled_decay, scale, limit, beta1, rest1, beta2, rest2, eps, correction;
  explicit ElementFactors(const ElementUpdate& u)
      : rate(static_cast<Real>(u.rate)),
        decay(static_cast<Real>(u.decay)),
        coupled_decay(static_cast<Real>(u.coupled_decay)),
        scale(static_cast<Real>(u.scale)),
        limit(static_cast<Real>(u.limit)),
        beta1(static_cast<Real>(u.beta1)),
        rest1(static_cast<Real>(1.0 - u.beta1)),
        beta2(static_cast<Real>(u.beta2)),
        rest2(static_cast<Real>(1.0 - u.beta2)),
        eps(static_cast<Real>(u.eps)),
        correction(static_cast<Real>(u.second_correction)) {}
};

/// NaN keeps its NaN.
template <class Real>
SCALECALC_HOST_DEVICE Real sign_of(Real x) {
  return x > Real(0) ? Real(1) : x < Real(0) ? Real(-1) : x;
}
template <class Real>
SCALECALC_HOST_DEVICE Real clamped(Real x, Real limit) {
  return x > limit ? limit : x < -limit ? -limit : x;
}

/// Both averages and Adam's a.
template <class Real>
SCALECALC_HOST_DEVICE Real adam_direction(const ElementFactors<Real>& u, Real h, Real& first,
                                          Real& second) {
  first = u.beta1 * first + u.rest1 * h;
  second = u.beta2 * second + u.rest2 * (h * h);
  return first / (std::sqrt(second) * u.correction + u.eps);
}

/// Entry i. Averages that the rule does not keep may be null, and theta where it is not read.
template <ElementRule rule, class Real>
SCALECALC_HOST_DEVICE void update_entry(const ElementFactors<Real>& u, std::int64_t i, Real* theta,
                                        Real* gradient, Real* first, Real* second) {
  if constexpr (rule == ElementRule::clip) {
    gradient[i] = clamped(u.scale * gradient[i], u.limit);
  } else if constexpr (rule == ElementRule::root_mean_square) {
    const Real h = u.scale * gradient[i];
    second[i] = u.beta2 * second[i] + u.rest2 * (h * h + u.eps);
    gradient[i] = h / std::sqrt(second[i]);
  } else {
    const Real at = theta[i], h = u.scale * gradient[i] + u.coupled_decay * at;
    if constexpr (rule == ElementRule::descent) {
      theta[i] = at - (u.rate * h + u.decay * at);
    } else if constexpr (rule == ElementRule::adam) {
      theta[i] = at - (u.rate * adam_direction(u, h, first[i], second[i]) + u.decay * at);
    } else if constexpr (rule == ElementRule::adam_only) {
      gradient[i] = u.rate * adam_direction(u, h, first[i], second[i]) + u.decay * at;
    } else if constexpr (rule == ElementRule::rmsprop || rule == ElementRule::adagrad) {
      second[i] = rule == ElementRule::adagrad ? second[i] + h * h
                                               : u.beta2 * second[i] + u.rest2 * (h * h);
      theta[i] = at - (u.rate * (h / (std::sqrt(second[i]) + u.eps)) + u.decay * at);
    } else if constexpr (rule == ElementRule::lion) {
      const Real step = sign_of(u.beta1 * first[i] + u.rest1 * h);
      theta[i] = at - (u.rate * step + u.decay * at);
      first[i] = u.beta2 * first[i] + u.rest2 * h;
    } else {
      const Real past = u.beta1 * first[i] + h, ahead = h + u.beta1 * past;
      first[i] = past;
      if constexpr (rule == ElementRule::momentum) {
        theta[i] = at - (u.rate * past + u.decay * at);
      } else if constexpr (rule == ElementRule::nesterov) {
        theta[i] = at - (u.rate * ahead + u.decay * at);
      } else if constexpr (rule == ElementRule::momentum_only) {
        gradient[i] = past;
      } else {
        gradient[i] = ahead;
      }
    }
  }
}

/// run.template operator()<rule>(), the rule being known only now.
template <class Run>
void with_rule(ElementRule rule, const Run& run) {
  switch (rule) {
    case ElementRule::clip: return run.template operator()<ElementRule::clip>();
    case ElementRule::descent: return run.template operator()<ElementRule::descent>();
    case ElementRule::momentum: return run.template operator()<ElementRule::momentum>();
    case ElementRule::nesterov: return run.template operator()<ElementRule::nesterov>();
    case ElementRule::momentum_only: return run.template operator()<ElementRule::momentum_only>();
    case ElementRule::nesterov_only: return run.template operator()<ElementRule::nesterov_only>();
    case ElementRule::adam: return run.template operator()<ElementRule::adam>();
    case ElementRule::adam_only: return run.template operator()<ElementRule::adam_only>();
    case ElementRule::lion: return run.template operator()<ElementRule::lion>();
    case ElementRule::rmsprop: return run.template operator()<ElementRule::rmsprop>();
    case ElementRule::adagrad: return run.template operator()<ElementRule::adagrad>();
    case ElementRule::root_mean_square:
      return run.template operator()<ElementRule::root_mean_square>();
  }
}

}  // namespace scalecalc::tensor
