#include "base/confidence.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "scalecalc/error.hpp"

using namespace scalecalc;
using namespace scalecalc::base;

TEST_CASE("a confidence is from 1/2 to almost 1") {
  for (const double good : {0.5, 0.99, 1 - 1e-9}) CHECK_NOTHROW(check_confidence(good, "here"));
  for (const double bad : {0.0, 0.49, 1.0, 1 - 1e-10, std::nan("")}) {
    try {
      check_confidence(bad, "here");
      FAIL("accepted " << bad);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::input);
      CHECK(error.message().starts_with("the confidence must be from 0.5 to 1 - 1e-9, got "));
      CHECK(error.where() == "here");
    }
  }
}
