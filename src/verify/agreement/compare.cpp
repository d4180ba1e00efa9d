#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "base/confidence.hpp"
#include "verify/agreement/band.hpp"
#include "verify/agreement/cause.hpp"
#include "verify/agreement/expected.hpp"

namespace scalecalc {
namespace {

constexpr int fewest_seeds = 2;

/// Pairs what is predicted with what is measured by path, in the order of the prediction.
template <class Predicted, class Measured, class Pair>
void join(const std::vector<Predicted>& predicted, const std::vector<Measured>& measured,
          std::vector<std::string>& unmatched, Pair pair) {
  std::unordered_map<std::string, const Measured*> by_path;
  for (const Measured& place : measured) by_path.emplace(place.path, &place);
  for (const Predicted& place : predicted) {
    const auto found = by_path.find(place.path);
    if (found == by_path.end()) {
      unmatched.push_back(place.path);
      continue;
    }
    pair(place, *found->second);
    by_path.erase(found);
  }
  for (const Measured& place : measured)
    if (by_path.contains(place.path)) unmatched.push_back(place.path);
}

using Sites = std::unordered_map<std::string, const Site*>;

/// Of an attention's queries or keys: its values; null for other sites.
const Site* values_beside(const Sites& sites, const std::string& path) {
  if (!path.ends_with(".q") && !path.ends_with(".k")) return nullptr;
  const auto found = sites.find(path.substr(0, path.size() - 1) + "v");
  return found == sites.end() ? nullptr : found->second;
}

/// All comparisons, made before the first is judged: the band depends on their number.
class Agreement {
 public:
  Agreement(const Trace& predicted, const PassSamples& measured, const CompareOptions& options)
      : predicted_(predicted) {
    const double epsilon = options.single_precision
                               ? static_cast<double>(std::numeric_limits<float>::epsilon())
                               : std::numeric_limits<double>::epsilon();
    result_.confidence = options.confidence;
    result_.assumptions = predicted.assumptions;
    Sites sites;
    for (const Site& site : predicted.sites) sites.emplace(site.path, &site);
    join(predicted.sites, measured.sites, result_.unmatched,
         [&](const Site& site, const SiteSamples& samples) {
           take(site_cases(site, values_beside(sites, site.path), samples, epsilon), site_cases_);
         });
    join(predicted.parameters, measured.parameters, result_.unmatched,
         [&](const ParameterMoments& parameter, const ParameterSamples& samples) {
           const std::string path = parameter.path.substr(0, parameter.path.rfind('.'));
           const auto at = sites.find(path);
           take(parameter_cases(parameter, at == sites.end() ? nullptr : at->second,
                                values_beside(sites, path), samples, epsilon, options.sequences),
                parameter_cases_);
         });
    add_rounding(epsilon, options.squared_error);
    if (options.equal_targets != nullptr) add_equal_targets(*options.equal_targets);
  }

  Verification run() {
    result_.seeds = count_seeds();
    const std::size_t count = site_cases_.size() + parameter_cases_.size();
    quantiles_ = simultaneous_quantiles(count, result_.seeds, result_.confidence);
    result_.quantile = quantiles_.deviations;
    result_.sites = judge_all(site_cases_);
    result_.parameters = judge_all(parameter_cases_);
    result_.passed = result_.failures() == 0 && count > 0;
    find_worst(result_.sites);
    find_worst(result_.parameters);
    result_.causes = likely_causes(predicted_, result_);
    return std::move(result_);
  }

 private:
  /// Where a network takes out what it has put in (a mean, a direction), the rounding of it stays:
  /// at each place epsilon of what the largest so far is made of, as often as a sum there has
  /// terms. Signals come from the places before, gradients from those behind, and of a squared
  /// error from the outputs: where these are 0 all gradients are their rounding.
  void add_rounding(double epsilon, bool squared_error) {
    double places = 0;
    for (const Site& site : predicted_.sites)
      places += static_cast<double>(std::max(site.width, site.tokens));
    std::unordered_map<std::string, double> behind;  // gradients, by site
    const auto add = [&](bool gradient, auto first, auto last, double of_outputs) {
      double largest = 0, at_outputs = 0, rounded = 0;
      for (; first != last; ++first) {
        if (first->quantity.starts_with("grad_") != gradient || first->quantity == "mean") continue;
        Expected& expected = first->expected;
        if (std::isfinite(expected.mean)) largest = std::max(largest, std::abs(expected.mean));
        const auto site = behind.find(first->path.substr(0, first->path.rfind('.')));
        if (site != behind.end() && first->kind == "parameter")
          largest = std::max(largest, site->second);
        rounded = places * epsilon * epsilon * largest;
        if (at_outputs == 0) at_outputs = largest;
        const double follows = at_outputs > 0 ? largest / at_outputs : 1;
        expected.rounding += rounded + of_outputs * follows;
        if (gradient) behind.emplace(first->path, largest);
      }
      return rounded;
    };
    const double signal = add(false, site_cases_.begin(), site_cases_.end(), 0),
                 outputs = squared_error ? signal : 0;
    add(true, site_cases_.rbegin(), site_cases_.rend(), outputs);
    add(true, parameter_cases_.rbegin(), parameter_cases_.rend(), outputs);
  }

