#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "scalecalc/verify.hpp"

namespace scalecalc {
namespace {

/// Predictions and samples of `sites` places, each of mean 3 over draws. The errors of all places
/// share a part.
struct World {
  int sites = 200, seeds = 16;
  double log_variance = 0;  ///< of the samples; 0: normal ones of relative deviation 0.1
  double shared = 0;        ///< share of the variance that all sites have in common
  bool spread_is_known = false;
};

class Simulation {
 public:
  explicit Simulation(const World& world) : world_(world) {}

  /// The same seed gives the same samples.
  PassSamples samples(unsigned seed) const {
    std::mt19937_64 generator(seed);
    std::normal_distribution<double> normal;
    std::vector<double> shared(static_cast<std::size_t>(world_.seeds));
    for (double& value : shared) value = normal(generator);
    PassSamples samples;
    for (int i = 0; i < world_.sites; ++i) {
      SiteSamples site;
      site.path = "site[" + std::to_string(i) + "]";
      site.kind = "linear";
      for (const double common : shared)
        site.second.push_back(value(std::sqrt(world_.shared) * common +
                                    std::sqrt(1 - world_.shared) * normal(generator)));
      samples.sites.push_back(std::move(site));
    }
    return samples;
  }

  Trace prediction() const {
    Trace trace;
    for (int i = 0; i < world_.sites; ++i) {
      Site site;
      site.path = "site[" + std::to_string(i) + "]";
      site.kind = "linear";
      site.width = 64;
      site.second.value = 3;
      if (world_.spread_is_known) {
        site.spread = world_.log_variance;
        site.second_finite = 3;
        site.second_typical = 3 * std::exp(-world_.log_variance / 2);
      }
      trace.sites.push_back(std::move(site));
    }
    return trace;
  }

  int failures(int runs) const {
    const Trace predicted = prediction();
    int failing = 0;
    for (int run = 0; run < runs; ++run)
      failing += compare(predicted, samples(static_cast<unsigned>(run))).passed ? 0 : 1;
    return failing;
  }

 private:
  double value(double z) const {
    const double v = world_.log_variance;
    return v == 0 ? 3 * (1 + 0.1 * z) : 3 * std::exp(std::sqrt(v) * z - v / 2);
  }

