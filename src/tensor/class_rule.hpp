#pragma once

#include <cmath>

#include "base/host_device.hpp"

/// Cross-entropy, by token and by class.
namespace scalecalc::tensor {

/// -ln softmax(logits)[target], with `sum` that of e^(logit - top) over the classes and `top` the
/// largest logit.
template <class Real>
SCALECALC_HOST_DEVICE double class_loss(Real sum, Real target_logit, Real top) {
  return std::log(static_cast<double>(sum)) - static_cast<double>(target_logit - top);
}

/// The gradient of one logit; `hit` is 1 for the target's, 0 for the others.
template <class Real>
SCALECALC_HOST_DEVICE Real class_gradient(Real scale, Real probability, Real hit) {
  return scale * (probability - hit);
}

}  // namespace scalecalc::tensor
