#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "scalecalc/error.hpp"
#include "scalecalc/forecast.hpp"

namespace scalecalc {
namespace {

/// Of a Pre-Norm model that trains.
ForecastSigns healthy() {
  ForecastSigns signs;
  signs.identity_weight = signs.identity_weight_at_start = 0.5;
  signs.relative_update = 0.02;
  signs.relative_norm = 0.07;
  signs.loss = 4.6;
  signs.guess = 4.2;
  return signs;
}
ForecastSigns healthy_but(double identity_weight) {
  ForecastSigns signs = healthy();
  signs.identity_weight = identity_weight;
  return signs;
}
RunLength length_of(double full_steps) {
  return {static_cast<std::int64_t>(full_steps), 0, full_steps};
}

/// tables/forecast/runs.csv, a line as its columns by name.
std::vector<std::map<std::string, std::string>> runs_of_table() {
  std::ifstream file(SCALECALC_TABLES_DIR "/forecast/runs.csv");
  std::string line;
  std::vector<std::string> names;
  std::vector<std::map<std::string, std::string>> runs;
  while (std::getline(file, line)) {
    std::vector<std::string> fields;
    std::istringstream rest(line);
    for (std::string field; std::getline(rest, field, ',');) fields.push_back(field);
    if (names.empty()) {
      names = fields;
      continue;
    }
    std::map<std::string, std::string>& run = runs.emplace_back();
    for (std::size_t i = 0; i < fields.size(); ++i) run[names[i]] = fields[i];
  }
  return runs;
}
ForecastSigns signs_of(const std::map<std::string, std::string>& run) {
  ForecastSigns signs;
  if (run.at("identity_weight").empty()) {
    signs.why_none = "out of range";
    return signs;
  }
  signs.identity_weight = std::stod(run.at("identity_weight"));
  signs.relative_update = std::stod(run.at("relative_update"));
  signs.relative_norm = std::stod(run.at("relative_norm"));
  signs.loss = std::stod(run.at("loss"));
  signs.guess = std::stod(run.at("guess"));
  signs.grows_with_gradient = run.at("grows_with_gradient") == "1";
  return signs;
}

}  // namespace

TEST_CASE("forecast: each sign lowers the probability of its part, and of none else") {
  const RunLength length = length_of(200);
  const Forecast base = forecast(healthy(), length);
  REQUIRE(base.parts.size() == 3);
  CHECK(base.trains());
  const auto only = [&](std::size_t part, const Forecast& other) {
    CHECK(other.probability < base.probability);
    for (std::size_t i = 0; i < 3; ++i) {
      CAPTURE(base.parts[i].name);
      if (i == part)
        CHECK(other.parts[i].probability < base.parts[i].probability);
      else
        CHECK(other.parts[i].probability == base.parts[i].probability);
    }
    CHECK(other.reason().starts_with(other.parts[part].name + ": "));
  };
  ForecastSigns signs = healthy();
  signs.identity_weight = 1e-9;
  only(0, forecast(signs, length));
  only(1, forecast(healthy(), length_of(2)));
  signs = healthy();
  signs.loss *= 100;
  only(1, forecast(signs, length));
  signs = healthy();
  signs.relative_norm *= 100;
  only(2, forecast(signs, length));
  signs = healthy();
  signs.grows_with_gradient = true;
  signs.relative_norm *= 10;
  only(2, forecast(signs, length));
}

TEST_CASE("forecast: the probability is the product, and a half where a part says it is") {
  ForecastSigns signs = healthy();
  signs.identity_weight = 1e-9;
  const RunLength length = length_of(200);
  const Forecast made = forecast(signs, length);
  double product = 1;
  for (const ForecastPart& part : made.parts) product *= part.probability;
  CHECK(made.probability == product);
  signs.identity_weight *= made.parts[0].to_half;
  CHECK(forecast(signs, length).parts[0].probability == doctest::Approx(0.5));
  CHECK(made.parts[0].change.starts_with("even at "));
  CHECK(made.parts[1].change.empty());
  const RunLength shorter = length_of(200 * made.parts[1].to_half);
  CHECK(forecast(signs, {shorter.steps, 0, 200 * made.parts[1].to_half}).parts[1].probability ==
        doctest::Approx(0.5));
  signs.relative_norm *= made.parts[2].to_half;
  CHECK(forecast(signs, length).parts[2].probability == doctest::Approx(0.5));
}

TEST_CASE("forecast: a warm-up helps the signal, and nothing is known outside the rules' range") {
  ForecastSigns signs = healthy();
  signs.identity_weight = 1e-5;
  const Forecast without = forecast(signs, {200, 0, 200}), with = forecast(signs, {200, 50, 200});
  CHECK(with.parts[0].probability > without.parts[0].probability);
  signs.identity_weight = 0;  // underflows in deep Post-Norm stacks
  const Forecast lost = forecast(signs, {200, 0, 200});
  CHECK(lost.probability == 0);
  CHECK(lost.parts[0].change == forecast(healthy_but(1e-9), {200, 0, 200}).parts[0].change);
  ForecastSigns still = healthy();
  still.relative_update = still.relative_norm = 0;  // no gradient at all
  CHECK(forecast(still, {200, 0, 200}).probability == 0);
  CHECK(forecast(still, {200, 0, 200}).parts[1].change.empty());
  signs.why_none = "too large";
  const Forecast none = forecast(signs, {200, 0, 200});
  CHECK(none.probability == 0);
  CHECK_FALSE(none.trains());
  CHECK(none.reason() == "the moments leave the range of the rules: too large");
}

TEST_CASE("run_length: the schedule's factors added up, of long runs in stretches") {
  Schedule schedule;
  schedule.warmup = 4;
  CHECK(run_length(schedule, 10).full_steps == doctest::Approx(0.25 + 0.5 + 0.75 + 7));
  CHECK(run_length(schedule, 10).warmup == 4);
  CHECK(run_length(schedule, 2).warmup == 2);
  schedule = {Schedule::Kind::cosine, 30'000, 300'000, 0.1};
  double sum = 0;
  for (std::int64_t step = 1; step <= 300'000; ++step) sum += schedule.at(step);
  // A stretch of three steps is as its middle one, to second order of 3/30000.
  CHECK(run_length(schedule, 300'000).full_steps == doctest::Approx(sum).epsilon(1e-7));
  CHECK_THROWS_AS(run_length(schedule, 0), Error);
  CHECK_THROWS_AS(run_length(schedule, 2'000'000'000), Error);
}

TEST_CASE("score: Brier's, that of the share alone, and the bins") {
  const ForecastScore found = score({{0.9, true}, {0.8, false}, {0.1, false}, {1.0, true}});
  CHECK(found.runs == 4);
  CHECK(found.trained == 2);
  CHECK(found.brier == doctest::Approx((0.01 + 0.64 + 0.01 + 0) / 4));
  CHECK(found.base_brier == 0.25);
  REQUIRE(found.bins.size() == 5);
  CHECK(found.bins[4].runs == 3);
  CHECK(found.bins[4].probability == doctest::Approx(0.9));
  CHECK(found.bins[4].trained == doctest::Approx(2.0 / 3));
  CHECK(found.bins[4].error == doctest::Approx(std::sqrt(0.9 * 0.1 / 3)));
  CHECK(found.bins[0].runs == 1);
  CHECK(found.bins[2].runs == 0);
  CHECK(std::isnan(score({}).brier));
}

TEST_CASE("forecast: on the half of the runs that no constant has seen, a Brier score below 0.1") {
  std::vector<ForecastOutcome> first, second;
  for (const auto& run : runs_of_table()) {
    const RunLength length{std::stoll(run.at("steps")), std::stoll(run.at("warmup")),
                           std::stod(run.at("full_steps"))};
    const Forecast made = forecast(signs_of(run), length);
    // tools/forecast computes it with its own formula.
    const double other = std::stod(run.at("probability"));
    CHECK(std::fabs(made.probability - other) <= 1e-12);
    (run.at("half") == "first" ? first : second)
        .push_back({made.probability, run.at("verdict") == "converged"});
  }
  const ForecastScore held = score(second), fitted = score(first);
  CHECK(fitted.runs + held.runs >= 200);
  const double share = static_cast<double>(held.trained) / held.runs;
  CHECK(share > 0.3);
  CHECK(share < 0.7);
  CHECK(held.brier < 0.1);
  CHECK(held.base_brier > 0.2);
  for (const ReliabilityBin& bin : held.bins) {
    CAPTURE(bin.from);
    // A bin of so many runs may lie three standard errors off, and 0.2 by what the formula lacks.
    if (bin.runs >= 20) CHECK(std::fabs(bin.trained - bin.probability) < 3 * bin.error + 0.2);
  }
}

}  // namespace scalecalc
