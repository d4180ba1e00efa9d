#include "moments/sample_directions.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "moments/sample_norm.hpp"

namespace scalecalc::moments {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

MatrixXd within_sequence_of(const PerPosition& x) {
  MatrixXd all = x.cross.matrix();
  all.diagonal() = x.second.matrix();
  return all;
}

/// Of B sequences: what all have together, W + (B - 1) R with R of two sequences, and what they
/// differ by, W - R.
std::vector<MatrixXd> by_level(const PerPosition& x, double batch) {
  MatrixXd within = within_sequence_of(x);
  if (!(batch > 1)) return {std::move(within)};
  const MatrixXd between = x.between.matrix();
  return {within + (batch - 1) * between, within - between};
}

/// A state and what is added to its levels; a cross of a position with itself stands for none, and
/// goes with its second.
PerPosition with_levels(const PerPosition& like, const std::vector<MatrixXd>& levels,
                        double batch) {
  PerPosition y = like;
  MatrixXd within = levels[0];
  if (levels.size() > 1) {
    within = (levels[0] + (batch - 1) * levels[1]) / batch;
    y.between += ((levels[0] - levels[1]) / batch).array();
  }
  y.second += within.diagonal().array();
  y.cross += within.array();
  for (Index t = 0; t < y.second.size(); ++t)
    y.cross(t, t) =
        like.second[t] != 0 ? like.cross(t, t) * y.second[t] / like.second[t] : y.second[t];
  return y;
}

}  // namespace

/// Integrals over t of E e^(-t X), X = sum of lambda_i z_i^2, by equal steps of ln t, which leave
/// exp(-2 pi^2/step): E x_i^2 e^(-t X) has h_i = lambda_i/(1 + 2 t lambda_i) of it.
SampleDirections::SampleDirections(const PerPosition& inside, const Counts& over, double share)
    : over_(over), share_(share) {
  for (const MatrixXd& state : by_level(inside, over.batch)) {
    const Eigen::SelfAdjointEigenSolver<MatrixXd> of(state);
    Level level;
    level.count = levels_.empty() ? 1 : over.batch - 1;
    level.variance = of.eigenvalues().array().max(0.0);
    level.vectors = of.eigenvectors();
    total_ += level.count * level.variance.sum();
    const Index size = level.variance.size();
    level.share = level.taken = Eigen::ArrayXd::Zero(size);
    levels_.push_back(std::move(level));
  }
  if (!(total_ > 0)) return;
  const std::size_t count = levels_.size();
  for (Level& level : levels_)
    for (const Level& other : levels_)
      level.twice.push_back(MatrixXd::Zero(level.variance.size(), other.variance.size()));
  constexpr double step = 0.4, below = 40, above = 80;
  double sum = 0;
  std::vector<Eigen::VectorXd> h(count);
  for (double u = -below; u < above; u += step) {
    const double t = std::exp(u) / total_;
    double log_density = 0;
    for (std::size_t a = 0; a < count; ++a) {
      const Eigen::ArrayXd denominator = 1 + 2 * t * levels_[a].variance;
      log_density -= levels_[a].count / 2 * denominator.log().sum();
      h[a] = (levels_[a].variance / denominator).matrix();
    }
    const double weight = step * t * std::exp(log_density);
    sum += weight;
    for (std::size_t a = 0; a < count; ++a) {
      levels_[a].share += weight / (1 + 2 * t * levels_[a].variance);
      levels_[a].taken += weight * t * h[a].array();
      for (std::size_t b = 0; b < count; ++b)
        levels_[a].twice[b] += (weight * t * t / 2) * h[a] * h[b].transpose();
    }
  }
  const double inflation = total_ * sum;
  inverse_ = 1 + share_ * (inflation - 1);
  // All of the way back is by so much of E 1/X.
  const double kept = inverse_ / sum;
  double all = 0;  // of shares, 1 but for rounding
  for (const Level& level : levels_) all += level.count * (level.variance * level.share).sum();
  for (Level& level : levels_) {
    level.share = share_ * total_ * (level.share / all - 1 / total_);
    level.taken *= kept;
    for (MatrixXd& pairs : level.twice) pairs *= kept;
  }
}

PerPosition SampleDirections::forward(const PerPosition& inside) const {
  if (!(total_ > 0)) return inside;
  std::vector<MatrixXd> made;
  for (const Level& level : levels_)
    made.push_back(level.vectors * (level.variance * level.share).matrix().asDiagonal() *
                   level.vectors.transpose());
  return with_levels(inside, made, over_.batch);
}

/// Of directions i != j g_i g_j keeps E 1/X - E (x_i^2 + x_j^2)/X^2 + 2 E x_i^2 x_j^2/X^3, and of
/// one E 1/X - 2 E x_i^2/X^2 and all that comes back along x, sum_k E x_i^2 x_k^2/X^3 g_k^2.
PerPosition SampleDirections::back(const PerPosition& gradient, double along) const {
  if (!(total_ > 0)) return gradient;
  std::vector<MatrixXd> turned = by_level(gradient, over_.batch);
  for (std::size_t a = 0; a < turned.size(); ++a)
    turned[a] = (levels_[a].vectors.transpose() * turned[a] * levels_[a].vectors).eval();
  std::vector<MatrixXd> made;
  for (std::size_t a = 0; a < turned.size(); ++a) {
    const Level& level = levels_[a];
    const Index size = level.variance.size();
    Eigen::VectorXd returned = Eigen::VectorXd::Zero(size);
    for (std::size_t b = 0; b < turned.size(); ++b)
      returned += levels_[b].count * (level.twice[b] * turned[b].diagonal());
    const MatrixXd one = level.taken.matrix().replicate(1, size);
    MatrixXd left =
        turned[a].cwiseProduct((2 * level.twice[a] - one - one.transpose()).eval()).eval();
    left.diagonal() += returned;
    made.push_back(level.vectors * (along * left) * level.vectors.transpose());
  }
  return with_levels(scaled(gradient, inverse_), made, over_.batch);
}

double batch_noise_of_sum(const PerPosition& x, double x_noise, const PerPosition& f,
                          double f_noise, const Counts& counts) {
  const std::vector<MatrixXd> one = by_level(centred(x, counts.tokens, counts.batch), counts.batch),
                              other =
                                  by_level(centred(f, counts.tokens, counts.batch), counts.batch);
  double of_x = 0, of_f = 0, both = 0;
  for (std::size_t a = 0; a < one.size(); ++a) {
    const double count = a == 0 ? 1 : counts.batch - 1;
    of_x += count * one[a].squaredNorm();
    of_f += count * other[a].squaredNorm();
    both += 2 * count * one[a].cwiseProduct(other[a]).sum();
  }
  const double all = of_x + of_f + both;
  return all > 0 ? (x_noise * of_x + f_noise * of_f + both) / all : x_noise;
}

}  // namespace scalecalc::moments
