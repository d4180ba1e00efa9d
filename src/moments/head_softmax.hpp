#pragma once

#include <optional>
#include <vector>

#include "moments/interpolation.hpp"
#include "moments/numbers.hpp"
#include "scalecalc/softmax.hpp"

namespace scalecalc::moments {

/// Past this variance of the logits the softmax has condensed on its largest, up to 1/tau.
inline constexpr double condensed = 1e3;

/// Softmax over the classes of a head: overlaps for a few correlations, and an interpolation of
/// them for the many of a state by positions. Logits of small variance overlap by the series of a
/// row.
struct Numbers::HeadSoftmax {
  std::int64_t classes = 0;
  double tau2 = 0;
  double p2 = 0, error = 0;
  int asked = 0;
  ChebyshevPoints places;
  std::vector<double> overlaps;
  std::optional<SoftmaxRows> row;

  Estimate overlap(double correlation);

 private:
  Estimate exact(double correlation);
};

}  // namespace scalecalc::moments
