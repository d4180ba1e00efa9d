#include "moments/own_word.hpp"

namespace scalecalc::moments {

OwnShare own_share(double mean, double variance) {
  constexpr double reach = 8, step = 0.125;
  const double deviation = std::sqrt(std::max(variance, 0.0));
  OwnShare made;
  double total = 0;
  for (double z = -reach; z <= reach; z += step) {
    const double at = mean + deviation * z, weight = std::exp(-z * z / 2);
    const double p = 1 / (1 + std::exp(-at));
    total += weight;
    made.mean += weight * p;
    made.square += weight * p * p;
    made.log_sum += weight * (std::max(at, 0.0) + std::log1p(std::exp(-std::fabs(at))));
  }
  made.mean /= total;
  made.square /= total;
  made.log_sum /= total;
  return made;
}

}  // namespace scalecalc::moments
