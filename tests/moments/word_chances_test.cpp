#include "moments/word_chances.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>
#include <limits>

using namespace scalecalc::moments;

// By counting; a sum has as many roundings of itself as words, and a chance is of up to four.
TEST_CASE("chances that words are the same, and how many different ones there are") {
  for (const std::int64_t vocab : {1, 2, 7, 8, 9, 1000, 50257})
    for (const double zipf : {0.0, 0.5, 1.0, 2.0})
      for (const double tokens : {1.0, 48.0, 1024.0}) {
        CAPTURE(vocab);
        CAPTURE(zipf);
        CAPTURE(tokens);
        double sum = 0, squares = 0, cubes = 0, different = 0;
        for (std::int64_t k = 1; k <= vocab; ++k) sum += std::pow(static_cast<double>(k), -zipf);
        for (std::int64_t k = 1; k <= vocab; ++k) {
          const double f = std::pow(static_cast<double>(k), -zipf) / sum;
          squares += f * f;
          cubes += f * f * f;
          different += f < 1 ? -std::expm1(tokens * std::log1p(-f)) : 1;
        }
        const WordChances made = word_chances(vocab, zipf, tokens);
        const double eps = std::numeric_limits<double>::epsilon(),
                     most = (16 + 4 * static_cast<double>(vocab)) * eps;
        CHECK(std::fabs(made.same - squares) <= most * squares);
        CHECK(std::fabs(made.triple - cubes) <= most * cubes);
        // 1 - (1 - f)^T of rare words is a difference of numbers near 1.
        CHECK(std::fabs(made.different - different) <=
              most * different + static_cast<double>(vocab) * eps);
      }
}
