#include "gaussian/softmax/gauss_hermite.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace scalecalc::gaussian::softmax {

TEST_CASE("softmax: Gauss's rule is exact for polynomials of degree 2 n - 1") {
  for (int nodes = kFewestNodes; nodes <= kMostNodes; nodes += kNodeStep) {
    CAPTURE(nodes);
    const GaussHermite& rule = gauss_hermite(nodes);
    REQUIRE(rule.z.size() == static_cast<std::size_t>(nodes));
    double moment = 1;  // E z^k = (k - 1)!!
    for (int k = 0; k <= 2 * nodes - 2; k += 2) {
      CAPTURE(k);
      if (k > 0) moment *= k - 1;
      double sum = 0;
      for (std::size_t i = 0; i < rule.z.size(); ++i)
        sum += rule.weight[i] * std::pow(rule.z[i], k) / moment;
      // Each term has k relative roundings of its node, a few units each, and those of its weight.
      CHECK(std::fabs(sum - 1) <= 4 * (k + nodes) * std::numeric_limits<double>::epsilon());
    }
    for (std::size_t i = 1; i < rule.z.size(); ++i) CHECK(rule.z[i] > rule.z[i - 1]);
  }
}

TEST_CASE("softmax: a rule of Gauss has as many nodes as are asked, or the next step") {
  CHECK(gauss_hermite(1).z.size() == kFewestNodes);
  CHECK(gauss_hermite(13).z.size() == 16);
  CHECK(&gauss_hermite(13) == &gauss_hermite(16));
  CHECK(gauss_hermite(kMostNodes).z.size() == kMostNodes);
}

}  // namespace scalecalc::gaussian::softmax
