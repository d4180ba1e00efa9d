#include "moments/norm.hpp"

#include <algorithm>

namespace scalecalc::moments {

/// The covariance of two tokens' s2, within a sequence, from that of the average over all samples:
/// between sequences it is smaller by the ratio of the squared cosines, as Gaussian features have
/// it.
Fluctuation fluctuation_of(const Spread& spread, double width, double share, bool layernorm,
                           const Alike<double>& x, const Counts& counts) {
  Fluctuation orders{spread.one, spread.one, spread.one - spread.slack, share,
                     layernorm ? spread.level / width : 0};
  const double samples = counts.samples(), within = x.cross * x.cross;
  const double ratio = within > 0 ? std::min(x.between * x.between / within, 1.0) : 1;
  const double pairs = counts.tokens - 1 + (counts.batch - 1) * counts.tokens * ratio;
  if (pairs > 0)
    orders.both = std::min<double>((samples * spread.all - spread.one) / pairs, spread.one);
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
