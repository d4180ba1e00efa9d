#pragma once

#include <algorithm>
#include <cmath>

#include "moments/along_mean.hpp"
#include "moments/positions.hpp"
#include "moments/width_moments.hpp"

/// A gradient along the mean of tokens (docs/theory/layers.md#pool) at a gated unit: a (weight p -
/// less y_t), y = phi(u) w, is at w a sum over tokens s of C_ts phi_s phi_t w_s, C_ts = weight/T,
/// less `less` of the token's own (docs/theory/layers.md#gated-mean).
namespace scalecalc::moments {

/// Of two tokens: E phi phi, E phi^2 phi^2, E phi^3 phi, E phi' phi', E (phi phi')(phi phi') and
/// E w w.
struct GatedPair {
  double kernel = 0, squares = 0, third = 0, slopes = 0, own = 0, w = 0;
};
/// The same of one token with itself, and of two.
struct GatedTokens {
  GatedPair one, within, between;
  double mean = 0, variance = 0, third = 0;  ///< cumulants of phi
};

inline GatedTokens gated_tokens(const WidthMoments& phi, const Alike<double>& u,
                                const Alike<double>& w, const Alike<double>& kernel,
                                const Alike<double>& slopes) {
  const double f = phi.second, variance = u.second - u.mean * u.mean;
  const auto pair = [&](double cross, double k, double d, double of_w) {
    const double c = variance > 0 ? std::clamp((cross - u.mean * u.mean) / variance, -1.0, 1.0) : 0;
    return GatedPair{
        k,   f * f * (1 + phi.covariance(c)), (phi.lean(c).noise + 1) * f * k, d, phi.own_pair(c),
        of_w};
  };
  const double fourth = phi.kurtosis * f * f;
  return {{kernel.second, fourth, fourth, slopes.second, phi.own_pair(1), w.second},
          pair(u.cross, kernel.cross, slopes.cross, w.cross),
          pair(u.between, kernel.between, slopes.between, w.between),
          kernel.mean,
          phi.variance,
          phi.skew * std::pow(phi.variance, 1.5)};
}

/// E of products beside the product of the gradient's and the factor's means, for a = 1;
/// `left_out`: what is no exact mean of it.
struct MeanProducts {
  Alike<double> beside;
  double left_out = 0;
};

/// At w. Beside the products of pairs, of three tokens E phi_t^2 phi_s phi_r has
/// 2 E phi Cov(phi^2, phi_s), which is linear in their covariance as a share of the variance, and
/// of four 4 (E phi)^2 Cov(phi_s, phi_r); the rest goes as its square. Both are exact of equal
/// tokens, and of nearly independent ones.
inline MeanProducts in_of_mean(const GatedTokens& of, const AlongMean& mean) {
  const double tokens = mean.tokens, other = mean.weight / tokens, own = own_share(mean);
  const double f = of.one.kernel, fourth = of.one.squares, m = of.one.w;
  const double whole = fourth - f * f, line = 2 * of.mean * (of.third + 2 * of.mean * of.variance);
  const auto part = [&](const GatedPair& p, double linear) {
    const double share = of.variance > 0 ? (p.kernel - of.mean * of.mean) / of.variance : 0;
    return linear * share + (whole - linear) * share * share;
  };
  const auto three = [&](const GatedPair& p) { return part(p, line); };
  const auto four = [&](const GatedPair& p) {
    return part(p, 4 * of.mean * of.mean * of.variance);
  };
  const GatedPair& p = of.within;
  const double k = p.kernel, r = p.w, t3 = three(p), t4 = four(p), more = f * k + t3 - k * k;
  const double n1 = tokens - 1, n2 = std::max(0.0, tokens - 2), n3 = std::max(0.0, tokens - 3);
  const double both = own * other, square = other * other, all = mean.weight - mean.less;
  const double far = n1 * n2 * square * t3 * r;
  MeanProducts made;
  made.beside.second = own * own * (fourth - f * f) * m + n1 * square * (p.squares - f * f) * m +
                       2 * n1 * both * (p.third - f * k) * r + far;
  const double of_three = (n2 * square * t3 * m + 2 * n2 * (both + square) * more * r),
               of_four = n2 * n3 * square * t4 * r;
  made.beside.cross = (own * own + square) * (p.squares - k * k) * r +
                      2 * both * (p.third - f * k) * m + of_three + of_four;
  const GatedPair& q = of.between;
  made.beside.between =
      own * own * (q.squares - q.kernel * q.kernel) * q.w + (all * all - own * own) * four(q) * q.w;
  made.left_out = std::fabs(far) + std::fabs(of_three) + std::fabs(of_four);
  return made;
}

/// At u, times phi' w of the token: of w the three pairings of a Gaussian's fourth moment, of phi
/// and phi' the product of means but where both are of one pair of tokens, which is stated.
inline MeanProducts gate_of_mean(const GatedTokens& of, const AlongMean& mean) {
  const double tokens = mean.tokens, other = mean.weight / tokens, own = own_share(mean);
  const double f = of.one.kernel, h = of.one.slopes, m = of.one.w;
  const GatedPair& p = of.within;
  const double k = p.kernel, d = p.slopes, r = p.w;
  const double n1 = tokens - 1, n2 = std::max(0.0, tokens - 2), n3 = std::max(0.0, tokens - 3);
  const double both = own * other, square = other * other, all = mean.weight - mean.less;
  const double far = 2 * h * r * (n1 * square * (f + n2 * k) * r + 2 * n1 * both * k * m);
  MeanProducts made;
  made.beside.second = own * own * (3 * of.one.own - h * f) * m * m + far;
  const double of_two = 4 * both * d * f * m * r;
  const double of_three =
      n2 * square * 2 * d * f * r * r + 2 * n2 * (both + square) * d * k * (m * r + r * r);
  const double of_four = n2 * n3 * square * 2 * d * k * r * r;
  const auto one_pair = [&](const GatedPair& at) {
    return at.own * (m * m + 2 * at.w * at.w) - at.slopes * at.kernel * at.w * at.w;
  };
  made.beside.cross = (own * own + square) * one_pair(p) + of_two + of_three + of_four;
  const GatedPair& q = of.between;
  made.beside.between =
      own * own * one_pair(q) + (all * all - own * own) * q.slopes * q.kernel * (r * r + q.w * q.w);
  made.left_out = std::fabs(far) + std::fabs(of_two) + std::fabs(of_three) + std::fabs(of_four);
  return made;
}

/// Adds them to a gradient whose square along p is `square`.
template <class G>
void add_of_mean(const MeanProducts& made, const AlongMean& mean, double square, G& part) {
  const Alike<double>& b = made.beside;
  const Alike<double> with{0, square * b.second, square * b.cross, square * b.between};
  part.x = sum(part.x, mean.others ? on_kind(part.x, Kind::others, with) : uniform(part.x, with));
  const double second = average(part.x).second;
  const double share = second > 0 ? square * made.left_out / second : 0;
  part.truncation.second += share;
  part.truncation.cross += share;
}

}  // namespace scalecalc::moments
