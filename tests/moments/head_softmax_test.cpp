#include "moments/head_softmax.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "scalecalc/softmax.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;

// The first few correlations are integrated, and the rest interpolated. The error of that was
// measured at one point, and a twentieth of what it is near c = 1 at large variances.
TEST_CASE("overlaps of a head's softmax at many correlations are integrals") {
  constexpr double stated = 1e-5;  // ten times what a pair's integral states of itself
  for (const double tau2 : {0.0, 0.01, 0.6, 2.4, 2.6, 40.0}) {
    for (const std::int64_t classes : {2, 50, 30000}) {
      CAPTURE(tau2);
      CAPTURE(classes);
      const std::string site = "head";
      Numbers numbers({});
      numbers.enter(site);
      numbers.softmax_head(classes, tau2);
      auto& head = numbers.cache<Numbers::HeadSoftmax>();
      for (const double c : {-0.9, -0.3, -0.01, 0.0, 0.2, 0.5, 0.77, 0.95, 1.0, 0.2}) {
        CAPTURE(c);
        const Estimate found = head.overlap(c), exact = softmax_pair(classes, tau2, c).overlap;
        CHECK(std::fabs(found.value - exact.value) <= found.error + exact.error);
        if (tau2 < 3) CHECK(found.error < stated * exact.value);
      }
    }
  }
}
