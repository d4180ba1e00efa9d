#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "moments/attention_keys.hpp"
#include "moments/attention_residual.hpp"
#include "scalecalc/network.hpp"

/// Learnt biases of scores by the distance of a key (docs/theory/attention.md#relative): Gaussian,
/// independent of the tokens, one a bucket and head.
namespace scalecalc::moments {

/// Of biases of variance 1: of a row, their variance over its keys, `second`; of two rows, their
/// covariance at a key that both see less that at two different ones, `cross`.
template <class X>
struct BiasOverlap {
  X covariance;
  /// Relative variances between heads: of that of one row, and of its average over the rows.
  double row_variance = 0, head_variance = 0;
};

/// Tokens that are alike, without a mask.
BiasOverlap<Alike<double>> bias_overlap(const RelativeBias& bias, std::int64_t tokens);

/// Under a causal mask: of each bucket, how far its keys stand out of a row that weighs all alike,
/// x_bts = (1 where the key s of row t is in the bucket, less their share of the row) / keys.
class BucketRows {
 public:
  BucketRows(const RelativeBias& bias, std::shared_ptr<const Positions> positions);

  /// tr J_t J_u, of weights that are all alike.
  const Eigen::ArrayXXd& slopes() const { return slopes_; }
  /// sum over buckets and pairs of keys of x_bts x_bus' V_ss'.
  Eigen::ArrayXXd through(const PerPosition& values) const;
  /// As in BiasOverlap; of one row that of all tokens.
  double row_variance() const { return row_variance_; }
  double head_variance() const { return head_variance_; }

 private:
  struct Bucket {
    Eigen::MatrixXd rows, gathered;  ///< keys all tokens, or gathered to positions
  };
  std::shared_ptr<const Positions> positions_;
  std::vector<Bucket> buckets_;
  Eigen::ArrayXXd slopes_;
  double row_variance_ = 0, head_variance_ = 0;
};

/// The last layer's, for those that are like it.
struct KnownBucketRows {
  const Positions* positions = nullptr;
  std::int64_t buckets = 0, distance = 0;
  std::shared_ptr<const BucketRows> rows;
  BiasOverlap<PerPosition> overlap;
};
const KnownBucketRows& bucket_rows(KnownBucketRows& known, const RelativeBias& bias,
                                   const PerPosition& rows);

/// What biases do to an attention: BiasOverlap, and the same as gradients weigh it, whose values
/// have a structure under a mask.
template <class X>
struct Biases {
  BiasOverlap<X> overlap;
  X gradient;
};

/// `values`: what they are made of, with D = `apart`.
template <class C>
Biases<Alike<double>> biases_of(C& /*calculus*/, const Attention& layer,
                                const Alike<double>& /*values*/, const Alike<double>& /*apart*/,
                                std::int64_t tokens) {
  const BiasOverlap<Alike<double>> overlap = bias_overlap(layer.relative, tokens);
  return {overlap, overlap.covariance};
}
PerPosition bias_gradient(const BucketRows& rows, const PerPosition& values,
                          const PerPosition& apart);
template <class C>
Biases<PerPosition> biases_of(C& calculus, const Attention& layer, const PerPosition& values,
                              const PerPosition& apart, std::int64_t tokens) {
  if (!layer.causal) {
    const BiasOverlap<Alike<double>> overlap = bias_overlap(layer.relative, tokens);
    const PerPosition all = uniform(values, overlap.covariance);
    return {{all, overlap.row_variance, overlap.head_variance}, all};
  }
  const KnownBucketRows& known =
      bucket_rows(calculus.template cache<KnownBucketRows>(), layer.relative, values);
  return {known.overlap, bias_gradient(*known.rows, values, apart)};
}

/// Scores with their biases: `own` as in with_scores.
template <class C, class X>
ScoreSum<X> with_biases(const C& calculus, const X& own, const BiasOverlap<X>& overlap,
                        const Attention& layer, double features) {
  const X biases = scaled(overlap.covariance, layer.relative.std * layer.relative.std);
  ScoreSum<X> made{sum(own, biases)};
  const double tau2 = values_of(calculus, own).second, more = values_of(calculus, biases).second;
  const double total = tau2 + more;
  // In units of the 2/d_h of scores.
  made.squares = tau2 * tau2 + more * more * overlap.row_variance * features / 2;
  made.own_share = total > 0 ? tau2 / total : 1;
  made.bias_share = 1 - made.own_share;
  made.concentration = total > 0 ? made.squares / (total * total) : 1;
  return made;
}

}  // namespace scalecalc::moments
