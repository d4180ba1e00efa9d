#include "moments/mixture.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "moments/fluctuations.hpp"

namespace scalecalc::moments {
namespace {

using Eigen::ArrayXd;
using Eigen::ArrayXXd;
using Eigen::Index;

/// Of more, the two are merged that differ least.
constexpr Index most_kinds = 16;

Mixture normal() {
  return {ArrayXd::Ones(1), ArrayXd::Ones(1), ArrayXXd::Ones(1, 1)};
}

/// Into kind `to` goes kind `from`, and the last takes its place.
void merge(Mixture& x, std::vector<Index>& kind, Index to, Index from) {
  const double a = x.weight[to], b = x.weight[from], p = a + b > 0 ? a / (a + b) : 0.5;
  x.weight[to] = a + b;
  x.variance[to] = p * x.variance[to] + (1 - p) * x.variance[from];
  x.cross.row(to) = (p * x.cross.row(to) + (1 - p) * x.cross.row(from)).eval();
  x.cross.col(to) = (p * x.cross.col(to) + (1 - p) * x.cross.col(from)).eval();
  const Index last = x.weight.size() - 1;
  x.weight[from] = x.weight[last];
  x.variance[from] = x.variance[last];
  x.cross.row(from) = x.cross.row(last).eval();
  x.cross.col(from) = x.cross.col(last).eval();
  x.weight.conservativeResize(last);
  x.variance.conservativeResize(last);
  x.cross.conservativeResize(last, last);
  for (Index& at : kind) {
    if (at == from)
      at = to;
    else if (at == last)
      at = from;
  }
}

/// What tokens have left is of the kinds of tiny variance where all others are dropped, so that
/// 1/s2 goes by the logarithms: ln a/b squared counts beside (a - b)^2.
double apart(double a, double b) {
  if (a == b) return 0;
  if (a <= 0 || b <= 0) return std::numeric_limits<double>::infinity();
  const double logs = std::log(a / b);
  return (a - b) * (a - b) + logs * logs;
}

/// Keeps sum of weight and of weight times variance; loses the least of E variance^2, and of what
/// sizes differ by.
void merge_least(Mixture& x, std::vector<Index>& kind) {
  std::vector<Index> order(static_cast<std::size_t>(x.weight.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::sort(order.begin(), order.end(),
            [&](Index a, Index b) { return x.variance[a] < x.variance[b]; });
  double least = std::numeric_limits<double>::infinity();
  Index first = 0, second = 1;
  for (std::size_t n = 0; n + 1 < order.size(); ++n) {
    const Index a = order[n], b = order[n + 1];
    const double both = x.weight[a] + x.weight[b];
    const double shared = both > 0 ? x.weight[a] * x.weight[b] / both : 0;
    const double lost = shared > 0 ? shared * apart(x.variance[a], x.variance[b]) : 0;
    if (lost >= least) continue;
    least = lost;
    first = a;
    second = b;
  }
  merge(x, kind, std::min(first, second), std::max(first, second));
}

/// Integrals over t of E e^(-t s2), by equal steps of ln t: E 1/s2 and, with another t^(-1/2)
/// /Gamma(1/2), E 1/s. Past the last of them s2 is 1e-6 of the least kind's, which too few features
/// make to count.
struct Inverses {
  ArrayXd inverse, along, root;
  ArrayXd forward;  ///< E z^2/s, with z of variance 1
  double alive = 1, few = 0;
  double token_inverse = 0, token_root = 0;  ///< E 1/s2 and E 1/s of a token
};

/// Of n features that are 0 with the chance `never`: what one or two that are not have of
/// (never + L)^n, L = `live`. E 1/s2 of those does not exist.
double one_or_two(double n, double never, double live) {
  return n * live * std::pow(never, n - 1) + n * (n - 1) / 2 * live * live * std::pow(never, n - 2);
}

Inverses inverses(const Mixture& x, double width, double eps, double kurtosis) {
  // Sums of steps h are e^(-pi^2/h) off where the integrand has no poles within pi/2 of the line.
  constexpr double step = 0.25, below = 30, beyond = 14;
  const Index kinds = x.weight.size();
  double never = 0;  // kinds that are 0
  double least_size = 1;
  for (Index i = 0; i < kinds; ++i)
    if (x.variance[i] == 0)
      never += x.weight[i];
    else
      least_size = std::min(least_size, x.variance[i]);
  // What is smaller has squares of 1/s2 that are out of range.
  const double above =
      beyond - std::log(std::max(least_size, std::sqrt(std::numeric_limits<double>::min())));
  Inverses sums;
  for (ArrayXd* sum : {&sums.inverse, &sums.along, &sums.root, &sums.forward}) sum->setZero(kinds);
  sums.alive = 1 - std::pow(never, width);
  const bool without_few = never > 0 && eps == 0;
  if (without_few) sums.few = one_or_two(width, never, 1 - never);
  // Of a square of mean v and variance (k - 1) v^2.
  constexpr double least = 0.05;  // features of one size
  const double spread = std::max(kurtosis - 1, least), shape = 1 / spread;
  const bool is_normal = std::fabs(shape - 0.5) < 1e-12;  // but for roundings of the kurtosis
  // To whole vectors, of features that are not there.
  constexpr Index lanes = 8;
  const Index padded = (kinds + lanes - 1) / lanes * lanes;
  ArrayXd scale = ArrayXd::Zero(padded), weights = ArrayXd::Zero(padded);
  scale.head(kinds) = spread * x.variance / width;
  weights.head(kinds) = x.weight;
  constexpr double linear = 1e-9;  // its square is below a rounding
  const double most = scale.maxCoeff();
  for (double u = -below; u < above; u += step) {
    const double t = std::exp(u);
    const ArrayXd h = 1 / (1 + t * scale);
    const ArrayXd decay = is_normal           ? ArrayXd(h.sqrt())
                          : t * most < linear ? ArrayXd(1 - shape * t * scale)
                                              : ArrayXd((shape * h.log()).exp());
    const double mean = (weights * decay).sum();
    const double all_but_one = std::exp((width - 1) * std::log(mean) - t * eps);
    if (all_but_one == 0 && !without_few) break;  // it falls
    // What stays of tokens that are 0 in every feature is no part of a mean.
    const double empty = never > 0 ? std::exp((width - 1) * std::log(never) - t * eps) : 0;
    const double weight = step * t * all_but_one, dead = step * t * empty;
    const double half = step * std::sqrt(t / M_PI), live = std::max(0.0, mean - never);
    // Of the other features none or one is not 0, beside one that is not.
    const double few =
        without_few
            ? step * t *
                  (std::pow(never, width - 1) + (width - 1) * live * std::pow(never, width - 2))
            : 0;
    const double dead_token = std::exp(width * std::log(never) - t * eps);
    const double one = without_few ? one_or_two(width, never, live) * std::exp(-t * eps) : 0;
    const double token = std::max(0.0, all_but_one * mean - (never > 0 ? dead_token : 0) - one);
    sums.token_inverse += step * t * token;
    sums.token_root += half * token;
    const double few_beside_zero =
        without_few && width > 2 ? step * t * one_or_two(width - 1, never, live) : 0;
    for (Index i = 0; i < kinds; ++i) {
      const bool zero = x.variance[i] == 0;
      sums.inverse[i] += zero ? weight - dead - few_beside_zero : (weight - few) * decay[i];
      sums.along[i] += (weight - few) * t * x.variance[i] / width * decay[i] * h[i];
      sums.root[i] += half * (all_but_one * decay[i] - (zero ? empty : 0));
      sums.forward[i] += half * all_but_one * decay[i] * h[i];
    }
  }
  return sums;
}

ArrayXd or_ones(const ArrayXd& values, Index size) {
  return values.size() == size ? values : ArrayXd(ArrayXd::Ones(size));
}

/// Means over the kinds of the other part.
KindGradient part_of(const MixedSum& sum, const KindGradient& gradient, bool left) {
  if (gradient.plain() || gradient.second.size() != sum.sum.weight.size()) return {};
  const Index rows = std::max<Index>(sum.left.size(), 1),
              columns = std::max<Index>(sum.right.size(), 1);
  const Index size = left ? sum.left.size() : sum.right.size();
  KindGradient part{ArrayXd::Zero(size), ArrayXd::Zero(size)};
  for (Index i = 0; i < rows; ++i) {
    for (Index k = 0; k < columns; ++k) {
      const Index at = sum.kind[static_cast<std::size_t>(i * columns + k)], own = left ? i : k;
      const double weight = left ? (sum.right.size() > 0 ? sum.right[k] : 1)
                                 : (sum.left.size() > 0 ? sum.left[i] : 1);
      if (size == 0) continue;
      part.second[own] += weight * gradient.second[at];
      part.root[own] += weight * gradient.root[at];
    }
  }
  return part;
}

}  // namespace

/// From its scatter about its mean, which is 1: not below 1 for any rounding.
double Mixture::square() const {
  return plain() ? 1.0 : 1 + (weight * (variance - 1).square()).sum();
}

Mixture dropped(const Mixture& x, double rate) {
  const Mixture from = x.plain() ? normal() : x;
  const Index kinds = from.weight.size();
  const double kept = 1 - rate;
  Mixture y{ArrayXd::Zero(kinds + 1), ArrayXd::Zero(kinds + 1),
            ArrayXXd::Zero(kinds + 1, kinds + 1)};
  y.weight.head(kinds) = from.weight * kept;
  y.weight[kinds] = rate;
  y.variance.head(kinds) = from.variance / kept;
  y.cross.topLeftCorner(kinds, kinds) = from.cross / (kept * kept);
  return y;
}

MixedSum mixed_sum(const Mixture& x, const Mixture& f, double second_share, double cross_share) {
  MixedSum made;
  if (x.plain() && f.plain()) return made;
  made.left = x.weight;
  made.right = f.weight;
  const Mixture a = x.plain() ? normal() : x, b = f.plain() ? normal() : f;
  const Index rows = a.weight.size(), columns = b.weight.size(), size = rows * columns;
  Mixture& sum = made.sum;
  sum = {ArrayXd(size), ArrayXd(size), ArrayXXd(size, size)};
  for (Index n = 0; n < size; ++n) {
    const Index i = n / columns, k = n % columns;
    sum.weight[n] = a.weight[i] * b.weight[k];
    sum.variance[n] = second_share * a.variance[i] + (1 - second_share) * b.variance[k];
    for (Index m = 0; m < size; ++m)
      sum.cross(n, m) =
          cross_share * a.cross(i, m / columns) + (1 - cross_share) * b.cross(k, m % columns);
    made.kind.push_back(n);
  }
  while (sum.weight.size() > most_kinds) merge_least(sum, made.kind);
  return made;
}

Mixture with_sizes(const Mixture& x, const ArrayXd& second, const ArrayXXd& cross) {
  Mixture y{x.weight, second, cross};
  const double mean = (y.weight * second).sum();
  const double pairs = (y.weight.matrix().transpose() * cross.matrix() * y.weight.matrix()).value();
  if (!(mean > 0)) return {};
  y.variance /= mean;
  if (pairs != 0)
    y.cross /= pairs;
  else
    y.cross.setOnes();
  return y;
}

namespace {
/// Var ln 1/s2 of the lognormal 1/s2 that has these E 1/s2 and E 1/s. E 1/s4 may be that of tokens
/// of which passes have none.
double lognormal_variance(const Inverses& of) {
  const double root = of.token_root * of.token_root;
  return of.token_inverse > 0 && root > 0 ? 4 * std::log(of.token_inverse / root) : 0;
}
}  // namespace

MixtureNorm mixture_norm(const Mixture& x, double width, double eps, double kurtosis,
                         double share) {
  MixtureNorm made;
  if (x.plain()) return made;
  const Inverses own = inverses(x, width, eps, kurtosis),
                 one = inverses(normal(), width, eps, kurtosis);
  made.alive = own.alive;
  made.few = own.few;
  made.inverse = own.inverse;
  made.along = own.along;
  made.root = own.root;
  made.normal_inverse = one.inverse[0];
  made.normal_along = one.along[0];
  made.normal_root = one.root[0];
  const Eigen::VectorXd weighted = (x.weight * own.forward).matrix();
  const double beside = lognormal_variance(own) - lognormal_variance(one);
  if (beside > 0) made.scatter = std::expm1(beside);
  made.share = share;
  const double square = one.forward[0] * one.forward[0];
  if (square > 0) made.forward = weighted.dot(x.cross.matrix() * weighted) / square;
  if (share < 1) {
    const ArrayXd before = made.inverse;
    made.inverse = made.normal_inverse * (before / made.normal_inverse).max(0.0).pow(share);
    made.along *= (before > 0).select(made.inverse / before, 1.0);
    made.root = made.normal_root * (made.root / made.normal_root).max(0.0).pow(share);
    made.forward = std::pow(std::max(made.forward, 0.0), share);
  }
  return made;
}

double MixtureNorm::spread(double tokens) const {
  return log_variance_of(std::expm1(share * std::log1p(scatter)) / tokens);
}

double MixtureNorm::left_out() const {
  const double together = share * (1 - share);
  return together > 0 ? together * scatter * scatter : 0;
}

KindFactors normalise(KindGradient& gradient, const ArrayXd& weight) {
  const double second = (weight * gradient.second).sum(), root = (weight * gradient.root).sum();
  if (!(second > 0) || !(root > 0)) {
    gradient = {};
    return {};
  }
  gradient.second /= second;
  gradient.root /= root;
  return {second, root * root};
}

KindFactors before_dropout(const Mixture& before, KindGradient& gradient) {
  if (gradient.plain()) return {};
  // The last kind is what is dropped, and its gradient too.
  const Index kinds = std::max<Index>(before.weight.size(), 1);
  if (gradient.second.size() != kinds + 1) {
    gradient = {};
    return {};
  }
  gradient.second.conservativeResize(kinds);
  gradient.root.conservativeResize(kinds);
  const KindFactors factors =
      normalise(gradient, before.plain() ? ArrayXd(ArrayXd::Ones(1)) : before.weight);
  if (before.plain()) gradient = {};
  return factors;
}

KindGradient left_of(const MixedSum& sum, const KindGradient& gradient) {
  return sum.left.size() > 0 ? part_of(sum, gradient, true) : KindGradient{};
}
KindGradient right_of(const MixedSum& sum, const KindGradient& gradient) {
  return sum.right.size() > 0 ? part_of(sum, gradient, false) : KindGradient{};
}

KindGradient sum_of_kinds(const KindGradient& a, const KindGradient& b, double share) {
  const Index size = std::max(a.second.size(), b.second.size());
  if (size == 0 || (!a.plain() && !b.plain() && a.second.size() != b.second.size())) return {};
  return {share * or_ones(a.second, size) + (1 - share) * or_ones(b.second, size),
          share * or_ones(a.root, size) + (1 - share) * or_ones(b.root, size)};
}

KindFactors below_norm(const MixtureNorm& norm, const ArrayXd& weight, double radial,
                       KindGradient& gradient) {
  if (norm.inverse.size() == 0) {
    gradient = {};
    return {};
  }
  const Index kinds = norm.inverse.size();
  const double second = norm.normal_inverse - radial * norm.normal_along;
  gradient.second =
      or_ones(gradient.second, kinds) * (norm.inverse - radial * norm.along).max(0.0) / second;
  gradient.root = or_ones(gradient.root, kinds) * norm.root / norm.normal_root;
  return normalise(gradient, weight);
}

}  // namespace scalecalc::moments
