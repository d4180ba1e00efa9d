#pragma once

#include <vector>

#include "gaussian/closed_form/expectation.hpp"

namespace scalecalc::gaussian {

struct GaussianVector {
  std::vector<Ratio> mean;
  std::vector<std::vector<Ratio>> covariance;
};

/// The distribution of the others given that entry `place` is 0; without that entry.
GaussianVector given_zero(const GaussianVector& vector, std::size_t place);

/// How a probability of two half-lines is written. Owen's T reads better where the thresholds are
/// equal or opposite; the bivariate distribution function keeps its digits beside an exponential
/// that grows as fast as the probability falls.
enum class Pairs { owens_t, distribution };

/// E of the product of half-line factors at threshold 0 of the entries from 2 on. Throws NoForm for
/// three or more that do not all stand at their means.
Sum probability(const Ring& ring, const GaussianVector& vector, const std::vector<Sense>& senses,
                Pairs pairs);

}  // namespace scalecalc::gaussian
