#include <cmath>

#include "gaussian/softmax/check.hpp"
#include "scalecalc/softmax.hpp"

namespace scalecalc {

double softmax_p2_lognormal(std::int64_t keys, double tau2) {
  return softmax_overlap_lognormal(keys, tau2, 1.0);
}

double softmax_overlap_lognormal(std::int64_t keys, double tau2, double correlation) {
  gaussian::softmax::check_keys(keys);
  gaussian::softmax::check_variance(tau2);
  gaussian::softmax::check_correlation(correlation);
  return std::exp(correlation * tau2) / static_cast<double>(keys);
}

}  // namespace scalecalc
