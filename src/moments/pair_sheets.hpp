#pragma once

#include <array>
#include <limits>
#include <optional>
#include <vector>

#include "moments/attention_softmax.hpp"

/// Softmax averages of rows and of their pairs in deep networks, whose scores hardly change from
/// one layer to the next: as polynomials in both variances and the covariance.
namespace scalecalc::moments {

/// Kept for a whole propagation.
class PairSheets {
 public:
  /// Nothing where these rows have not been asked for often enough, or move too fast, and for what
  /// the polynomials do not tell to 1e-6, which each is measured for inside its box.
  std::optional<RowAverages> operator()(const RowScores& scores, int threads);
  /// How many layers ask in all; without it any number may.
  void expect(int layers) { layers_ = layers; }

 private:
  /// Of total degree 2, in the order of `monomials`, for each average.
  struct Pair {
    std::array<std::array<double, 10>, 5> coefficients;
    double error = 0;  ///< relative to the overlap
  };
  /// Around one layer's scores: variances within `reach` of them, relatively, and covariances
  /// within as much of the root of both.
  struct Sheet {
    RowScores centre;
    double reach = 0;
    std::vector<std::array<SoftmaxOrders, 3>> rows;  ///< at -reach, 0, reach
    std::vector<Pair> pairs;
    bool good = false;
  };
  struct Known {
    RowScores last;
    std::optional<Sheet> sheet;
    int wait = 0;  ///< layers before the next is tried
  };
  static Sheet made(const RowScores& scores, double reach, int threads);
  static RowAverages read(const Sheet& sheet, const RowScores& scores);
  Known* find(const RowScores& scores);

  std::vector<Known> known_;
  int layers_ = std::numeric_limits<int>::max(), asked_ = 0;
};

}  // namespace scalecalc::moments
