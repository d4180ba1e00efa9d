#include "moments/norm.hpp"

namespace scalecalc::moments {

/// The covariance of two tokens' s2 from that of the average over all.
Fluctuation fluctuation_of(const Spread& spread, double width, double share, bool layernorm,
                           const Counts& counts) {
  Fluctuation orders{spread.one, spread.one, spread.one - spread.slack, share,
                     layernorm ? spread.level / width : 0};
  const double samples = counts.samples();
  if (samples > 1) orders.both = (samples * spread.all - spread.one) / (samples - 1);
  return orders;
}

SampleMeans sample_means(const PerPosition& x, const Counts& over) {
  const Positions& at = *x.positions;
  SampleMeans means;
  means.rows = x.second + ((at.pairs * x.cross).rowwise().sum() / at.weight);
  if (over.batch > 1 && x.between.size() > 0)
    means.rows += (over.batch - 1) * (x.between.matrix() * at.weight.matrix()).array();
  means.rows /= over.samples();
  means.all = (at.weight * means.rows).sum() / over.tokens;
  return means;
}

PerPosition centred(const PerPosition& x, double tokens, double batch) {
  const SampleMeans means = sample_means(x, {tokens, batch});
  const Eigen::Index size = x.second.size();
  PerPosition y = x;
  y.mean.setZero();
  y.second -= 2 * means.rows - means.all;
  const Eigen::ArrayXXd rows = means.rows.replicate(1, size);
  const Eigen::ArrayXXd both = rows + rows.transpose() - means.all;
  y.cross -= both;
  if (y.between.size() > 0) y.between -= both;
  return y;
}

}  // namespace scalecalc::moments
