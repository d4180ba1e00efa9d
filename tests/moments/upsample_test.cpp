#include "moments/layers/upsample.hpp"

#include "support.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

namespace {

const Upsample twice{"up", 16, 2, 2, 3};

}  // namespace

// Of 24 positions each has three copies of its own among the 23 others.
TEST_CASE("pairs of an upsampled image are copies of one or not") {
  Numbers numbers = calculus();
  const auto x = signal(2, 0.5, 16, 6, 0.25);
  const auto y = upsample_forward(numbers, twice, x);
  CHECK(y.tokens == 24);
  CHECK(y.width == 16);
  CHECK(y.x.second == rounded(2, 64));
  CHECK(y.x.cross == rounded((3 * 2 + 20 * 0.5) / 23, 64));
  CHECK(y.x.between == rounded(0.25, 64));
  const double kappa = 3.0 / 23;
  CHECK(y.overlap.variance() ==
        near((1 - kappa) * x.overlap.variance() + kappa * (1 - kappa) * 1.5 * 1.5));
}

TEST_CASE("a factor of 1 changes nothing") {
  Numbers numbers = calculus();
  const Upsample none{"up", 16, 1, 2, 3};
  const auto x = signal(2, 0.5, 16, 6, 0.25);
  const auto y = upsample_forward(numbers, none, x);
  CHECK(y.x.cross == rounded(0.5, 64));
  CHECK(y.overlap.variance() == near(x.overlap.variance()));
  const Pairs back = upsample_backward(numbers, none, x.x, Pairs{0, 3, 1, 0.5});
  CHECK(back.second == rounded(3, 64));
  CHECK(back.cross == rounded(1, 64));
}

TEST_CASE("gradients of the copies add up") {
  Numbers numbers = calculus();
  const Pairs back =
      upsample_backward(numbers, twice, Pairs{0, 2, 0.5, 0.25}, Pairs{0, 3, 0.2, 0.1});
  CHECK(back.second == rounded(4 * 3 + 12 * 0.2, 64));
  CHECK(back.cross == rounded(16 * 0.2, 64));
  CHECK(back.between == rounded(16 * 0.1, 64));
}

TEST_CASE("lags of an upsampled image are as many times as long") {
  OverlapLags in;
  in.near = {1, 0.4};
  in.far = 0.1;
  const OverlapLags out = repeated_lags(in, 2);
  // Neighbours are one position or next to each other, each half of the time.
  for (const auto& [lag, expected] :
       {std::pair{0, 1.0}, {1, 0.7}, {2, 0.4}, {3, 0.25}, {4, 0.1}, {9, 0.1}})
    CHECK(out.at(static_cast<std::size_t>(lag)) == rounded(expected, 64));
}
