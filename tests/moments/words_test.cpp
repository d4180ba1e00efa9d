#include "moments/words.hpp"

#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "moments/attention_words.hpp"
#include "moments/layers/embedding.hpp"
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
