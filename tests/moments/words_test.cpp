#include "moments/words.hpp"

#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "moments/attention_words.hpp"
#include "moments/layers/embedding.hpp"
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
  add_word_overlap(0.3, back);
  CHECK(back.overlap.variance() == doctest::Approx(chance + 0.21));
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
      const WordCounts counts =
          word_counts(token_collision(network, layer), triple_word(network, layer),
                      different_words(network, layer, tokens), tokens);
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
