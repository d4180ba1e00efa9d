#include "calibration.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "random_models.hpp"

namespace scalecalc::random_models {
namespace {

constexpr std::uint64_t seed = 22;
constexpr int models = 100;
/// What the promise allows: at confidence 0.99 one run of 100 fails by chance, and bands are not
/// exact at few seeds.
constexpr double rate = 0.015;
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

// Bands that are wide enough for anything would pass as well, hence the bounds on their width.
TEST_CASE("random models pass as often as verify says, and none fails twice") {
  std::vector<ModelSpec> specs;
  for (std::uint64_t index = 0; index < models; ++index) specs.push_back(random_model(seed, index));
  int tried = 0, failed = 0, refused = 0;
  std::vector<double> bands;  // in standard errors
  for (const Trial& trial : calibrate(specs, 0, {})) {
    CAPTURE(trial.index);
    CAPTURE(trial.refused);
    refused += trial.refused.empty() ? 0 : 1;
    if (!trial.refused.empty()) continue;
    ++tried;
    failed += trial.failed() ? 1 : 0;
    const std::string systematic = trial.is_systematic() ? described(trial) : std::string();
    CHECK(systematic == "");
    for (const auto* comparisons : {&trial.first.sites, &trial.first.parameters})
      for (const Comparison& c : *comparisons) {
        CAPTURE(c.path);
        CAPTURE(c.quantity);
        CHECK(c.band >= c.standard_error);
      }
    const std::vector<double> widths = band_widths(trial.first);
    bands.insert(bands.end(), widths.begin(), widths.end());
  }
  CHECK(failed <= most_failures(tried, rate, confidence));
  CHECK(refused <= most_failures(models, 0.01, confidence));
  std::sort(bands.begin(), bands.end());
  REQUIRE(!bands.empty());
  CHECK(bands[bands.size() / 2] < 8);
  CHECK(bands[bands.size() * 9 / 10] < 15);
}

}  // namespace
}  // namespace scalecalc::random_models
