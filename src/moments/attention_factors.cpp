#include "moments/attention_factors.hpp"

#include <algorithm>
#include <cmath>

namespace scalecalc::moments {
namespace {

/// f + change, for a positive f; its expansion in the other sense where it would become negative,
/// as for heads of one or two features.
double corrected(double f, double change) {
  if (change >= 0) return f + change;
  return f > 0 ? f * f / (f - change) : 0;
}

/// E sum p^3, E (sum p^2)^2 and E sum p^4 of a row.
struct PowerSums {
  double p3, p22, p4;
  explicit PowerSums(const SoftmaxOrders& row)
      : p3((row.p2 + row.t2 - 1 + 2 * row.p2 - row.a) / 2),
        p22(row.t2 - 1 + 2 * row.p2),
        p4(row.s - row.p2 + 2 * p3) {}
};

/// E sum_{s != s'} d^2 (p_s p_s')/ds_s ds_s' = 1 - 5 P2 + 4 P3 + 6 P22 - 6 P4.
double bend_of_products(const SoftmaxOrders& row) {
  const PowerSums sums(row);
  return 1 - 5 * row.p2 + 4 * sums.p3 + 6 * (sums.p22 - sums.p4);
}

/// (1/2) E sum_s d^2 (p_s^2)/ds_s^2 = 2 P2 - 5 P3 + 3 P4.
double bend_of_squares(const SoftmaxOrders& row) {
  const PowerSums sums(row);
  return 2 * row.p2 - 5 * sums.p3 + 3 * sums.p4;
}

/// That of tokens of one length: a point of a sphere in 1/overlap dimensions has 3 n/(n + 2) for
/// its fourth moment.
double of_one_length(const Smallness& small, double cosine) {
  return (1 - 2 * cosine) * small.overlap / (1 + 2 * small.overlap);
}

}  // namespace

RowFactors<double> row_factors(const SoftmaxOrders& row, double tau2, double cosine, double plain,
                               const Smallness& small) {
  const double d = small.width, d_h = small.head_width;
  const double rel = variance_of_heads(small, cosine), bend = rel / 2 * tau2 * tau2;
  const double overlap = small.own * (small.overlap + small.structure),
               with_values = small.own * (small.overlap * small.values + small.structure),
               along_width = small.added * small.own / d, along_values = along_width * small.values,
               of_scores = small.added * with_values;
  const double squared = small.added * small.added;
  const double f = squared * missing_sizes(small, cosine);
  // Scores of keys of one length are not Gaussian: of fourth cumulant -6 f tau2^2, of unit vectors
  // by the sphere that has it (docs/theory/attention.md#qk-norm).
  const double of_unit = small.averaged ? 0 : squared / unit_vector_dimensions(small, cosine);
  const double f_key = small.qk_norm       ? of_unit
                       : small.normed_keys ? squared * of_one_length(small, cosine)
                                           : f;
  const double p2 = bend * row.p2_curvature - f_key * row.hp2 / 4;
  const double a = bend * row.a_curvature - f_key * row.ha / 4;
  const double f_values = f * small.values;
  const double gram = plain * (row.t2 - row.a) * (with_values + small.own * small.repeats) +
                      plain * row.a * small.own * small.uneven +
                      row.b * (along_width + along_values) - (f + f_values) * (row.s + row.q2);
  // The cosine of two unit vectors follows that of their tokens less, and what lies along a key
  // goes.
  const double unit = small.qk_norm ? 1 - 1 / (2 * d_h) : 1,
               unit_keys = small.qk_norm ? std::max(0.0, 1 - 3 / (2 * d_h)) : 1;
  const double tilt = small.qk_norm || small.averaged ? 0 : 2 / d_h * tau2 * row.a_slope;
  const double along = small.qk_norm ? 0 : small.along * (row.b - row.a) / d_h;
  RowFactors<double> out;
  const double next = next_order(small),
               of_keys = squared * std::max(small.normalised, 0.0) * small.overlap;
  const double along_next = small.averaged ? 0 : std::fabs(along);
  // Of a cumulant that a sphere does not count, the square of its first order.
  const auto next_cumulant = [&](double of, double orders) {
    const double first = small.qk_norm ? f_key * of / (4 * orders) : 0;
    return first * first / (1 + std::fabs(first));
  };
  if (row.p2 > 0)
    out.omitted_value = next * (std::fabs(p2) + std::fabs(row.m2 - row.p2) * of_scores) / row.p2 +
                        of_keys + next_cumulant(row.hp2, row.p2);
  if (row.a > 0)
    out.omitted_score =
        next * next +
        next * (std::fabs(a) + along_next + std::fabs(tilt) + std::fabs(row.b) * along_width) /
            row.a +
        of_keys + next_cumulant(row.ha, row.a);
  out.mix = corrected(row.p2, p2 + (row.m2 - row.p2) * of_scores - f_values * row.q1);
  out.value = corrected(row.p2, p2);
  // Of one length (1 - 1/d_h) A + B/d_h is positive.
  out.query = small.averaged ? corrected(row.a + along, a + unit * gram)
                             : corrected(row.a, a + unit * gram + along);
  out.key = corrected(row.a, a + (row.b - row.a) * along_values + tilt - f_values * row.q2);
  out.score = corrected(row.a, a + (row.b - row.a) * along_values - f_values * row.q2);
  out.key_weight = corrected(row.a, a + unit_keys * gram + tilt);
  // Tokens that overlap by chance have scores that correlate by as much, and weights p_s p_s' that
  // grow with it: by Price tau2 V/D times their second derivatives.
  out.value_weight = tau2 * small.added * overlap * bend_of_products(row);
  // A token of length D (1 + e), Var e = 2/d, has scores of variance tau2 (1 + e).
  if (!small.normed_keys)
    out.value_weight += (1 - small.normalised) *
                        (small.normalised > 0 ? small.length : 2 * small.overlap) * small.added *
                        tau2 * bend_of_squares(row);
  return out;
}

PairFactors<double> pair_factors(const SoftmaxOverlaps& rows, double tau2, double c, double cosine,
                                 double m2, double rest, double along, const Smallness& small) {
  const double sine = 1 - c * c, turn = sine * sine,
               overlap = small.own * (small.overlap + small.structure),
               with_values = small.own * (small.overlap * small.values + small.structure),
               of_gradients = with_values + small.own * small.repeats;
  const double of_queries = small.added * small.added * small.query_overlap;
  const double v_c = turn * ((small.averaged ? 0 : 1 / small.head_width) + of_queries);
  // Rotated queries correlate by c, queries whose scores are a part of them by their cosine.
  const double own_c = small.added < 1 ? cosine : c;
  PairFactors<double> out;
  if (rows.overlap > 0)
    out.omitted_value = v_c * std::fabs(v_c / 2 * tau2 * rows.a_second) / rows.overlap;
  if (rows.a_prime > 0) out.omitted_score = v_c * std::fabs(v_c / 2 * rows.a_third) / rows.a_prime;
  // Unit vectors at an angle have not what free ones add to the overlap: nothing is left at c = 0.
  if (small.qk_norm && !small.averaged && rows.overlap > 0) {
    const double of_angle =
        std::fabs(turn / small.head_width / 2 * tau2 * rows.a_second) / rows.overlap;
    const double omitted = of_angle / (1 + of_angle);
    out.omitted_value += omitted;
    out.omitted_score += omitted;
  }
  out.omitted_score += sine * std::fabs(along) * 2 / 3;
  out.value = rows.overlap + v_c / 2 * tau2 * rows.a_second;
  out.mix = out.value + own_c * (m2 - rows.overlap) * small.added * with_values;
  out.query = rows.a_prime * (1 + small.own * small.uneven + along) + rest * of_gradients +
              v_c / 2 * rows.a_third;
  out.score = rows.a_prime + v_c / 2 * rows.a_third;
  out.key = cosine * rows.a_prime + v_c * (rows.a_second + cosine * rows.a_third / 2);
  out.key_weight =
      out.key + cosine * (rest * of_gradients + rows.a_prime * small.own * small.uneven);
  out.value_weight = own_c * tau2 * small.added * overlap * rest;
  out.query_weight = turn * small.added * small.query_overlap * rows.a_second;
  return out;
}

double along_queries(const SoftmaxOrders& row, const Smallness& small) {
  return small.qk_norm || row.a <= 0 ? 0 : small.along * (row.b / row.a - 1) / small.head_width;
}

double missing_sizes(const Smallness& small, double cosine) {
  if (!small.normed_keys) {
    if (small.normalised > 0) return small.normalised * of_one_length(small, cosine);
    return small.normalised * (1 - 2 * cosine) * small.overlap;
  }
  const double share = std::max(small.normalised, 0.0);
  return share * of_one_length(small, cosine) + (1 - share) * (1 - cosine) * small.overlap;
}

double variance_of_heads(const Smallness& small, double cosine) {
  if (!small.qk_norm) return next_order(small);
  return small.heads + 2 * small.between_heads * (small.overlap + small.key_structure) +
         2 * cosine * cosine / small.head_width;
}

double unit_vector_dimensions(const Smallness& small, double cosine) {
  const double apart = 1 - cosine, flat = small.ellipsoid * (small.overlap + small.key_structure);
  return 1 / (apart * apart * (1 / (small.head_width + 2) + flat));
}

double omitted_values(double tau2, const Smallness& small) {
  return tau2 * tau2 * small.overlap / 2;
}

double next_order(const Smallness& small) {
  return (small.averaged ? 0 : 2 / small.head_width) + small.length + small.heads;
}

double omitted_overlaps(const SoftmaxOrders& row, double tau2, const Smallness& small) {
  if (row.a <= 0) return 0;
  const double rest = 1 - row.p2, x = rest * rest * small.own * small.overlap / row.a;
  const double growth = std::max(1 - 1 / (small.overlap * small.width), 0.0);
  const double along = small.averaged ? tau2 / (1 + tau2) / small.head_width : 0;
  return x / (1 + x) * (next_order(small) + along + 0.06 * growth);
}

}  // namespace scalecalc::moments
