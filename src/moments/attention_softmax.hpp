#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "moments/attention_factors.hpp"
#include "moments/numbers.hpp"
#include "scalecalc/softmax.hpp"

/// Softmax averages for the rules of attention. They come from curves where a network asks along
/// the same line again and again (tokens that keep their size between norms), else by quadrature.
namespace scalecalc::moments {

/// tau2 = scale (base + ratio (1 - c)), on which a layer's rows lie whatever c; two layers alike
/// but for an eps differ in scale only.
struct ScoreLine {
  std::int64_t keys = 1;
  double scale = 0, base = 0, ratio = 0;
  double tau2(double c) const { return scale * (base + ratio * (1 - c)); }
};

/// Kept for a whole propagation.
class SoftmaxLines {
 public:
  SoftmaxAverages operator()(const ScoreLine& line, double c);

 private:
  /// Curves at scales e^{-x}, 1 and e^{x} times the first line's, and parabolas between them.
  struct Sheet {
    ScoreLine line;
    int asked = 1;
    std::vector<SoftmaxCurve> curves;
  };
  static SoftmaxAverages interpolate(Sheet& sheet, double x, double c);
  Sheet* find(const ScoreLine& line);
  std::vector<Sheet> sheets_;
  /// Of even rows, the last that were asked for.
  struct Even {
    std::int64_t keys = 0;
    double c = 0;
    SoftmaxAverages averages;
  } even_;
};

/// The leading order of a calculus of formulas; P2, A, O and A' by its own primitives. `c` and
/// `cosine` as in pair_factors.
template <class C>
void leading_factors(const C& calculus, std::int64_t keys, const typename C::Number& tau2,
                     const typename C::Number& c, const typename C::Number& cosine,
                     RowFactors<typename C::Number>& row, PairFactors<typename C::Number>& pair) {
  row.mix = row.value = softmax_p2(calculus, keys, tau2);
  row.query = row.key = row.key_weight = softmax_a(calculus, keys, tau2);
  pair.mix = pair.value = softmax_overlap(calculus, keys, tau2, c);
  pair.query = softmax_a_prime(calculus, keys, tau2, c);
  pair.key = pair.key_weight = cosine * pair.query;
}

/// Rows of PerPosition tokens: row t has keys[t] keys (or weights worth as many equal ones) and
/// variance tau2[t]; c(t, u) is their
/// correlation, the cosine of their queries.
struct RowScores {
  std::vector<double> keys;
  Eigen::ArrayXd tau2;
  Eigen::ArrayXXd c;
};
struct RowAverages {
  std::vector<SoftmaxOrders> one;
  std::vector<SoftmaxOverlaps> two;  ///< of t >= u, row by row
  const SoftmaxOverlaps& pair(Eigen::Index t, Eigen::Index u) const {
    const Eigen::Index more = std::max(t, u), fewer = std::min(t, u);
    return two[static_cast<std::size_t>(more * (more + 1) / 2 + fewer)];
  }
};

/// What the next orders need of rows that differ.
RowAverages softmax_values(Numbers& calculus, const RowScores& scores);

}  // namespace scalecalc::moments
