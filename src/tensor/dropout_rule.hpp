#pragma once

#include "base/philox.hpp"

/// Dropout: which entries a mask keeps, and what it multiplies them by.
namespace scalecalc::tensor {

/// Value `index` of a mask's stream, uniform in (0, 1).
SCALECALC_HOST_DEVICE static inline double uniform_value(const base::Stream& mask,
                                                         std::uint64_t index) {
  const base::Philox4 words = base::philox_block(mask, index / 2);
  const bool odd = index % 2 != 0;
  return base::uniform_from_words(odd ? words.v[2] : words.v[0], odd ? words.v[3] : words.v[1]);
}

/// 1/(1 - rate), in the precision of the entries.
template <class Real>
SCALECALC_HOST_DEVICE Real kept_factor(double rate) {
  return static_cast<Real>(1.0 / (1.0 - rate));
}

/// `kept` where the uniform value is at least `rate`, else 0.
template <class Real>
SCALECALC_HOST_DEVICE Real dropout_factor(double uniform, double rate, Real kept) {
  return uniform < rate ? Real(0) : kept;
}

}  // namespace scalecalc::tensor
