#pragma once

#include "moments/norm_variance.hpp"
#include "scalecalc/network.hpp"

/// Finite width at both ends of the way back: how far the loss gradient fluctuates over draws, and
/// the gradient of a weight, which is a sum of products.
namespace scalecalc::moments {

struct LossVariance {
  double classes = 1;
  Alike<double> gradient;  ///< of the loss in the logits, up to a factor
  NormVariance spread;
  double sensitivity = 0, squared_cosine = 0;  ///< as in SignalCoupling
};

/// `logits`: their moments, and their spread.
LossVariance loss_variance(const Network& network, const Alike<double>& logits,
                           const NormVariance& spread, const Alike<double>& gradient,
                           const Counts& counts);

/// Weights and activations alone: only there is the way back followed to the gradients' own spread.
bool is_plain(const Network& network);

/// A weight's gradient sums x_t x_u times g_t g_u over pairs of tokens.
struct Pairing {
  /// 1 where the pairs act as one vector, whose size fluctuates as one token's does; 1/N where the
  /// tokens are independent.
  double purity = 1;
  double noise = 0;  ///< relative variance of g_t g_u of different tokens, from few logits
};
/// `coupling`: of the gradient; x: the input.
Pairing pairing(const LossVariance& head, const SignalCoupling& coupling, const Alike<double>& x,
                const Counts& counts);

/// Of the average over a weight's entries.
struct WeightVariance {
  double spread = 0;      ///< variance of the logarithm
  double mean_shift = 0;  ///< as in NormVariance
  double log_range = 0;   ///< as in NormVariance
};
/// `share`: of E y^2 that comes from x. A bias has an x of 1 that does not fluctuate.
WeightVariance weight_variance(const LossVariance& head, const NormVariance& g,
                               const SignalCoupling& coupling, const NormVariance& input,
                               double share, const Alike<double>& x, const Counts& counts);

}  // namespace scalecalc::moments
