#include "moments/kept_input.hpp"

#include <cmath>

#include "support.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

// chi^2_1: E |z| = (2/pi)^(1/2); of 5 dimensions E s = 8/(3 (10 pi)^(1/2)) of s^2 = chi^2/5.
TEST_CASE("the mean of s beside the root of that of its square") {
  constexpr double pi = 3.14159265358979323846;
  CHECK(mean_root(2) == rounded(std::sqrt(2 / pi), 64));
  CHECK(mean_root(2.0 / 5) == rounded(16 / (3 * std::sqrt(10 * pi)), 64));
  CHECK(mean_root(0) == 1);
  // Both forms where one takes over.
  const double v = 1e-5;
  CHECK(std::fabs(mean_root(v * (1 + 1e-9)) - mean_root(v * (1 - 1e-9))) < v * v);
}

// chi^2_5: E 1/s^2 E s^2 = 5/3, and E 1/s = (5/2)^(1/2) Gamma(2)/Gamma(5/2).
TEST_CASE("the mean of 1/s beside the root of that of its square") {
  constexpr double pi = 3.14159265358979323846;
  const double inverse = std::sqrt(5.0 / 2) / (3 * std::sqrt(pi) / 4);
  CHECK(mean_inverse_root(5.0 / 3) == rounded(inverse / std::sqrt(5.0 / 3), 64));
  CHECK(mean_inverse_root(1) == 1);
}

TEST_CASE("parts of a sum share what they have together, and their product varies by the rest") {
  const Alike<double> x{0, 4, 1, 0.5}, f{0, 9, 2, 0.25};
  const SumParts alone = as_independent(x, f, {}, 64);
  CHECK(alone.left.second == 4);
  CHECK(alone.right.second == 9);
  CHECK(alone.width == 64);
  const SumParts half = as_independent(x, f, {0, 3, 0.5, 0}, 64);
  CHECK(half.left.second + half.right.second == 4 + 9 + 2 * 3);
  CHECK(half.width == rounded(64 / (1 - 9.0 / 36), 8));
  CHECK(std::isinf(as_independent(x, f, {0, 6, 1, 0}, 64).width));
}

// E u phi(u) = q E phi'(u), of relu q/2.
TEST_CASE("an activation keeps of its input the mean slope") {
  Numbers numbers = calculus();
  auto in = signal(2, 0.6, 64);
  in.with_inputs = std::vector<WithInput<Pairs>>{with_itself(in.x)};
  auto out = in;
  const Pairs slopes = mean_slopes(numbers, numbers.function("relu"), in.x);
  input_through_activation<Numbers>(slopes, in, out);
  CHECK(out.with_inputs->front().product.second == rounded(1, 64));
  CHECK(out.with_inputs->front().product.cross == rounded(0.3, 64));
}
