#include "moments/words.hpp"

#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "moments/attention_backward.hpp"
#include "moments/attention_words.hpp"
#include "moments/layers/embedding.hpp"
#include "moments/layers/gated.hpp"
#include "moments/positions.hpp"
#include "sample.hpp"

namespace scalecalc::moments {
namespace {

constexpr double deviations = 4.5;

TEST_CASE("pairs of different words, and back") {
  const Alike<double> x{0.1, 2, 0.6, 0.5};
  const Alike<double> apart = of_words(x, 0.2);
  CHECK(apart.cross == doctest::Approx((0.6 - 0.4) / 0.8));
  const Alike<double> again = with_words(apart, 0.2);
  CHECK(again.cross == doctest::Approx(x.cross));
  CHECK(again.between == doctest::Approx(x.between));
}

TEST_CASE("pairs of different words of each position, and back") {
  const auto positions = make_positions(3, true);
  PerPosition x = spread_over({0.1, 2, 0.6, 0.5}, positions, 2);
  x.second << 1, 2, 3;
  const PerPosition apart = of_words(x, 0.2);
  CHECK(apart.cross(0, 2) == doctest::Approx((0.6 - 0.2 * 2) / 0.8));
  CHECK(apart.cross(1, 1) == doctest::Approx((0.6 - 0.2 * 2) / 0.8));
  const PerPosition again = with_words(apart, 0.2);
  for (int t = 0; t < 3; ++t)
    for (int u = 0; u < 3; ++u) {
      CHECK(again.cross(t, u) == doctest::Approx(x.cross(t, u)));
      CHECK(again.between(t, u) == doctest::Approx(x.between(t, u)));
    }
}

TEST_CASE("what equal words add to sums over pairs is the covariance of both factors") {
  // Of 10 pairs 2 are of one word.
  const double same = 0.2, g = 3, equal = 0.7, one_x = 2, two_x = 0.3, one_g = equal * g,
               two_g = 0.4;
  const Alike<double> x{0, one_x, same * one_x + (1 - same) * two_x, 0},
      of_g{0, g, same * one_g + (1 - same) * two_g, 0};
  const double covariance =
      same * one_x * one_g + (1 - same) * two_x * two_g - x.cross * of_g.cross;
  // As a slope it is that per deviation, of all that overlaps fluctuate by.
  const double own = std::sqrt(same * (1 - same)) * (one_x - two_x);
  for (const double deviation : {own, 2 * own})
    CHECK(word_slope(x, of_g, equal, same, deviation) * deviation == doctest::Approx(covariance));
  CHECK(word_slope(x, of_g, equal, same, 0) == 0);
  CHECK(word_slope(x, of_g, equal, 0, own) == 0);
}

TEST_CASE("queries of one word have inputs, rows and gradients in common") {
  // Of pairs a share `same` has one word's values, the others two words'.
  const double same = 0.3, m = 2, r = 0.5, g = 3, equal = 0.8, k = 0.6;
  const double row = 1.2, rows = 0.4, key_row = 0.9, key_rows = 0.15;
  const auto mean = [&](double one, double two) { return same * one + (1 - same) * two; };
  AttentionRecord<Numbers, Alike<double>> record;
  record.input = {0, m, mean(m, r), 0};
  record.apart_v = {0, 5, 5, 0};
  record.gradient_k = {0, 7, 7, 0};
  record.score_scale = 0.25;
  record.factors.query = {0, row, mean(row, rows), 0};
  record.factors.key = {0, key_row, mean(key_row, key_rows), 0};
  record.factors.key_weight = record.factors.key;
  record.factors.slope = {0, key_row, 0.2, 0};
  const Alike<double> gradient{0, g, mean(equal * g, k), 0};
  const double base = 5 * 0.25, share = same * (1 - same);
  // What the first order has of the covariance of gradients and queries.
  const double first = share * (equal * g - k) * (1 - r / m);
  const auto made = word_scores(record, gradient, WordPairs{same, equal}, first);
  const double at_queries = base * record.factors.query.cross * gradient.cross + made.query.cross;
  CHECK(at_queries == doctest::Approx(base * mean(row * equal * g, rows * k)));
  const double at_keys =
      base * (record.factors.key.cross * gradient.cross + record.factors.slope.cross * first) +
      made.key.cross;
  CHECK(at_keys == doctest::Approx(base * mean(key_row * equal * g, key_rows * k)));
  const double of_weight =
      7 * (record.input.cross * at_queries + m * base * record.factors.query.cross * first) +
      m * made.own.cross;
  CHECK(of_weight == doctest::Approx(7 * base * mean(m * row * equal * g, r * rows * k)));
  // Of a gradient along the mix rows alone go with the inputs.
  const double own_row = 1.1, own_rows = 0.25, along = 0.7;
  record.factors.feedback.query = {0, own_row, mean(own_row, own_rows), 0};
  const auto with_own = word_scores(record, gradient, WordPairs{same, equal}, first, along);
  const double of_mix = 7 * 5 * 5 * along;
  CHECK(of_mix * record.input.cross * record.factors.feedback.query.cross +
            m * (with_own.own.cross - made.own.cross) ==
        doctest::Approx(of_mix * mean(m * own_row, r * own_rows)));
  // Where the first order has none of it, all is added.
  CHECK(word_scores(record, gradient, WordPairs{same, equal}, 0).key.cross ==
        doctest::Approx(base * share * (key_row - key_rows) * (equal * g - k)));
}

// Scores that do not vary: J J' of rows of n and n' > n keys has the trace (n - 1)/(n n').
TEST_CASE("slopes of two rows of one word under a mask") {
  const auto positions = make_positions(4, true);
  PerPosition slopes = spread_over({0, 1, 0, 0}, positions, 1), weights = slopes;
  for (int t = 0; t < 4; ++t) {
    const double keys = t + 1;
    slopes.second[t] = (keys - 1) / (keys * keys);
    weights.second[t] = 1 / keys;
  }
  const PerPosition later = slopes_as_later(slopes, weights);
  for (int t = 1; t < 4; ++t) {
    for (int u = 0; u < t; ++u) {
      CHECK(later.cross(t, u) == doctest::Approx(u / ((u + 1.0) * (t + 1.0))));
      CHECK(later.cross(u, t) == later.cross(t, u));
    }
  }
}

TEST_CASE("equal tokens get what sums over words have beyond those over tokens") {
  // Words of 3 and 1 tokens, of weights that softmax gives: (3 a, b) with 3 a + b = 1.
  const double a = 0.2, b = 0.4;
  const double of_tokens = 3 * a * a + b * b, of_words = 9 * a * a + b * b, pairs = 6.0 / 12;
  const KeyCounts<double> counts{4, 4};
  CHECK(equal_share(Alike<double>{0, of_words, 0, 0}, Alike<double>{0, of_tokens, 0, 0}, pairs,
                    counts) == doctest::Approx((a * a) / (of_tokens / 4)));
  CHECK(equal_share(Alike<double>{0, of_words, 0, 0}, Alike<double>{0, of_tokens, 0, 0}, 0,
                    counts) == 1);
  // Rows of a mask have as many pairs as keys beside their own.
  KeyCounts<double> masked = counts;
  masked.causal = true;
  PerPosition tokens = spread_over({0, 1, 0, 0}, make_positions(4, true), 1), words = tokens;
  const double each = 0.5;
  for (int t = 0; t < 4; ++t) words.second[t] = 1 + each * pairs * t;
  CHECK(equal_share(words, tokens, pairs, masked) == doctest::Approx(each));
}

TEST_CASE("factors of a gate, inputs and gradients of equal words go together") {
  const double same = 0.3, m = 2, r = 0.5, g = 3, equal = 0.8, k = 0.6, one = 0.5, two = 0.2;
  const auto mean = [&](double of_one, double of_two) {
    return same * of_one + (1 - same) * of_two;
  };
  const Alike<double> x{0, m, mean(m, r), 0}, factor{0, one, mean(one, two), 0},
      gradient{0, g, mean(equal * g, k), 0};
  const double share = same * (1 - same), rise = 0.11;
  const double exact = mean(one * equal * g, two * k),
               of_all = mean(m * one * equal * g, r * two * k);
  for (const double chance : {0.0, 0.05}) {
    // Overlaps fluctuate by words, and by chance beside these, which the first order is kept of.
    OverlapDeviation overlap;
    overlap.coherent = std::sqrt(share * (m - r) * (m - r) + chance);
    const double covariance = share * (m - r) * (equal * g - k);
    const double stream = covariance / overlap.coherent;
    Gradient<Alike<double>> part;
    part.x = {0, one * g, factor.cross * gradient.cross + rise * covariance, 0};
    part.slopes.within.stream = stream * factor.cross + gradient.cross * rise * overlap.coherent;
    gated_words(WordPairs{same, equal}, factor, gradient, x, overlap, rise, stream, part);
    CHECK(part.x.cross == doctest::Approx(exact));
    CHECK(part.slopes.within.stream * overlap.coherent ==
          doctest::Approx(of_all - x.cross * exact + chance * gradient.cross * rise));
  }
}

TEST_CASE("the first tokens of a sequence have fewer words") {
  constexpr double words = 20;
  const auto seen = [](double tokens) { return words * (1 - std::pow(1 - 1 / words, tokens)); };
  for (const double tokens : {1.0, 2.0, 7.0, 48.0})
    CHECK(different_among(seen(48), 48, tokens) == doctest::Approx(seen(tokens)));
  CHECK(different_among(16, 16, 5) == 5);
}

TEST_CASE("a sum has the words of its parts by what they differ by") {
  Signal<Alike<double>> x, f;
  x.collision = f.collision = x.repeats = 0.4;
  f.repeats = 0.1;
  x.different = 5;
  f.different = 8;
  // kappa m + (1 - kappa) r_0 of each, with m - r_0 = 1 and 2.
  const Alike<double> left{0, 1, 0.4, 0}, right{0, 3, 0.1 * 3 + 0.9, 0};
  Signal<Alike<double>> sum = x;
  sum_words(x, left, f, right, sum);
  CHECK(sum.repeats == doctest::Approx((0.4 * 1 + 0.1 * 2) / 3));
  CHECK(sum.different == doctest::Approx((5 * 1 + 8 * 2) / 3.0));
  CHECK(equal_share(sum) == doctest::Approx(0.5));
  // The same of r as of the sum's parts.
  CHECK(of_words(Alike<double>{0, 4, left.cross + right.cross, 0}, sum.repeats).cross ==
        doctest::Approx(0 + 1));
}

TEST_CASE("overlaps of equal words are taken out and put back") {
  Signal<Alike<double>> x;
  x.x = {0, 1, 0.3, 0};
  x.width = 64;
  x.repeats = 0.3;
  x.same_words = true;
  const double apart = 1, chance = 0.02;
  x.overlap = {std::sqrt(0.7 * chance + 0.21 * apart * apart), 0};
  const Signal<Alike<double>> words = of_words(x);
  CHECK(words.x.cross == doctest::Approx(0));
  CHECK(words.overlap.variance() == doctest::Approx(chance));
  Signal<Alike<double>> back = x;
  back.overlap = words.overlap;
  add_word_overlap(back);
  CHECK(back.overlap.variance() == doctest::Approx(chance + 0.21));
}

// Of a draw's overlaps, 1 of one word and 0 of two, tokens that are equal by 0.4 have 0.4 of what
// they differ by, and its square of the variance.
TEST_CASE("overlaps of words that are equal in part") {
  Signal<Alike<double>> x;
  const double kappa = 0.3, share = 0.4;
  x.x = {0, 1, kappa * share, 0};
  x.collision = kappa;
  x.repeats = kappa * share;
  CHECK(word_overlap(x) == doctest::Approx(kappa * (1 - kappa) * share * share));
}

TEST_CASE("counts of words are those of draws") {
  for (const double zipf : {0.0, 1.0}) {
    for (const int tokens : {2, 16, 48}) {
      Network network;
      network.zipf = zipf;
      Embedding layer;
      layer.vocab = 20;
      std::vector<double> frequency;
      for (int k = 1; k <= layer.vocab; ++k) frequency.push_back(std::pow(k, -zipf));
      const WordChances words = chances_of(network, layer, tokens);
      const WordCounts counts = word_counts(words.same, words.triple, words.different, tokens);
      std::mt19937_64 random(5);
      std::discrete_distribution<int> word(frequency.begin(), frequency.end());
      testing::Sample squares, cubes, different;
      for (int draw = 0; draw < 20000; ++draw) {
        std::vector<int> times(frequency.size());
        for (int t = 0; t < tokens; ++t) ++times[static_cast<std::size_t>(word(random))];
        double second = 0, third = 0, seen = 0;
        for (const int n : times) {
          const double share = static_cast<double>(n) / tokens;
          second += share * share;
          third += share * share * share;
          seen += n > 0;
        }
        squares.add(second);
        cubes.add(third);
        different.add(seen);
      }
      CAPTURE(zipf);
      CAPTURE(tokens);
      CHECK(std::fabs(squares.mean() - counts.squares) < deviations * squares.standard_error());
      CHECK(std::fabs(cubes.mean() - counts.cubes) < deviations * cubes.standard_error());
      CHECK(std::fabs(different.mean() - counts.different) <
            deviations * different.standard_error());
      // Two tokens are one word or two, and the inverse of S2 keys is exact.
      if (tokens == 2) CHECK(counts.words() == doctest::Approx(1 / counts.squares));
    }
  }
}

}  // namespace
}  // namespace scalecalc::moments
