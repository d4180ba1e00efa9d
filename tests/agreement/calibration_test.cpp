#include "calibration.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "random_models.hpp"

namespace scalecalc::random_models {
namespace {

constexpr std::uint64_t seed = 22;
constexpr int models = 60, transformers = 80;
/// What the promise allows: at confidence 0.99 one run of 100 fails by chance, and bands are not
/// exact at few seeds.
constexpr double rate = 0.015;
/// Of networks of every kind some parts have no rule of the next order and a truncation that is too
/// small for it: norms over few samples, activations without weights between them, features that
/// are 0, sharp scores. 14% of 150 models of seed 1 fail; of this seed fewer do, and no more may.
/// tools/bench calibration lists them.
constexpr double wide_rate = 0.07;
/// Of them, what is refused: norms over samples in two streams.
constexpr double refused_rate = 0.01;
/// With which the bound on the count of failures holds when each fails at that rate.
constexpr double confidence = 0.999;

TEST_CASE("the most failures of a binomial count") {
  CHECK(most_failures(1, 0.5, 0.4) == 0);
  CHECK(most_failures(1, 0.5, 0.6) == 1);
  CHECK(most_failures(2, 0.5, 0.75) == 1);
  // P(X <= 2) = 0.9206 and P(X <= 3) = 0.9816 of 100 trials at 0.01.
  CHECK(most_failures(100, 0.01, 0.92) == 2);
  CHECK(most_failures(100, 0.01, 0.93) == 3);
}

std::string described(const Trial& trial) {
  std::string text = "model " + std::to_string(trial.index) + ": " + fault_of(*trial.again) + "\n";
  for (const auto* comparisons : {&trial.again->sites, &trial.again->parameters})
    for (const Comparison& c : *comparisons)
      if (!c.ok)
        text += c.path + " " + c.quantity + ": predicted " + std::to_string(c.predicted) +
                ", measured " + std::to_string(c.measured) + ", band " + std::to_string(c.band) +
                "\n";
  return text + model_text(trial.spec);
}

/// What became of many models.
struct Tally {
  int tried = 0, refused = 0;
  std::vector<Trial> failures;
  std::vector<double> bands;  ///< in standard errors
  int failed() const { return static_cast<int>(failures.size()); }
};

Tally tally_of(const std::vector<ModelSpec>& specs) {
  CalibrationOptions options;
  options.repeats = false;
  Tally tally;
  for (const Trial& trial : calibrate(specs, 0, options)) {
    CAPTURE(trial.index);
    if (!trial.refused.empty()) {
      tally.refused += trial.is_refused() ? 1 : 0;
      continue;
    }
    ++tally.tried;
    if (trial.failed()) tally.failures.push_back(trial);
    for (const auto* comparisons : {&trial.first.sites, &trial.first.parameters})
      for (const Comparison& c : *comparisons) {
        CAPTURE(c.path);
        CAPTURE(c.quantity);
        CHECK(c.band >= c.standard_error);
      }
    const std::vector<double> widths = band_widths(trial.first);
    tally.bands.insert(tally.bands.end(), widths.begin(), widths.end());
  }
  std::sort(tally.bands.begin(), tally.bands.end());
  REQUIRE(!tally.bands.empty());
  return tally;
}

/// Those that fail again with 8 times the seeds: said, and computed, when a test fails.
std::string systematic(const Tally& tally) {
  std::string text;
  for (const Trial& trial : tally.failures) {
    const Trial again = try_model(trial.spec, trial.index, {});
    if (again.is_systematic()) text += described(again);
  }
  return text;
}

double quantile_of(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size()))];
}

// Bands that are wide enough for anything would pass as well, hence the bounds on their width.
TEST_CASE("random transformers pass as often as verify says") {
  std::vector<ModelSpec> specs;
  for (std::uint64_t index = 0; index < transformers; ++index)
    specs.push_back(common_transformer(seed, index));
  const Tally tally = tally_of(specs);
  CAPTURE(systematic(tally));
  CHECK(tally.failed() <= most_failures(tally.tried, rate, confidence));
  CHECK(quantile_of(tally.bands, 0.5) < 8);
  CHECK(quantile_of(tally.bands, 0.9) < 20);
}

TEST_CASE("random networks of every kind fail no more often than is known") {
  std::vector<ModelSpec> specs;
  for (std::uint64_t index = 0; index < models; ++index) specs.push_back(random_model(seed, index));
  const Tally tally = tally_of(specs);
  CAPTURE(systematic(tally));
  CHECK(tally.failed() <= most_failures(tally.tried, wide_rate, confidence));
  CHECK(tally.refused <= most_failures(models, refused_rate, confidence));
  CHECK(quantile_of(tally.bands, 0.5) < 8);
  // Narrow transformers of words, tied or rotated, are among them, and scores of a variance of
  // thousands, where all that is known of a row is the chance of a tie.
  CHECK(quantile_of(tally.bands, 0.9) < 28);
}

}  // namespace
}  // namespace scalecalc::random_models
