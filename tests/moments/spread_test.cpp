#include "moments/spread.hpp"

#include <cmath>

#include "moments/width_moments.hpp"
#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

TEST_CASE("what width needs of relu") {
  const WidthMoments w = width_moments(Activation::named("relu"), 0, 2);
  // Steps of 0.04: the kink costs their square.
  CHECK(w.exponent == near(1, 2e-3));
  CHECK(std::fabs(w.curvature) < 2e-3);
  CHECK(w.kurtosis == near(6, 2e-3));
  // E X^3 - 3 E X^2 + 2 of X = 2 z^2 [z > 0].
  CHECK(w.third == near(60 - 18 + 2, 5e-3));
  CHECK(w.slope_kurtosis == near(2, 0.02));
  CHECK(w.covariance(1) == near(5, 2e-3));
  CHECK(w.covariance(0) == 0);
}

// theory: 5/n a layer; notes 1.6: + 18.5/n^2. Measured over many seeds: 0.40 at n = 256, 1.74 +-
// .04 at n = 64 for 20 layers.
TEST_CASE("twenty relu layers stray as measured") {
  const auto spread = [](int width) {
    const Trace trace =
        trace_of_model("model = {kind=\"mlp\", layers=20, sequence=1, activation=\"relu\", width=" +
                       std::to_string(width) + ", features=" + std::to_string(width) +
                       "}\ninit = {scheme=\"he\"}");
    return site(trace, "layer[19].act").spread;
  };
  // The input is random too, 2/n of it.
  CHECK(spread(256) == near(20 * (5.0 / 256 + 18.5 / 65536) + 2.0 / 256, 1e-3));
  CHECK(std::fabs(spread(64) - 1.74) < 0.12);
}

TEST_CASE("averaging over tokens keeps what they share") {
  const Counts counts{10, 1};
  const Spread alone = gaussian_spread(Pairs{0, 1, 0, 0}, 100, counts);
  CHECK(alone.one == near(0.02, 1e-14));
  CHECK(alone.all == near(0.002, 1e-14));
  const Spread together = gaussian_spread(Pairs{0, 1, 1, 0}, 100, counts);
  CHECK(together.all == near(0.02, 1e-14));
}

TEST_CASE("a branch that copies the stream's size keeps its relative spread") {
  Spread stream, branch;
  stream.one = stream.all = 0.3;
  branch.one = branch.all = 0.3;
  branch.pull = 1;
  const Pairs x{0, 1, 1, 0};
  const Spread sum = through_sum(stream, branch, x, x, 1e12, {1, 1});
  CHECK(sum.all == near(0.3, 1e-9));
  branch.pull = 0;
  CHECK(through_sum(stream, branch, x, x, 1e12, {1, 1}).all == near(0.15, 1e-9));
}

TEST_CASE("the mean moves by half the curvature times the variance") {
  const WidthMoments w = width_moments(Activation::named("square"), 0, 1);
  // E u^4 = 3 q^2: exponent 2, q^2 f''/f = 2.
  CHECK(w.exponent == near(2, 1e-9));
  CHECK(w.curvature == near(2, 1e-9));
  Spread in;
  in.one = in.all = 0.1 + 2e-6;
  const Spread out = through_activation(in, w, Pairs{0, 1, 1, 0}, 1e6, {1, 1});
  CHECK(out.shift == near(0.1, 1e-9));
}
