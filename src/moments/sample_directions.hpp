#pragma once

#include <Eigen/Core>
#include <vector>

#include "moments/state.hpp"

/// Norms over samples that differ in size (docs/theory/layers.md#norm-samples-levels): where
/// positions have a state of their own, a feature over the samples is Gaussian in as many
/// directions, the eigenvectors of the centred state, each of a variance of its own.
namespace scalecalc::moments {

class SampleDirections {
 public:
  /// `inside`: the centred state, every position of it; `share`: of a Gaussian feature's scatter of
  /// s^2, what there is.
  SampleDirections(const PerPosition& inside, const Counts& over, double share);

  double inverse() const { return inverse_; }  ///< E 1/s^2 over 1/E s^2
  /// E y_t y_u of y = x/s, times E s^2.
  PerPosition forward(const PerPosition& inside) const;
  /// E of (I - y y^T/n) g/s of a centred gradient, times E s^2. `along`: as of SampleOrders::back.
  PerPosition back(const PerPosition& gradient, double along) const;

 private:
  /// What sequences have together, and what they differ by, in so many ways.
  struct Level {
    double count = 1;
    Eigen::ArrayXd variance;
    Eigen::MatrixXd vectors;
    Eigen::ArrayXd share;                ///< E X E (x_i^2/X)/E x_i^2 - 1, X = |x|^2
    Eigen::ArrayXd taken;                ///< E x_i^2/X^2
    std::vector<Eigen::MatrixXd> twice;  ///< E x_i^2 x_j^2/X^3, i != j, of each level's j
  };
  Counts over_;
  double total_ = 0, share_ = 1, inverse_ = 1;
  std::vector<Level> levels_;
};

/// Of a sum of two independent signals, the scatter of a feature's variance over all samples, over
/// a Gaussian's: of each what it has, as it has tr S^2 of its centred state, and of both 2 tr S
/// S'.
double batch_noise_of_sum(const PerPosition& x, double x_noise, const PerPosition& f,
                          double f_noise, const Counts& counts);

}  // namespace scalecalc::moments
