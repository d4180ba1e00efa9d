#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "moments/attention_softmax.hpp"

namespace scalecalc::moments {

/// The calculus of double with every Gaussian expectation sampled: one replicate of a propagation.
/// Several of them, drawn apart, show the standard error of whatever the rules make of the samples,
/// however their errors hang together.
class Sampled : public Numbers {
 public:
  /// `samples` of each expectation, half of them mirror images of the other half.
  Sampled(const PropagateOptions& options, std::int64_t samples, std::uint64_t seed,
          std::uint64_t replicate);

  double expectation(Function f, Moment moment, const Token<double>& u);
  double pair(Function f, Moment moment, const Token<double>& u, const Token<double>& v,
              double cross);

  struct HeadSoftmax {
    std::int64_t classes = 1;
  };
  HeadSoftmax softmax_head(std::int64_t classes, double) const { return {classes}; }
  double softmax_second(const HeadSoftmax& head, double tau2);
  double softmax_cross(const HeadSoftmax& head, double tau2_t, double tau2_u, double cross);
  SoftmaxSamples softmax(std::int64_t keys, double tau2, double correlation);

  std::int64_t samples() const { return 2 * static_cast<std::int64_t>(half_); }

 private:
  /// For draws of another kind.
  std::uint64_t next_seed();
  /// Fresh draws for each site; both numbers of a pair, and every pair of positions of one site,
  /// share them.
  void draw();

  std::uint64_t seed_, replicate_, draws_ = 0;
  std::size_t half_;
  std::string drawn_for_;
  std::vector<double> z_, w_, u_, v_, value_u_, value_v_, slope_u_, slope_v_;
};

/// P2, A, O and A' sampled; what only ever multiplies 1/d stays integrated.
SoftmaxAverages softmax_values(Sampled& calculus, const ScoreLine& line, double c);

}  // namespace scalecalc::moments
