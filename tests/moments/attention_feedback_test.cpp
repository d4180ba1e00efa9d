#include "moments/attention_feedback.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

#include "attention_simulation.hpp"
#include "moments/layers/embedding.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

namespace {

/// J p = p (p - sum p^2) of softmax p.
std::vector<double> slope_along_itself(const std::vector<double>& z, double tau) {
  std::vector<double> p(z.size());
  double total = 0, squares = 0;
  for (std::size_t s = 0; s < z.size(); ++s) total += p[s] = std::exp(tau * z[s]);
  for (double& weight : p) {
    weight /= total;
    squares += weight * weight;
  }
  for (double& weight : p) weight *= weight - squares;
  return p;
}

Sample drawn_pairs(std::size_t keys, double tau2, double c, int draws) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  Sample sample;
  std::vector<double> z(keys), w(keys);
  for (int i = 0; i < draws; ++i) {
    for (std::size_t s = 0; s < keys; ++s) {
      z[s] = normal(random);
      w[s] = c * z[s] + std::sqrt(1 - c * c) * normal(random);
    }
    const std::vector<double> a = slope_along_itself(z, std::sqrt(tau2)),
                              b = slope_along_itself(w, std::sqrt(tau2));
    double product = 0;
    for (std::size_t s = 0; s < keys; ++s) product += a[s] * b[s];
    sample.add(product);
  }
  return sample;
}

}  // namespace

// Between c = 0 and 1 it is stated to be within 5% of its value at 1.
TEST_CASE("what weights along themselves do to two rows, against draws") {
  Smallness wide;
  wide.width = wide.head_width = 1e12;
  for (const int keys : {8, 32}) {
    for (const double tau2 : {0.1, 1.0, 4.0}) {
      for (const double c : {0.25, 0.5, 0.75}) {
        CAPTURE(keys);
        CAPTURE(tau2);
        CAPTURE(c);
        const SoftmaxAverages found = softmax_averages(keys, tau2, c);
        const FeedbackFactors one = row_feedback(found.one, tau2, keys, 1, wide);
        const FeedbackFactors pair =
            pair_feedback(found.two, found.one, found.one, one, one, tau2, c, keys, 1, wide);
        const Sample drawn = drawn_pairs(static_cast<std::size_t>(keys), tau2, c, 40000);
        // The factors are of leading order: 5% of the largest, and five standard errors.
        CHECK(std::abs(pair.query - drawn.mean()) <= 0.05 * one.query + 5 * drawn.standard_error());
        CHECK(pair.key == doctest::Approx(c * pair.query));
      }
    }
  }
}

TEST_CASE("one key brings everything back") {
  const SoftmaxAverages found = softmax_averages(1, 1.0, 0.5);
  const FeedbackFactors one = row_feedback(found.one, 1.0, 1, 2, {});
  CHECK(one.mix == 1);
  CHECK(one.values == 1);
  CHECK(one.query == 0);
}

// P^T P leaves a vector that all tokens share as it is, however many heads average it.
TEST_CASE("tokens that are one come back whole") {
  const double keys = 6;
  Smallness small;
  small.width = 64;
  small.head_width = 16;
  const SoftmaxAverages found = softmax_averages(6, 1.0, 0.5);
  const FeedbackFactors one = row_feedback(found.one, 1.0, keys, 4, small);
  const FeedbackFactors two =
      pair_feedback(found.two, found.one, found.one, one, one, 1.0, 0.5, keys, 4, small);
  const auto both = [](double second, double cross) { return Alike<double>{0, second, cross, 0}; };
  const AlignedFeedback<Alike<double>> feedback{both(one.mix, two.mix),
                                                both(one.values, two.values),
                                                both(one.query, two.query), both(one.key, two.key)};
  const Alike<double> tokens = both(1, 1), shared = both(1, 1), apart = both(0, 0);
  const Alike<double> back =
      fed_back(feedback, shared, apart, tokens, tokens, {keys, keys, false, false});
  const double sum = back.second + (keys - 1) * back.cross;
  CHECK(sum == doctest::Approx(keys));
}

TEST_CASE("the overlap of words over all pairs") {
  Embedding layer;
  layer.vocab = 7;
  layer.std = 1.5;
  const double zipf = 1.2;
  double total = 0, mean = 0, square = 0;
  for (int i = 1; i <= 7; ++i) total += std::pow(i, -zipf);
  for (int i = 1; i <= 7; ++i) {
    const double same = std::pow(std::pow(i, -zipf) / total, 2);
    mean += same * 2.25;
    square += same * 2.25 * 2.25;
  }
  CHECK(word_overlap(layer, same_word(layer.vocab, zipf)) ==
        doctest::Approx(std::sqrt(square - mean * mean)));
}
