#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

namespace scalecalc::moments {

/// What weighs the keys of one kind of head: pi_ts ~ e^(-slope (t - s)) of the last `window` keys,
/// of all where it is 0.
struct KeyBias {
  double slope = 0;
  std::int64_t window = 0;
};

/// Heads of nearly the same slope count as one: more than 16 kinds are put together, neighbours
/// by neighbours, which leaves out (ln ratio)^2/24 of what goes with the slope.
std::vector<KeyBias> few_kinds(std::vector<KeyBias> biases);

/// pi_ts, which adds up to 1 over the keys s of a row t.
class BiasedWeight {
 public:
  BiasedWeight(const KeyBias& bias, Eigen::Index tokens);
  double operator()(Eigen::Index t, Eigen::Index s) const {
    if (s > t || (window_ > 0 && s <= t - window_)) return 0;
    return fall_[t - s] / whole_[t];
  }

 private:
  std::int64_t window_;
  Eigen::ArrayXd fall_;   ///< e^(-slope d) of each distance
  Eigen::ArrayXd whole_;  ///< of each row, their sum
};

}  // namespace scalecalc::moments
