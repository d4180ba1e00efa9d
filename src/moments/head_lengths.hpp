#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "moments/attention_factors.hpp"
#include "moments/attention_softmax.hpp"
#include "moments/interpolation.hpp"

/// Heads of few features (docs/theory/attention.md#few-features): a query of d_h Gaussian features
/// has X = |q|^2/E|q|^2, chi^2 of d_h over d_h, and given X a row of scores has the variance X
/// tau2. What a row does is averaged over X, where h(f) is its
/// expansion in 1/d_h.
namespace scalecalc::moments {

/// Of a network, kept for a whole propagation. Rows of deep ones take the expansion.
struct AttentionLayers {
  static constexpr int most = 32;
  int count = 1;
  bool is_deep() const { return count > most; }
};

/// Of a row at its mean.
SoftmaxOrders orders_at(double keys, double tau2);

/// A row's factors and its averages, both over X.
struct AveragedRow {
  RowFactors<double> factors;
  SoftmaxOrders orders;
};

/// Of two rows over both lengths and the angle of their queries.
struct AveragedPair {
  SoftmaxOverlaps overlaps;  ///< O, A' and the square; other derivatives at the mean
  double cosine = 0;         ///< E q.q' A'/(d_h m_q E A')
  double along = 0;          ///< E A' (B/A - 1)/(d_h E A'), B and A of a row of that length
  double omitted = 0;        ///< relative, of all
};

class HeadLengths {
 public:
  /// Of lengths that vary: above, the expansion leaves out less than a percent of what it corrects.
  static constexpr double most_features = 16;
  /// Whether rows are averaged over lengths, or over the sphere of unit vectors of up to 64
  /// features whose scores of variance tau2 leave more than a percent of two rows' overlap.
  static bool are_few(const Smallness& small, double tau2);
  /// Scores of no more variance leave rows even, whatever the length of the query: to rounding.
  static constexpr double even = 1e-14;
  /// A value of X and the share of its density.
  struct Point {
    double x, weight;
  };
  /// Equal steps of ln X, over which what softmax does and the density are smooth.
  static std::vector<Point> lengths(double features);

  explicit HeadLengths(double features);
  double features() const { return features_; }

  /// The arguments of row_factors().
  AveragedRow row(double keys, double tau2, double cosine, double plain,
                  const Smallness& small) const;
  /// Of two even rows, the arguments as of PairLengths.
  AveragedPair even_pair(double keys, double tau2, double cosine,
                         const SoftmaxOverlaps& mean) const;

 private:
  friend class PairLengths;
  double features_;
  std::vector<Point> points_;
};

/// Pairs of rows, as functions of both X and of the angle, on a grid.
class PairLengths {
 public:
  /// Rows of a mask, beyond which pairs take their expansion.
  static constexpr Eigen::Index most_rows = 16;
  /// Whether pairs of rows of this variance are had without long sums. Queries of one feature are
  /// along each other, so that rows are one where they are `alike`, of as many keys and not turned.
  static bool covers(const HeadLengths& lengths, double tau2, bool alike);
  /// `keys` and `tau2` of each row; `beyond`: what lengths may be times.
  PairLengths(const HeadLengths& lengths, const std::vector<double>& keys,
              const std::vector<double>& tau2, int threads, double beyond = 1);
  /// `cosine` of the features of the queries, `turned` what rotations leave of it in scores; `mean`
  /// at the mean.
  AveragedPair operator()(std::size_t row, std::size_t other, double cosine, double turned,
                          const SoftmaxOverlaps& mean) const {
    return average(grid(row, other, turned), row, other, cosine, mean, 1);
  }

  static constexpr std::size_t quantities = 4;
  using Values = std::array<double, quantities>;
  using Plane = std::vector<std::vector<Values>>;  ///< by angle and length of the second
  using Grid = std::vector<Plane>;                 ///< by length of the first
  Grid grid(std::size_t row, std::size_t other, double turned) const;
  /// Of rows whose variances are `times` those of the grid's.
  AveragedPair average(const Grid& grid, std::size_t row, std::size_t other, double cosine,
                       const SoftmaxOverlaps& mean, double times) const;

 private:
  /// 1 - P2 falls as 1/tau where scores are sharp.
  double place(double length) const {
    const double root = std::sqrt(length);
    return root / (root + half_);
  }
  std::vector<double> angle_weights(double cosine) const;
  /// With one length, a share of each place, given.
  Plane at_length(const Grid& grid, double length) const;
  double unlike_lengths(std::size_t row, double one, double other) const;
  Values at(const Plane& plane, double length, double cosine) const;

  HeadLengths of_;
  std::vector<double> keys_, tau2_;
  double longest_ = 1;  ///< X: what is beyond the last point weighs nothing
  double half_ = 1;     ///< the X^(1/2) that is half way on the grid
  ChebyshevPoints places_, cosines_;
  std::vector<double> at_, angles_;  ///< X of each place, cosines of the angles
  SoftmaxRows rows_;                 ///< of each row at each place
};

/// Of two rows of as many keys and of one variance. Layers have nearly the same variance: close to
/// one that has been asked for, the grid is that one's, at other lengths. Kept for a propagation.
class EqualPairLengths {
 public:
  AveragedPair operator()(const HeadLengths& lengths, double keys, double tau2, double cosine,
                          double turned, const SoftmaxOverlaps& mean);

 private:
  struct Known {
    double features, keys, tau2, turned;
    PairLengths pairs;
    PairLengths::Grid grid;
  };
  std::vector<Known> known_;
};

}  // namespace scalecalc::moments
