#include "moments/constant_samples.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <random>

#include "sample.hpp"

namespace scalecalc::moments {
namespace {

// Tokens that are alike are one sample: B sequences of them scatter as B samples do.
TEST_CASE("features scatter by the samples that differ") {
  const Activation phi = Activation::named("tanh");
  // What tokens differ by, and sums over steps make of so little.
  constexpr double between = 0.3, least = 1e-9, left = 1e3 * least;
  for (const double sequences : {6.0, 12.0}) {
    for (const double tokens : {4.0, 18.0}) {
      CAPTURE(tokens);
      const FeatureScatter found =
          feature_scatter(phi, {0, 2, 2 * (1 - least), 2 * between}, {tokens, sequences}, 64, 0, 1);
      const FeatureScatter samples =
          feature_scatter(phi, {0, 2, 2 * between, 0}, {sequences, 1}, 64, 0, 1);
      CHECK(found.inverse == doctest::Approx(samples.inverse).epsilon(left));
      CHECK(found.slopes == doctest::Approx(samples.slopes).epsilon(left));
    }
  }
}

TEST_CASE("features that are the same at all samples") {
  for (const char* name : {"relu", "relu6", "hard_sigmoid"}) {
    const Activation phi = Activation::named(name);
    for (const double cosine : {0.0, 0.5, 0.95}) {
      constexpr int tokens = 4, draws = 100000;
      const double second = 9;
      std::mt19937_64 random(3);
      std::normal_distribution<double> normal;
      testing::Sample all, few;
      for (int draw = 0; draw < draws; ++draw) {
        const double shared = normal(random);
        int low = 0, high = 0;
        for (int t = 0; t < tokens; ++t) {
          const double x = std::sqrt(second) *
                           (std::sqrt(cosine) * shared + std::sqrt(1 - cosine) * normal(random));
          const bool rising = phi.slope(x) != 0;
          low += !rising && x < 0;
          high += !rising && x > 0;
        }
        all.add(low == tokens || high == tokens);
        few.add((low == tokens - 1 || low == tokens - 2) +
                (high == tokens - 1 || high == tokens - 2));
      }
      const ConstantSamples found =
          constant_samples(phi, {0, second, second * cosine, 0}, {tokens, 1});
      CAPTURE(name);
      CAPTURE(cosine);
      // Equal steps of 0.1 leave less than 1e-3 of what changes within the narrowest of them.
      CHECK(std::fabs(found.all - all.mean()) < 4.5 * all.standard_error() + 1e-3);
      CHECK(std::fabs(found.few - few.mean()) < 4.5 * few.standard_error() + 1e-3);
    }
  }
}

// Behind a norm over the same samples a linear map's add up to 0: some are above it.
TEST_CASE("samples that add up to 0 are not all on one side of it") {
  constexpr double tokens = 4;
  const ConstantSamples found =
      constant_samples(Activation::named("relu"), {0, 1, -1 / (tokens - 1), 0}, {tokens, 1});
  CHECK(found.all < std::numeric_limits<double>::epsilon());
  CHECK(found.zero_sum);
  CHECK(found.few > 0);
}

TEST_CASE("an activation without constant pieces has none") {
  for (const char* name : {"gelu", "tanh", "leaky_relu", "elu"}) {
    const ConstantSamples found = constant_samples(Activation::named(name), {0, 1, 0.9, 0}, {4, 1});
    CHECK(found.all == 0);
    CHECK(found.few == 0);
  }
}

// Independent features phi(u) of one token, some of them dropped; u as large as the token is.
TEST_CASE("tokens of which an activation and a mask leave nothing") {
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> even;
  constexpr int features = 6;
  constexpr double variance = 0.4, threshold = 0.5, sizes = 0.3;
  const Activation phi = Activation::from_expression("max(x - 1/2, 0)");
  for (const double rate : {0.0, 0.3}) {
    testing::Sample none;
    for (int draw = 0; draw < 200000; ++draw) {
      // E e^(s z - s^2/2) = 1: a variance of this mean.
      const double q = variance * std::exp(std::sqrt(sizes) * normal(random) - sizes / 2);
      bool all = true;
      for (int i = 0; i < features; ++i)
        all = (std::sqrt(q) * normal(random) <= threshold || even(random) < rate) && all;
      none.add(all);
    }
    CAPTURE(rate);
    // Equal steps of 0.1 of a standard deviation of the size, as above.
    CHECK(std::fabs(chance_of_none(phi, 0, variance, sizes, features, false, rate) - none.mean()) <
          4.5 * none.standard_error() + 1e-3);
  }
  // A mask alone, and one side of the mean, which has a chance of its own at any size.
  CHECK(chance_of_none(Activation::named("gelu"), 0, 1, 0, 3, false, 0.5) == 0.125);
  CHECK(chance_of_none(Activation::named("relu"), 0, 1, 0.5, 3, false) == 0.125);
  CHECK(chance_of_none(Activation::named("relu"), 0, 0, 0.5, 3, false) == 0);
}

TEST_CASE("a batch of sequences shares less") {
  const Activation relu = Activation::named("relu");
  // Independent sequences: each by itself.
  const double one = constant_samples(relu, {0, 1, 0.5, 0}, {4, 1}).all;
  const double two = constant_samples(relu, {0, 1, 0.5, 0}, {4, 2}).all;
  CHECK(two == doctest::Approx(one * one).epsilon(1e-3));
}

}  // namespace
}  // namespace scalecalc::moments
