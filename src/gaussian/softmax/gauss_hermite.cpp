#include "gaussian/softmax/gauss_hermite.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <mutex>
#include <numbers>

namespace scalecalc::gaussian::softmax {
namespace {

constexpr std::size_t kRules = (kMostNodes - kFewestNodes) / kNodeStep + 1;

/// p_n and p_{n-1}, p_k = He_k/sqrt(k!), orthonormal under N(0, 1).
std::array<double, 2> orthonormal(int n, double z) {
  double last = 0, value = 1;
  for (int k = 0; k < n; ++k) {
    const double next = (z * value - std::sqrt(static_cast<double>(k)) * last) /
                        std::sqrt(static_cast<double>(k + 1));
    last = value;
    value = next;
  }
  return {value, last};
}

/// Roots z = 2 sqrt(m) cos(theta), m = n + 1/2, begin where the phase of He_n has gone round,
/// m (2 theta - sin 2 theta) = (2 k + 3/2) pi (Plancherel and Rotach 1929), and end by Newton's
/// method: p_n' = sqrt(n) p_{n-1}. The weight of a root is 1/(n p_{n-1}^2).
GaussHermite made_rule(int n) {
  GaussHermite rule;
  rule.z.resize(static_cast<std::size_t>(n));
  rule.weight.resize(rule.z.size());
  const double m = n + 0.5, root_n = std::sqrt(static_cast<double>(n));
  for (int k = 0; k < n / 2; ++k) {
    const double phase = (2 * k + 1.5) * std::numbers::pi / m;
    double theta = std::cbrt(0.75 * phase);
    for (int i = 0; i < 20; ++i)
      theta -= (2 * theta - std::sin(2 * theta) - phase) / (2 - 2 * std::cos(2 * theta));
    double z = 2 * std::sqrt(m) * std::cos(theta);
    for (int i = 0; i < 6; ++i) {
      const auto [value, before] = orthonormal(n, z);
      z -= value / (root_n * before);
    }
    const double before = orthonormal(n, z)[1];
    const auto low = static_cast<std::size_t>(k), high = static_cast<std::size_t>(n - 1 - k);
    rule.z[high] = z;
    rule.z[low] = -z;
    rule.weight[low] = rule.weight[high] = 1 / (n * before * before);
  }
  return rule;
}

}  // namespace

const GaussHermite& gauss_hermite(int nodes) {
  static std::array<std::once_flag, kRules> once;
  static std::array<GaussHermite, kRules> rules;
  const int above = std::max(nodes - kFewestNodes, 0);
  const auto at = static_cast<std::size_t>((above + kNodeStep - 1) / kNodeStep);
  std::call_once(once.at(at),
                 [&] { rules[at] = made_rule(kFewestNodes + kNodeStep * static_cast<int>(at)); });
  return rules[at];
}

}  // namespace scalecalc::gaussian::softmax
