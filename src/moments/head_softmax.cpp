#include "moments/head_softmax.hpp"

#include <algorithm>
#include <cmath>

#include "moments/head.hpp"

namespace scalecalc::moments {
namespace {

constexpr int few = 4;
constexpr int points = 14;
/// Centred tokens are at -1/(n - 1) of each other.
constexpr double lowest = -0.35;
/// Up to this variance of the logits the series is short at any correlation past `lowest`.
constexpr double small_variance = 2.5;

}  // namespace

Estimate Numbers::HeadSoftmax::exact(double correlation) {
  if (tau2 > small_variance || correlation < lowest)
    return softmax_pair(classes, tau2, correlation).overlap;
  if (!row) row.emplace(std::vector<SoftmaxRows::Row>{{static_cast<double>(classes), tau2}});
  const SoftmaxOverlaps found = row->overlaps(0, 0, correlation);
  return {found.overlap, found.error * found.overlap, Method::quadrature};
}

Estimate Numbers::HeadSoftmax::overlap(double correlation) {
  if (correlation < lowest || ++asked <= few) return exact(correlation);
  const auto interpolated = [&](double c) {
    return places(c, [&](std::size_t k) { return overlaps[k]; });
  };
  if (overlaps.empty()) {
    places = {lowest, 1, points};
    for (const double c : places.at()) {
      const Estimate at = exact(c);
      overlaps.push_back(at.value);
      error = std::max(error, at.error);
    }
    // Largest at the ends, where O is P2, and not known to a digit elsewhere.
    constexpr double check = 0.9;
    error += 2 * std::max(std::fabs(interpolated(check) - exact(check).value),
                          std::fabs(interpolated(1) - p2));
  }
  return {interpolated(correlation), error, Method::quadrature};
}

const Numbers::HeadSoftmax& Numbers::softmax_head(std::int64_t classes, double tau2) {
  auto& head = cache<HeadSoftmax>();
  head = {};
  head.classes = classes;
  head.tau2 = std::clamp(tau2, 0.0, condensed);
  assume("cross-entropy", "a head's softmax is taken as condensed past logits of variance 1000",
         "tau2 of the logits", tau2, condensed);
  const Estimate p2 = softmax_one(classes, head.tau2).p2;
  head.p2 = p2.value;
  note_error(p2.error);
  return head;
}

double Numbers::softmax_second(const HeadSoftmax& head, double tau2) {
  const double at = std::clamp(tau2, 0.0, condensed);
  const double p2 = at == head.tau2 ? head.p2 : softmax_one(head.classes, at).p2.value;
  // 1 - P2 is the chance of two largest logits within about 1 of each other: it falls as 1/tau.
  return tau2 > condensed ? 1 - (1 - p2) * std::sqrt(condensed / tau2) : p2;
}

/// Of rows of different sizes, O is taken at the average one: they differ where no norm is last.
double Numbers::softmax_cross(const HeadSoftmax& /*head*/, double tau2_t, double tau2_u,
                              double cross) {
  const double product = std::sqrt(tau2_t * tau2_u);
  const double c = product > 0 ? std::clamp(cross / product, -1.0, 1.0) : 0;
  const Estimate found = cache<HeadSoftmax>().overlap(c);
  note_error(found.error);
  return found.value;
}

double Numbers::log_sum(std::int64_t classes, double tau2) const {
  const double scale = tau2 > condensed ? std::sqrt(tau2 / condensed) : 1;
  return scale * expected_log_sum(static_cast<double>(classes), std::clamp(tau2, 0.0, condensed));
}

/// On a uniform grid of ln t, from where both terms are 1 to 1e-13 to where both are 0; the steps
/// of the inner average follow how sharp e^{-t e^s} is.
double expected_log_sum(double classes, double tau2) {
  constexpr double step = 0.3, z_reach = 9;
  const double tau = std::sqrt(tau2), z_step = 0.25 / std::max(1.0, tau / 2);
  std::vector<double> sizes, weights;
  double total = 0;
  for (double z = -z_reach; z <= z_reach; z += z_step) {
    sizes.push_back(std::exp(tau * z));
    weights.push_back(std::exp(-z * z / 2));
    total += weights.back();
  }
  const double low = -30 - std::log(classes) - std::min(tau * z_reach, tau2 / 2 + 3);
  const double high = 5 + tau * z_reach;
  double sum = 0;
  for (double at = low; at < high; at += step) {
    const double t = std::exp(at);
    double below = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) below -= weights[i] * std::expm1(-t * sizes[i]);
    sum += std::exp(-t) - std::exp(classes * std::log1p(-std::min(below / total, 1.0)));
  }
  return sum * step;
}

}  // namespace scalecalc::moments