  World world_;
};

// 1 run of 100 may fail. Of 100 runs at that rate more than 5 do so once in 2000 times.
constexpr int runs = 100, most_failures = 5;

TEST_CASE("right normal predictions pass 99 runs of 100 at any number of seeds") {
  for (const int seeds : {5, 16, 64})
    for (const double shared : {0.0, 0.9}) {
      CAPTURE(seeds);
      CAPTURE(shared);
      CHECK(Simulation({200, seeds, 0, shared, false}).failures(runs) <= most_failures);
    }
}

TEST_CASE("right lognormal predictions do, whether or not the spread is predicted") {
  for (const int seeds : {5, 16, 64})
    for (const double variance : {0.05, 0.5, 2.0})
      for (const bool known : {false, true}) {
        CAPTURE(seeds);
        CAPTURE(variance);
        CAPTURE(known);
        CHECK(Simulation({100, seeds, variance, 0.5, known}).failures(runs) <= most_failures);
      }
}

TEST_CASE("one wrong prediction among hundreds fails and is named") {
  const Simulation simulation({300, 64, 0, 0, false});
  Trace predicted = simulation.prediction();
  predicted.sites[123].second.value *= 1.1;  // 8 standard errors of 0.1/8
  const Verification verification = compare(predicted, simulation.samples(1));
  CHECK_FALSE(verification.passed);
  CHECK(verification.failures() == 1);
  REQUIRE(verification.worst.has_value());
  CHECK(verification.worst->path == "site[123]");
  CHECK(verification.comparisons() == 300);
  CHECK(verification.seeds == 64);
}

TEST_CASE("what the prediction says it is off by is allowed") {
  const Simulation simulation({20, 64, 0, 0, false});
  Trace predicted = simulation.prediction();
  for (Site& site : predicted.sites) site.second.value = 3.3;
  CHECK_FALSE(compare(predicted, simulation.samples(1)).passed);
  for (Site& site : predicted.sites) site.second.truncation = 0.3;
  CHECK(compare(predicted, simulation.samples(1)).passed);
}

TEST_CASE("what is not predicted is not compared") {
  const Simulation simulation({3, 8, 0, 0, false});
  Trace predicted = simulation.prediction();
  PassSamples samples = simulation.samples(1);
  predicted.sites[0].mean.value = 0;
  samples.sites[0].mean = samples.sites[0].second;
  samples.sites[0].cross = samples.sites[0].second;
  CHECK(compare(predicted, samples).comparisons() == 3);
  predicted.sites[0].mean.value = 3;
  predicted.sites[0].cross.value = 3;
  CHECK(compare(predicted, samples).comparisons() == 5);
}

TEST_CASE("parameters are compared") {
  PassSamples samples = Simulation({1, 8, 0, 0, false}).samples(1);
  Trace predicted = Simulation({1, 8, 0, 0, false}).prediction();
  samples.parameters.push_back({"w", 4, 4, samples.sites[0].second, samples.sites[0].second});
  ParameterMoments parameter{"w", 4, 4, {3, 0, 0}, {30, 0, 0}, 0};
  predicted.parameters.push_back(parameter);
  const Verification verification = compare(predicted, samples);
  REQUIRE(verification.parameters.size() == 2);
  CHECK(verification.parameters[0].ok);
  CHECK_FALSE(verification.parameters[1].ok);
  CHECK(verification.parameters[1].quantity == "grad_second");
}

TEST_CASE("a gradient that cancels over tokens is held to the rounding of its terms") {
  PassSamples samples = Simulation({1, 4, 0, 0, false}).samples(1);
  Trace predicted = Simulation({1, 4, 0, 0, false}).prediction();
  predicted.sites[0].path = samples.sites[0].path = "k";
  predicted.sites[0].tokens = 16;
  predicted.sites[0].grad_second.value = 1;
  samples.sites[0].grad_second = {1, 1, 1, 1};
  predicted.parameters.push_back({"k.bias", 1, 64, {0, 0, 0}, {-1e-17, 0, 0}, 0});
  samples.parameters.push_back({"k.bias", 1, 64, {0, 0, 0, 0}, {1e-34, 1e-32, 1e-33, 1e-34}});
  const Verification verification = compare(predicted, samples);
  CHECK(verification.passed);
  CHECK(std::abs(verification.parameters.back().z) < 1);
  predicted.parameters[0].grad_second.value = 1e-8;
  CHECK_FALSE(compare(predicted, samples).passed);
}

// What explodes downstream leaves no rounding upstream.
TEST_CASE("rounding comes from the places that the signal has passed") {
  constexpr double huge = 1e60;
  Trace trace;
  PassSamples samples;
  for (const int place : {0, 1, 2}) {
    Site site;
    site.path = "site[" + std::to_string(place) + "]";
    site.kind = "linear";
    site.width = 64;
    site.second.value = place == 1 ? huge : 1;
    site.grad_second.value = place == 1 ? huge : 1;
    SiteSamples measured;
    measured.path = site.path;
    measured.second = {site.second.value, site.second.value};
    measured.grad_second = measured.second;
    trace.sites.push_back(std::move(site));
    samples.sites.push_back(std::move(measured));
  }
  const Verification found = compare(trace, samples, {});
  for (const Comparison& c : found.sites) {
    const bool gradient = c.quantity == "grad_second";
    const bool before = c.path == (gradient ? "site[2]" : "site[0]");
    CAPTURE(c.path);
    CAPTURE(c.quantity);
    CHECK((c.band < c.predicted) == (before || c.path == "site[1]"));
  }
}

// Outputs that are 0 but for rounding are all that a squared error's gradient has.
TEST_CASE("gradients of a squared error have the rounding of the outputs") {
  const double epsilon = std::numeric_limits<double>::epsilon();
  constexpr int width = 64;
  Trace trace;
  PassSamples samples;
  for (const char* path : {"norm", "head"}) {
    const bool last = std::string(path) == "head";
    Site site;
    site.path = path;
    site.kind = "linear";
    site.width = width;
    site.second.value = last ? 0 : 1;
    site.grad_second.value = 0;
    SiteSamples measured;
    measured.path = path;
    measured.second.assign(8, last ? width * epsilon * epsilon : 1.0);
    measured.grad_second.assign(8, width * epsilon * epsilon);
    trace.sites.push_back(std::move(site));
    samples.sites.push_back(std::move(measured));
  }
  CHECK_FALSE(compare(trace, samples).passed);
  CompareOptions options;
  options.squared_error = true;
  CHECK(compare(trace, samples, options).passed);
  for (SiteSamples& site : samples.sites)
    for (double& value : site.grad_second) value *= 1e4;
  CHECK_FALSE(compare(trace, samples, options).passed);
}

// Terms of all sequences are summed, whatever they cancel to.
TEST_CASE("a parameter's gradient is held to the rounding of the terms of all sequences") {
  const double epsilon = std::numeric_limits<double>::epsilon();
  constexpr std::int64_t sequences = 16;
  Trace trace;
  PassSamples samples;
  Site site;
  site.path = "norm";
  site.kind = "norm";
  site.width = 8;
  site.tokens = 4;
  site.second.value = site.grad_second.value = 1;
  SiteSamples of_site;
  of_site.path = "norm";
  of_site.second.assign(8, 1.0);
  of_site.grad_second.assign(8, 1.0);
  ParameterMoments gain;
  gain.path = "norm.gain";
  gain.rows = 1;
  gain.columns = 8;
  gain.second.value = 1;
  // Of a difference of sums of squares, in the prediction.
  gain.grad_second.value =
      static_cast<double>(site.tokens * sequences * gain.columns) * epsilon / 2;
  ParameterSamples of_gain;
  of_gain.path = "norm.gain";
  of_gain.second.assign(8, 1.0);
  of_gain.grad_second.assign(8, 0.0);
  trace.sites.push_back(site);
  trace.parameters.push_back(gain);
  samples.sites.push_back(of_site);
  samples.parameters.push_back(of_gain);
  CompareOptions options;
  options.sequences = sequences;
  CHECK(compare(trace, samples, options).passed);
  options.sequences = 1;
  trace.parameters[0].grad_second.value *= 64;
  CHECK_FALSE(compare(trace, samples, options).passed);
}

TEST_CASE("queries of tokens that are alike are held to the rounding of the values' terms") {
  const double epsilon = std::numeric_limits<double>::epsilon();
  Trace trace;
  PassSamples samples;
  for (const char* path : {"attn.q", "attn.v"}) {
    Site site;
    site.path = path;
    site.kind = "linear";
    site.width = 8;
    site.second.value = 1;
    site.grad_second.value = site.path == "attn.v" ? 4 : 1e-60;
    trace.sites.push_back(site);
    SiteSamples measured;
    measured.path = path;
    measured.kind = "linear";
    measured.second.assign(8, 1.0);
    measured.grad_second.assign(8, site.path == "attn.v" ? 4.0 : 8 * epsilon * epsilon);
    samples.sites.push_back(measured);
  }
  CHECK(compare(trace, samples).passed);
  for (double& value : samples.sites[0].grad_second) value *= 1e4;
  CHECK_FALSE(compare(trace, samples).passed);
}

TEST_CASE("a place that only one side has fails") {
  const Simulation simulation({3, 8, 0, 0, false});
  Trace predicted = simulation.prediction();
  PassSamples samples = simulation.samples(1);
  predicted.sites[2].path = "other";
  const Verification verification = compare(predicted, samples);
  CHECK_FALSE(verification.passed);
  CHECK(verification.unmatched == std::vector<std::string>{"other", "site[2]"});
  predicted.sites[2].path = "site[2]";
  predicted.sites[1].cross.value = 1;
  CHECK(compare(predicted, samples).unmatched == std::vector<std::string>{"site[1] cross"});
}

TEST_CASE("a pass that overflows fails") {
  const Simulation simulation({3, 8, 0, 0, false});
  PassSamples samples = simulation.samples(1);
  samples.sites[1].second[3] = std::numeric_limits<double>::infinity();
  const Verification verification = compare(simulation.prediction(), samples);
  CHECK_FALSE(verification.passed);
  CHECK(verification.worst->path == "site[1]");
}

TEST_CASE("too few seeds, seeds that differ and a wrong confidence are refused") {
  const auto kind = [](const PassSamples& samples, double confidence) {
    try {
      compare(Simulation({2, 8, 0, 0, false}).prediction(), samples, {confidence, false});
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::fault;
  };
  CHECK(kind(Simulation({2, 1, 0, 0, false}).samples(1), 0.99) == ErrorKind::input);
  PassSamples uneven = Simulation({2, 8, 0, 0, false}).samples(1);
  uneven.sites[1].second.pop_back();
  CHECK(kind(uneven, 0.99) == ErrorKind::input);
  const PassSamples right = Simulation({2, 8, 0, 0, false}).samples(1);
  CHECK(kind(right, 1.0) == ErrorKind::input);
  CHECK(kind(right, std::nan("")) == ErrorKind::input);
}

}  // namespace
}  // namespace scalecalc
