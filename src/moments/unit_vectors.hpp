#pragma once

#include <cstddef>
#include <vector>

#include "moments/attention_factors.hpp"
#include "moments/head_lengths.hpp"
#include "moments/interpolation.hpp"
#include "scalecalc/softmax.hpp"

/// Queries and keys that a norm has made unit vectors in each head, whose scores are bounded and
/// whose gradients have nothing along them (docs/theory/attention.md#qk-norm).
namespace scalecalc::moments {

/// The arguments of row_factors(); `small` of normed queries and keys.
AveragedRow unit_row(double keys, double tau2, double cosine, double plain, const Smallness& small);

/// Pairs of rows, averaged over the angle of their queries.
class UnitPairs {
 public:
  static bool covers(double tau2);
  /// `keys` and `tau2` of each row; `key_cosine` as unit_row() has it.
  UnitPairs(const std::vector<double>& keys, const std::vector<double>& tau2, double key_cosine,
            const Smallness& small);
  /// `cosine` of the queries as they are normed, `turned` what rotations leave of it in scores;
  /// `mean` at the mean.
  AveragedPair operator()(std::size_t row, std::size_t other, double cosine, double turned,
                          const SoftmaxOverlaps& mean) const;

 private:
  /// Over the angle of two queries: what the value at each of angles_ weighs, and weighs times the
  /// cosine, and the mean cosine. `cosine` of their features before they are normed.
  struct Angles {
    std::vector<double> weights, along;
    double mean = 0;
  };
  Angles angles_of(double cosine) const;
  std::vector<double> angle_weights(double cosine) const;

  double features_, key_cosine_;
  ChebyshevPoints cosines_;
  std::vector<double> angles_;
  SoftmaxOnSphere sphere_;
};

}  // namespace scalecalc::moments
