#pragma once

#include "moments/calculus.hpp"
#include "moments/norm_variance.hpp"

/// Finite width on the way back of networks with norms, sums or attention: how far the size of a
/// gradient fluctuates over weight draws. Two sizes are followed, sum_t |g_t|^2 and |sum_t g_t|^2
/// (t runs over all samples of a batch), for they fare differently: a matrix of n columns moves the
/// one sum by 2/n and the many tokens by that times how alike they are, and attention hands on
/// little but the sum. A weight's gradient sum_t x_t g_t is made of both: of the sum as far as the
/// tokens x_t are alike. Covariances are those of the logarithms.
namespace scalecalc::moments {

/// A gradient's averages, and what follows from them.
struct Coherent {
  double samples = 1;
  double second = 0;     ///< g
  double row = 0;        ///< E |sum_t g_t|^2/samples = g + (samples - 1) k
  double coherence = 1;  ///< row/(samples g): mean of cos^2 of g_t and the sum
  double purity = 1;     ///< mean of cos^2 of g_t and g_u, over all pairs
  Coherent(const Alike<double>& g, const Counts& counts);
};

/// Of the loss gradient in the logits: `logits` and `gradient` are averages, `spread` that of
/// the logits.
LogCovariance covariance_of_loss(const Network& network, const Alike<double>& logits,
                                 const NormVariance& spread, const Alike<double>& gradient,
                                 const Counts& counts);

/// W^T g into `width` features, noise as in weight_noise.
void covariance_through_linear(LogCovariance& logs, const Coherent& g, double noise, double width);

/// Of phi'(x_t) g_t: E phi'^2 and E phi'_t phi'_u of the x, the relative fourth moment of phi', and
/// how far ln E phi'^2 follows the size of x.
struct SlopeStatistics {
  Alike<double> slopes, x;
  double kurtosis = 1;
  double follows = 0;  ///< variance
  double width = 1;
};
void covariance_through_slopes(LogCovariance& logs, const SlopeStatistics& by,
                               const Alike<double>& g, const Counts& counts);

/// g/s of a norm whose s^2 fluctuates by as much, in all tokens together.
void covariance_through_norm(LogCovariance& logs, double of_size);

/// The sum of the skip's and the branch's gradient, both made of `start`, whose covariance they
/// carry on by their `since`; left and right: their averages.
LogCovariance covariance_of_sum(const LogCovariance& start, const LogCovariance& skip,
                                const LogCovariance& branch, const Alike<double>& left,
                                const Alike<double>& right, double width, const Counts& counts);

/// Gradients of attention: what goes to the keys is made of `own` of each query and `pair` of each
/// two, times g and k.
struct PairShares {
  double own = 1, pair = 1;
};
/// To values and keys; the sum over tokens stays as it is (of keys it is 0).
LogCovariance covariance_to_keys(const LogCovariance& logs, const Alike<double>& g,
                                 const PairShares& shares, const Counts& counts);
/// To queries, token by token.
LogCovariance covariance_to_queries(const LogCovariance& logs, const Alike<double>& g,
                                    const PairShares& shares, const Counts& counts);

/// Variance of ln |sum_t x_t g_t|^2 as far as the gradient makes it.
double variance_of_product(const LogCovariance& logs, const Alike<double>& x,
                           const Alike<double>& g, const Counts& counts);

}  // namespace scalecalc::moments
