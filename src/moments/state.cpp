#include "moments/state.hpp"

namespace scalecalc::moments {

Alike<double> average(const PerPosition& x) {
  const Positions& at = *x.positions;
  const auto tokens = static_cast<double>(at.tokens);
  const double pairs = tokens * (tokens - 1);
  Alike<double> mean;
  mean.mean = (at.weight * x.mean).sum() / tokens;
  mean.second = (at.weight * x.second).sum() / tokens;
  mean.cross = pairs > 0 ? (at.pairs * x.cross).sum() / pairs : mean.second;
  if (x.between.size() > 0) {
    const Eigen::VectorXd weight = at.weight.matrix();
    mean.between = weight.dot(x.between.matrix() * weight) / (tokens * tokens);
  }
  return mean;
}

double token_sum(const PerPosition& x, const PerPosition& g, double tokens, double batch) {
  const Positions& at = *x.positions;
  const auto kept = static_cast<double>(at.tokens);
  const double share = tokens / kept, pairs = kept > 1 ? share * ((tokens - 1) / (kept - 1)) : 0;
  double total = batch * (share * (at.weight * x.second * g.second).sum() +
                          pairs * (at.pairs * x.cross * g.cross).sum());
  if (x.between.size() > 0) {
    const Eigen::VectorXd weight = at.weight.matrix();
    total +=
        batch * (batch - 1) * share * share * weight.dot((x.between * g.between).matrix() * weight);
  }
  return total;
}

}  // namespace scalecalc::moments
