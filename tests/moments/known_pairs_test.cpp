#include "moments/known_pairs.hpp"

#include <doctest/doctest.h>

namespace scalecalc::moments {

TEST_CASE("pairs that were found are kept by all three of what they are of") {
  KnownPairs known;
  CHECK(known.find({Moment::cross, 1, 0.5}) == nullptr);
  const int places = 3000;
  for (int k = 0; k < places; ++k) {
    known.add({Moment::cross, 1.0 + k, 0.5}, {1.0 * k, 0, Method::quadrature});
    known.add({Moment::slope_cross, 1.0 + k, 0.5}, {-1.0 * k, 0, Method::quadrature});
    REQUIRE(known.find({Moment::cross, 1.0 + k, 0.5}) != nullptr);
  }
  for (int k = 0; k < places; ++k) {
    CAPTURE(k);
    REQUIRE(known.find({Moment::cross, 1.0 + k, 0.5}) != nullptr);
    CHECK(known.find({Moment::cross, 1.0 + k, 0.5})->value == k);
    CHECK(known.find({Moment::slope_cross, 1.0 + k, 0.5})->value == -k);
    CHECK(known.find({Moment::cross, 1.0 + k, 0.25}) == nullptr);
  }
  known.add({Moment::cross, 1, 0.5}, {7, 0, Method::quadrature});
  CHECK(known.find({Moment::cross, 1, 0.5})->value == 7);
}

TEST_CASE("a table of pairs that are not asked for again begins anew before it grows") {
  KnownPairs known;
  for (int k = 0; k < 3000; ++k) known.add({Moment::cross, 1.0 + k, 0}, {});
  CHECK(known.find({Moment::cross, 1, 0}) == nullptr);
  CHECK(known.find({Moment::cross, 3000, 0}) != nullptr);
}

TEST_CASE("a full table of pairs begins anew, and the last one is in it") {
  KnownPairs known;
  for (int k = 0; k < 100000; ++k) {
    known.add({Moment::cross, 1.0 + k, 0}, {1.0 * k, 0, Method::quadrature});
    REQUIRE(known.find({Moment::cross, 1.0 + k, 0})->value == k);
  }
  CHECK(known.find({Moment::cross, 1, 0}) == nullptr);
}

}  // namespace scalecalc::moments