  /// What the prediction has more than that of distinct targets is owed to pairs of equal ones.
  void add_equal_targets(const EqualTargets& targets) {
    const double pairs =
        targets.pairs_of_tokens > 0 ? targets.pairs_of_tokens : targets.pairs_of_samples;
    std::unordered_map<std::string, double> predicted, distinct;
    gradients_of(predicted_, predicted);
    gradients_of(targets.distinct, distinct);
    for (std::vector<Case>* cases : {&site_cases_, &parameter_cases_})
      for (Case& one : *cases) {
        const std::string key = one.path + " " + one.quantity;
        const auto found = predicted.find(key);
        if (found == predicted.end()) continue;
        one.expected.rare = found->second - distinct.at(key);
        one.expected.rare_events = pairs;
      }
  }

  static void gradients_of(const Trace& trace, std::unordered_map<std::string, double>& by_path) {
    const auto put = [&](const std::string& path, const char* quantity, const Figure& figure) {
      if (figure.is_known()) by_path.emplace(path + " " + quantity, figure.value);
    };
    for (const Site& site : trace.sites) {
      put(site.path, "grad_second", site.grad_second);
      put(site.path, "grad_cross", site.grad_cross);
    }
    for (const ParameterMoments& parameter : trace.parameters)
      put(parameter.path, "grad_second", parameter.grad_second);
  }

  void take(std::vector<Case> found, std::vector<Case>& cases) {
    for (Case& one : found) {
      if (one.samples->empty())
        result_.unmatched.push_back(one.path + " " + one.quantity);
      else
        cases.push_back(std::move(one));
    }
  }

  int count_seeds() const {
    std::size_t seeds = 0;
    for (const auto* cases : {&site_cases_, &parameter_cases_})
      for (const Case& one : *cases) {
        if (seeds == 0) seeds = one.samples->size();
        if (one.samples->size() == seeds) continue;
        throw Error(ErrorKind::input, "samples of different numbers of seeds", one.path,
                    fmt::format("expected {} as before, got {}", seeds, one.samples->size()));
      }
    if (seeds >= fewest_seeds) return static_cast<int>(seeds);
    throw Error(ErrorKind::input, "a comparison needs the scatter of two seeds at least", "compare",
                fmt::format("got {}", seeds));
  }

  std::vector<Comparison> judge_all(const std::vector<Case>& cases) const {
    std::vector<Comparison> comparisons;
    comparisons.reserve(cases.size());
    bool scale_is_logarithmic = false;
    for (const Case& one : cases) {
      const bool logarithms = wants_logarithms(one, scale_is_logarithmic);
      if (one.expected.is_square) scale_is_logarithmic = logarithms;
      comparisons.push_back(judge(one, logarithms, quantiles_));
    }
    return comparisons;
  }

  /// Failures come first, of them those without a number.
  static bool is_worse(const Comparison& one, const Comparison& other) {
    if (one.ok != other.ok) return !one.ok;
    if (std::isnan(one.z) || std::isnan(other.z)) return std::isnan(one.z) && !std::isnan(other.z);
    return std::abs(one.z) > std::abs(other.z);
  }

  void find_worst(const std::vector<Comparison>& comparisons) {
    for (const Comparison& comparison : comparisons)
      if (!result_.worst || is_worse(comparison, *result_.worst)) result_.worst = comparison;
  }

  const Trace& predicted_;
  std::vector<Case> site_cases_, parameter_cases_;
  Quantiles quantiles_;
  Verification result_;
};

}  // namespace

std::size_t Verification::failures() const {
  const auto failing = [](const std::vector<Comparison>& comparisons) {
    return static_cast<std::size_t>(std::count_if(comparisons.begin(), comparisons.end(),
                                                  [](const Comparison& c) { return !c.ok; }));
  };
  return failing(sites) + failing(parameters) + unmatched.size();
}

Verification compare(const Trace& predicted, const PassSamples& measured,
                     const CompareOptions& options) {
  base::check_confidence(options.confidence, "compare");
  return Agreement(predicted, measured, options).run();
}

}  // namespace scalecalc
