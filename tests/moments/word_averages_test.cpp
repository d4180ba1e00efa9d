#include "moments/word_averages.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "moments/attention_words.hpp"
#include "sample.hpp"
#include "scalecalc/softmax.hpp"

namespace scalecalc::moments {
namespace {

constexpr double deviations = 4.5;

struct Words {
  std::vector<double> frequency;
  explicit Words(int vocab, double zipf) {
    double total = 0;
    for (int k = 1; k <= vocab; ++k) {
      frequency.push_back(std::pow(k, -zipf));
      total += frequency.back();
    }
    for (double& f : frequency) f /= total;
  }
  double moment(int power) const {
    double sum = 0;
    for (const double f : frequency) sum += std::pow(f, power);
    return sum;
  }
  double different(int tokens) const {
    double sum = 0;
    for (const double f : frequency) sum -= std::expm1(tokens * std::log1p(-f));
    return sum;
  }
  WordFrequencies fitted(int tokens) const {
    return word_frequencies(moment(2), moment(3), different(tokens), tokens);
  }
};

struct Drawn {
  testing::Sample words, words_slope, tokens, tokens_slope;
};

/// Scores of words, each as often as it is drawn.
Drawn drawn(const Words& words, int tokens, double tau2, int draws) {
  std::mt19937_64 random(11);
  std::discrete_distribution<std::size_t> word(words.frequency.begin(), words.frequency.end());
  std::normal_distribution<double> score(0, std::sqrt(tau2));
  Drawn out;
  std::vector<double> times(words.frequency.size()), weight(times.size());
  for (int draw = 0; draw < draws; ++draw) {
    times.assign(times.size(), 0);
    for (int t = 0; t < tokens; ++t) ++times[word(random)];
    double total = 0;
    for (std::size_t w = 0; w < times.size(); ++w) {
      weight[w] = times[w] > 0 ? times[w] * std::exp(score(random)) : 0;
      total += weight[w];
    }
    double p2 = 0, p3 = 0, t2 = 0, t3 = 0;
    for (std::size_t w = 0; w < times.size(); ++w) {
      if (times[w] == 0) continue;
      const double p = weight[w] / total;
      p2 += p * p;
      p3 += p * p * p;
      t2 += p * p / times[w];
      t3 += p * p * p / times[w];
    }
    out.words.add(p2);
    out.words_slope.add(p2 - 2 * p3 + p2 * p2);
    out.tokens.add(t2);
    out.tokens_slope.add(t2 - 2 * t3 + t2 * p2);
  }
  return out;
}

void check_near(double found, const testing::Sample& sample, double order) {
  CAPTURE(found);
  CAPTURE(sample.mean());
  CHECK(std::fabs(found - sample.mean()) <
        deviations * sample.standard_error() + order * sample.mean());
}

}  // namespace

TEST_CASE("two frequencies have the chances of three words' moments") {
  for (const double zipf : {0.5, 1.0, 1.3}) {
    const Words words(300, zipf);
    constexpr int tokens = 32;
    const WordFrequencies two = words.fitted(tokens);
    const auto mean = [&](auto&& of) {
      return two.often * of(two.high) + (1 - two.often) * of(two.low);
    };
    CHECK(mean([](double f) { return f; }) == doctest::Approx(words.moment(2)));
    CHECK(mean([](double f) { return f * f; }) == doctest::Approx(words.moment(3)));
    CHECK(mean([](double f) { return -std::expm1(tokens * std::log1p(-f)) / f; }) ==
          doctest::Approx(words.different(tokens)));
  }
  const Words equal(20, 0);
  CHECK(equal.fitted(16).high == doctest::Approx(0.05));
  CHECK(equal.fitted(16).often == 1);
}

TEST_CASE("rows over words of unlike frequency are those of draws") {
  // What two frequencies in the place of all leave grows with the exponent, and with the tokens.
  struct Case {
    int vocab;
    double zipf;
    int tokens;
    double order;
  };
  for (const Case& of : {Case{40, 0, 16, 0.005}, Case{512, 1, 16, 0.008}, Case{512, 1, 32, 0.008},
                         Case{512, 1, 8, 0.04}, Case{50, 1, 64, 0.015}}) {
    const Words words(of.vocab, of.zipf);
    for (const double tau2 : {0.1, 1.0, 3.0, 30.0}) {
      CAPTURE(of.tokens);
      CAPTURE(of.zipf);
      CAPTURE(tau2);
      const Drawn sample = drawn(words, of.tokens, tau2, 20000);
      const WordAverages found = word_averages(words.fitted(of.tokens), of.tokens, tau2);
      check_near(found.words, sample.words, of.order);
      check_near(found.words_slope, sample.words_slope, of.order);
      check_near(found.tokens, sample.tokens, of.order);
      check_near(found.tokens_slope, sample.tokens_slope, of.order);
    }
  }
}

TEST_CASE("words that stand once each are tokens") {
  // Of very many words none stands twice: rows of as many keys of their own.
  constexpr double words = 1e9;
  const WordAverages found = word_averages({1 / words, 1 / words, 1}, 24, 1);
  const SoftmaxOne keys = softmax_one(24, 1);
  const double order = 0.002;
  CHECK(found.words == doctest::Approx(keys.p2.value).epsilon(order));
  CHECK(found.words_slope == doctest::Approx(keys.a.value).epsilon(order));
  // The chance that any two are one word.
  constexpr double equal = 24 * 24 / words;
  CHECK(found.tokens == doctest::Approx(found.words).epsilon(equal));
  CHECK(found.tokens_slope == doctest::Approx(found.words_slope).epsilon(equal));
}

}  // namespace scalecalc::moments
