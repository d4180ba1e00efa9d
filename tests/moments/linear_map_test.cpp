#include "moments/linear_map.hpp"

#include <cmath>

#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

namespace {
const Counts one_sequence{8, 1};
constexpr double rounding = 1e-14;  ///< of products and sums of a few numbers
}  // namespace

TEST_CASE("a linear layer multiplies by fan-in times variance, and a bias adds to all pairs") {
  Numbers numbers = calculus();
  Linear layer = linear(64, 32, 0.5 / 64);
  layer.bias = true;
  layer.bias_std = 0.3;
  const Signal<Pairs> y = linear_forward(numbers, layer, signal(2, 0.5, 64, 8, 0.25), one_sequence);
  CHECK(y.x.mean == 0);
  CHECK(y.x.second == near(0.5 * 2 + 0.09, rounding));
  CHECK(y.x.cross == near(0.5 * 0.5 + 0.09, rounding));
  CHECK(y.x.between == near(0.5 * 0.25 + 0.09, rounding));
  CHECK(y.width == 32);
  const Pairs back = linear_backward(numbers, layer, Pairs{0, 3, 1, 0.5});
  CHECK(back.second == near(0.25 * 3, rounding));
  CHECK(back.cross == near(0.25, rounding));
}

TEST_CASE("weight gradients sum over tokens, pairs and sequences") {
  Numbers numbers = calculus();
  const Linear layer = linear(16, 16, 1.0 / 16);
  const Pairs x{0, 2, 0.5, 0.25}, g{0, 3, 1, 0.5};
  const double T = 6, B = 4;
  const double expected = B * (T * 6 + T * (T - 1) * 0.5) + B * (B - 1) * T * T * 0.125;
  CHECK(weight_gradient(numbers, layer, x, g, T, B) == near(expected, rounding));
  CHECK(pair_sum(g, T, B) ==
        near(B * (T * 3 + T * (T - 1) * 1) + B * (B - 1) * T * T * 0.5, rounding));
}

TEST_CASE("the NTK multiplier keeps moments and scales the gradient of its unit weights") {
  Numbers numbers = calculus();
  Linear plain = linear(64, 64, 1.0 / 64), ntk = linear(64, 64, 1);
  ntk.multiplier = 1.0 / 8;
  const auto a = linear_forward(numbers, plain, signal(1, 0.3, 64), one_sequence);
  const auto b = linear_forward(numbers, ntk, signal(1, 0.3, 64), one_sequence);
  CHECK(a.x.second == near(b.x.second, rounding));
  const Pairs x{0, 1, 0.3, 0}, g{0, 1, 0.1, 0};
  CHECK(weight_gradient(numbers, ntk, x, g, 8.0, 1.0) ==
        near(weight_gradient(numbers, plain, x, g, 8.0, 1.0) / 64, rounding));
}

TEST_CASE("square orthogonal weights have no noise of their own; a projection has what it drops") {
  Linear layer = linear(64, 64, 1.0 / 64);
  CHECK(weight_noise(layer) == 2);
  layer.distribution = Distribution::orthogonal;
  CHECK(weight_noise(layer) == 0);
  layer.fan_out = 128;
  CHECK(weight_noise(layer) == 0);
  layer.fan_out = 16;
  CHECK(weight_noise(layer) == near(1.5, rounding));
}

TEST_CASE("weights that are normalised have the variance that the norm leaves") {
  Numbers numbers = calculus();
  Linear layer = linear(256, 64, 0.7);
  layer.weight_norm = WeightNorm::demodulated;
  CHECK(numbers.variance(layer) == near(1.0 / 256, rounding));
  layer.weight_norm = WeightNorm::spectral;
  // (16 + 8)^2 less 1.2065 widths 24 (1/16 + 1/8)^(1/3).
  const double top = 576 - 1.2065335745820 * 24 * std::cbrt(1.0 / 16 + 1.0 / 8);
  CHECK(numbers.variance(layer) == near(1 / top));
}
