#include "verify/agreement/expected.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace scalecalc {
namespace {

/// A ratio of second moments; a correction in 1/width that is larger than what it corrects has no
/// meaning.
double ratio_or(double value, double otherwise) {
  return value > 0 ? value : otherwise;
}

/// A sum of `terms` numbers that are each rounded to epsilon is off by at most terms x epsilon of
/// their size; what underflows is not seen at all.
double rounding(std::int64_t terms, double size, double epsilon) {
  const double smallest = epsilon > std::numeric_limits<double>::epsilon()
                              ? static_cast<double>(std::numeric_limits<float>::min())
                              : std::numeric_limits<double>::min();
  return static_cast<double>(std::max<std::int64_t>(terms, 1)) * epsilon * std::abs(size) +
         smallest * smallest;
}

/// Of a square of differences: rounding of the terms, whose square is of this size, stays whole
/// where they cancel.
double cancelled(std::int64_t terms, const Site* of, double epsilon) {
  if (of == nullptr || !of->grad_second.is_known()) return 0;
  return static_cast<double>(terms) * epsilon * epsilon * of->grad_second.value;
}

Expected expect(const Figure& figure, double spread, double rounding) {
  Expected expected;
  expected.mean = figure.value;
  expected.log_variance = spread;
  expected.typical = figure.value * std::exp(-spread / 2);
  expected.error = figure.error + figure.truncation;
  expected.rounding = rounding;
  return expected;
}

/// Of a gradient, whose mean over draws may be known beside infinite width's.
Expected expect_gradient(const Figure& figure, double ratio, double spread, double rounding) {
  Expected expected = expect(figure, spread, rounding);
  expected.mean *= ratio_or(ratio, 1);
  expected.typical *= ratio_or(ratio, 1);
  return expected;
}

class SiteCases {
 public:
  SiteCases(const Site& site, const Site* values, const SiteSamples& samples, double epsilon)
      : site_(site), values_(values), samples_(samples), epsilon_(epsilon) {}

  std::vector<Case> list() {
    second();
    if (site_.cross.is_known()) add("cross", follows_second(site_.cross), samples_.cross);
    if (site_.mean.is_known() && site_.mean.value != 0) add("mean", mean(), samples_.mean);
    gradient();
    return std::move(cases_);
  }

 private:
  void add(const char* quantity, const Expected& expected, const std::vector<double>& samples) {
    cases_.push_back({site_.path, site_.kind, quantity, expected, &samples});
  }

  double noise(double size) const { return rounding(site_.width, size, epsilon_); }

  double finite_ratio() const { return ratio_or(site_.second_finite / site_.second.value, 1); }
  double typical_ratio() const {
    return ratio_or(site_.second_typical / site_.second.value,
                    finite_ratio() * std::exp(-site_.spread / 2));
  }

  void second() {
    if (!site_.second.is_known()) return;
    Expected expected = follows_second(site_.second);
    expected.is_square = true;
    add("second", expected, samples_.second);
  }

  /// The realised scale of a draw multiplies second and cross alike.
  Expected follows_second(const Figure& figure) const {
    Expected expected = expect(figure, site_.spread, noise(site_.second.value));
    expected.mean = figure.value * finite_ratio();
    expected.typical = figure.value * typical_ratio();
    return expected;
  }

  /// The mean goes with the root of the realised scale. That is exact for a homogeneous activation
  /// alone, so the correction counts as an error.
  Expected mean() const {
    if (site_.spread >= of_rare_events) {
      // Rare events alone make the second moment, and what the mean has of them is not known.
      Expected rare = expect(site_.mean, 0, noise(std::sqrt(site_.second.value)));
      rare.error += std::abs(rare.mean);
      return rare;
    }
    Expected expected = expect(site_.mean, site_.spread / 4, noise(std::sqrt(site_.second.value)));
    expected.typical = site_.mean.value * std::sqrt(typical_ratio());
    expected.mean = expected.typical * std::exp(site_.spread / 8);
    expected.error += std::abs(expected.typical - site_.mean.value);
    return expected;
  }

  void gradient() {
    if (!site_.grad_second.is_known()) return;
    const double size = site_.grad_second.value;
    const double ratio = site_.grad_second_finite / size;
    const double rounded = noise(size) + cancelled(site_.width, values_, epsilon_);
    Expected square = expect_gradient(site_.grad_second, ratio, site_.grad_spread, rounded);
    square.is_square = true;
    add("grad_second", square, samples_.grad_second);
    if (site_.grad_cross.is_known())
      add("grad_cross", expect_gradient(site_.grad_cross, ratio, site_.grad_spread, rounded),
          samples_.grad_cross);
  }

  const Site& site_;
  const Site* values_;
  const SiteSamples& samples_;
  double epsilon_;
  std::vector<Case> cases_;
};

}  // namespace

std::vector<Case> site_cases(const Site& site, const Site* values, const SiteSamples& samples,
                             double epsilon) {
  return SiteCases(site, values, samples, epsilon).list();
}

namespace {

/// What a weight's gradient is summed from, where sums over tokens cancel (keys: a shift of all
/// scores changes nothing; gains behind a mean): the own terms of all tokens of all sequences.
double gradient_terms(const ParameterMoments& parameter, const Site* at, std::int64_t sequences) {
  const double size = std::abs(parameter.grad_second.value);
  if (at == nullptr || !at->grad_second.is_known()) return size;
  return std::max(size, static_cast<double>(at->tokens * sequences) * at->grad_second.value);
}

}  // namespace

std::vector<Case> parameter_cases(const ParameterMoments& parameter, const Site* at,
                                  const Site* values, const ParameterSamples& samples,
                                  double epsilon, std::int64_t sequences) {
  std::vector<Case> cases;
  const std::int64_t terms = std::max(parameter.rows, parameter.columns);
  const auto add = [&](const char* quantity, const Figure& figure, double ratio, double spread,
                       double size, const std::vector<double>& measured) {
    if (!figure.is_known()) return;
    Expected expected = expect_gradient(figure, ratio, spread, rounding(terms, size, epsilon));
    expected.is_square = true;
    cases.push_back({parameter.path, "parameter", quantity, expected, &measured});
  };
  add("second", parameter.second, 1, 0, parameter.second.value, samples.second);
  add("grad_second", parameter.grad_second,
      parameter.grad_second_finite / parameter.grad_second.value, parameter.grad_spread,
      gradient_terms(parameter, at, sequences), samples.grad_second);
  if (values != nullptr)
    cases.back().expected.rounding += cancelled(terms * values->tokens, values, epsilon);
  return cases;
}

}  // namespace scalecalc
