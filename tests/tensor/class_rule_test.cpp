#include "tensor/class_rule.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "support.hpp"

namespace scalecalc::tensor {
namespace {

/// -ln softmax(logits)[target] without a shift of the exponents.
long double direct_loss(const std::vector<long double>& logits, std::size_t target) {
  long double sum = 0.0L;
  for (const long double logit : logits) sum += std::exp(logit);
  return -std::log(std::exp(logits[target]) / sum);
}

}  // namespace

TEST_CASE("class rule: loss and gradient against the softmax and its differences") {
  constexpr std::size_t kClasses = 9;
  const Vector logits = normal_values(kClasses, 1, 2.0);
  const double top = *std::max_element(logits.begin(), logits.end());
  Vector p;
  for (const double logit : logits) p.push_back(std::exp(logit - top));
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& entry : p) entry /= sum;
  constexpr double kTolerance = 4.0 * kClasses * std::numeric_limits<double>::epsilon();
  for (std::size_t target = 0; target < kClasses; ++target) {
    std::vector<long double> moved(logits.begin(), logits.end());
    const double loss = class_loss(sum, logits[target], top);
    CHECK(std::fabs(loss - static_cast<double>(direct_loss(moved, target))) < kTolerance * 10.0);
    for (std::size_t c = 0; c < kClasses; ++c) {
      const long double at = moved[c], h = 1e-4L;
      const auto f = [&](long double step) {
        moved[c] = at + step;
        return direct_loss(moved, target);
      };
      const long double slope =
          (8.0L * (f(h) - f(-h)) - (f(2.0L * h) - f(-2.0L * h))) / (12.0L * h);
      moved[c] = at;
      CHECK(std::fabs(class_gradient(0.5, p[c], c == target ? 1.0 : 0.0) -
                      static_cast<double>(slope) / 2.0) < kTolerance);
    }
  }
}

TEST_CASE("class rule: logits far apart, in single precision") {
  // e^-300 is 0 in float, the difference of the logits is kept.
  CHECK(class_loss(1.0F, -300.0F, 0.0F) == 300.0);
  CHECK(class_loss(2.0F, 1e30F, 1e30F) == std::log(2.0));
  CHECK(class_gradient(1.0F, 0.0F, 1.0F) == -1.0F);
  CHECK(class_gradient(1.0F, 1.0F, 1.0F) == 0.0F);
  CHECK(std::isnan(class_gradient(1.0, static_cast<double>(NAN), 0.0)));
}

}  // namespace scalecalc::tensor
