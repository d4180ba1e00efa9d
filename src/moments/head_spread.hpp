#pragma once

#include "moments/spread.hpp"
#include "scalecalc/network.hpp"

/// Finite width at both ends of the way back: how far the loss gradient strays over draws, and the
/// gradient of a weight, which is a sum of products.
namespace scalecalc::moments {

struct HeadSpread {
  double classes = 1;
  Alike<double> gradient;  ///< of the loss in the logits, up to a factor
  Spread spread;
  double sense = 0, parallel = 0;  ///< as in Follow
};

/// `logits`: their moments, and `strays`, their spread.
HeadSpread head_spread(const Network& network, const Alike<double>& logits, const Spread& strays,
                       const Alike<double>& gradient, const Counts& counts);

/// Weights and activations alone: only there is the way back followed to the gradients' own spread.
bool is_plain(const Network& network);

/// A weight's gradient sums x_t x_u times g_t g_u over pairs of tokens.
struct Pairing {
  /// 1 where the pairs act as one vector, whose size strays as one token's does; 1/N where the
  /// tokens are independent.
  double purity = 1;
  double noise = 0;  ///< relative variance of g_t g_u of different tokens, from few logits
};
/// `follow`: of the gradient; x: the input.
Pairing pairing(const HeadSpread& head, const Follow& follow, const Alike<double>& x,
                const Counts& counts);

/// Of the average over a weight's entries.
struct WeightStrays {
  double spread = 0;  ///< variance of the logarithm
  double shift = 0;   ///< as in Spread
  double far = 0;     ///< as in Spread
};
/// `share`: of E y^2 that comes from x. A bias has an x of 1 that does not stray.
WeightStrays weight_strays(const HeadSpread& head, const Spread& g, const Follow& follow,
                           const Spread& input, double share, const Alike<double>& x,
                           const Counts& counts);

}  // namespace scalecalc::moments
