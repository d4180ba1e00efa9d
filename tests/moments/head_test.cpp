#include "moments/head.hpp"

#include <cmath>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "moments/head_softmax.hpp"
#include "moments/layers/embedding.hpp"
#include "moments/layers/pool.hpp"
#include "moments/positions.hpp"
#include "sample.hpp"
#include "scalecalc/moments.hpp"
#include "scalecalc/softmax.hpp"
#include "support.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

namespace {

/// Logits whose sizes and overlaps do not fluctuate over draws.
template <class X>
Signal<X> fixed(X logits) {
  Signal<X> signal;
  signal.x = std::move(logits);
  return signal;
}

Network head(std::int64_t classes, Loss loss = Loss::cross_entropy) {
  Network network;
  network.classes = classes;
  network.loss = loss;
  network.target_second = 2;
  return network;
}

}  // namespace

TEST_CASE("the loss at the start is ln V + tau2/2 - (e^tau2 - 1)/(2V) for many classes") {
  // Within 0.5% at 10 classes and 0.03% at 64; the next term falls as 1/V^2.
  for (const auto& [classes, within] : {std::pair{10.0, 5e-3}, {64.0, 3e-4}, {1e4, 1e-6}}) {
    const double expected = std::log(classes) + 0.5 - (std::exp(1.0) - 1) / (2 * classes);
    CHECK(expected_log_sum(classes, 1) == near(expected, within));
  }
  CHECK(expected_log_sum(7, 0) == near(std::log(7.0)));
  // Beside terms of order 1 that cancel.
  CHECK(expected_log_sum(1, 3) == doctest::Approx(0).scale(1).epsilon(1e-9));
}

TEST_CASE("cross-entropy's gradient follows P2 and O over the classes") {
  Numbers numbers = calculus();
  const Pairs logits{0, 1.5, 0.6, 0.3};
  const auto loss = loss_gradient(numbers, head(32), fixed(logits), 12.0);
  const double p2 = softmax_one(32, 1.5).p2.value;
  CHECK(loss.logits.second == near((1 - 2 / 32.0 + p2) / 32, by_interpolation));
  // Differences of O and 1/V lose a digit of what softmax_pair states.
  CHECK(loss.logits.cross ==
        near((softmax_pair(32, 1.5, 0.4).overlap.value - 1 / 32.0) / 32, 1e-7));
  CHECK(loss.logits.between ==
        near((softmax_pair(32, 1.5, 0.2).overlap.value - 1 / 32.0) / 32, 1e-7));
  CHECK(loss.hessian == near((1 - p2) / 32, by_interpolation));
  Network mean = head(32);
  mean.reduction = Reduction::mean;
  const auto less = loss_gradient(numbers, mean, fixed(logits), 12.0);
  CHECK(less.logits.second == near(loss.logits.second / 144));
  CHECK(less.loss == near(loss.loss / 12));
}

TEST_CASE("cross-entropy: targets that are often equal make gradients alike") {
  constexpr int classes = 5, samples = 200000;
  const std::vector<double> chances = {0.5, 0.2, 0.15, 0.1, 0.05};
  Network network = head(classes);
  for (const double chance : chances) network.target_collision += chance * chance;
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  std::discrete_distribution<int> target(chances.begin(), chances.end());
  const auto gradient = [&](const std::vector<double>& logits) {
    std::vector<double> g;
    double sum = 0;
    for (const double y : logits) g.push_back(std::exp(y));
    for (const double e : g) sum += e;
    for (double& e : g) e /= sum;
    g[static_cast<std::size_t>(target(random))] -= 1;
    return g;
  };
  Sample second, cross;
  for (int i = 0; i < samples; ++i) {
    std::vector<double> t, s;
    for (int k = 0; k < classes; ++k) {
      const double common = std::sqrt(0.6) * normal(random);
      t.push_back(common + std::sqrt(0.9) * normal(random));
      s.push_back(common + std::sqrt(0.9) * normal(random));
    }
    const std::vector<double> g = gradient(t), h = gradient(s);
    second.add(std::inner_product(g.begin(), g.end(), g.begin(), 0.0) / classes);
    cross.add(std::inner_product(g.begin(), g.end(), h.begin(), 0.0) / classes);
  }
  Numbers numbers = calculus();
  const auto loss = loss_gradient(numbers, network, fixed(Pairs{0, 1.5, 0.6, 0.6}), 4.0);
  CHECK(std::fabs(loss.logits.second - second.mean()) < 4 * second.standard_error());
  CHECK(std::fabs(loss.logits.cross - cross.mean()) < 4 * cross.standard_error());
  CHECK(loss.logits.between == loss.logits.cross);
  network.target_collision = 1.0 / classes;
  CHECK(
      loss_gradient(numbers, network, fixed(Pairs{0, 1.5, 0.6, 0.6}), 4.0).logits.cross ==
      near(
          loss_gradient(numbers, head(classes), fixed(Pairs{0, 1.5, 0.6, 0.6}), 4.0).logits.cross));
}

TEST_CASE("mse: targets of different tokens share nothing") {
  Numbers numbers = calculus();
  const auto loss = loss_gradient(numbers, head(5, Loss::mse), fixed(Pairs{0, 1.5, 0.6, 0.3}), 4.0);
  CHECK(loss.logits.second == 3.5);
  CHECK(loss.logits.cross == 0.6);
  CHECK(loss.hessian == 1);
  CHECK(loss.loss == rounded(4 * 5 * 3.5 / 2, 64));
}

TEST_CASE("a gradient grows with the logits as far as they make it") {
  Numbers numbers = calculus();
  Network network = head(32);
  network.loss = Loss::mse;
  network.target_second = 0.5;
  CHECK(loss_gradient(numbers, network, fixed(Pairs{0, 1.5, 0.6, 0.6}), 4.0).size_slope ==
        near(0.75));
  // Of two classes p (1 - p) = 1/(2 + 2 cosh(y_1 - y_2)): 1 - 2/V + P2 = P2 = 1/2 + tau2/4 - .. .
  const double tau2 = 1e-3;
  CHECK(loss_gradient(numbers, head(2), fixed(Pairs{0, tau2, 0, 0}), 4.0).size_slope ==
        near(tau2 / 2, 10 * tau2));
}

// Notes 4, d = V = 64: mse g 3.02 against 3.04 measured (without the head's own weights 2.00),
// k 1.01 against 1.03 (without: 0.5), unit weights and targets and a cosine of 1/2.
TEST_CASE("the head's own weights are in the gradient below it") {
  Numbers numbers = calculus();
  const Linear layer = linear(64, 64, 1.0 / 64);
  Network network = head(64, Loss::mse);
  network.target_second = 1;
  const auto hidden = signal(1, 0.5, 64);
  const auto logits = linear_forward(numbers, layer, hidden, {8, 1});
  const auto loss = loss_gradient(numbers, network, fixed(logits.x), 8.0);
  Gradient<Pairs> g;
  g.x = loss.logits;
  g.aligned = loss.hessian;
  const auto below = linear_backward(numbers, layer, hidden.x, g);
  CHECK(below.x.second == rounded(3, 64));
  CHECK(below.x.cross == rounded(1, 64));
  CHECK(std::fabs(below.x.second - 3.04) < 0.06);
}

TEST_CASE("a state by positions interpolates the head's overlaps") {
  Numbers numbers = calculus();
  PerPosition logits = spread_over(Pairs{0, 1, 0.5, 0}, make_positions(12, true), 1);
  for (int t = 0; t < 12; ++t)
    for (int u = 0; u < 12; ++u) logits.cross(t, u) = 0.9 - 0.1 * std::abs(t - u);
  const auto loss = loss_gradient(numbers, head(32), fixed(logits), 12.0);
  for (const int u : {1, 4, 11}) {
    const double c = 0.9 - 0.1 * u;
    const double exact = (softmax_pair(32, 1, c).overlap.value - 1 / 32.0) / 32;
    // By interpolation, of an overlap below 1.
    CHECK(loss.logits.cross(0, u) == doctest::Approx(exact).scale(1).epsilon(1e-9));
  }
}

TEST_CASE("pooling shares out the gradient") {
  Numbers numbers = calculus();
  const auto pooled = pool_forward(numbers, Pool{"pool"}, signal(1, 0.2, 64, 5), {5, 1});
  CHECK(pooled.tokens == 1);
  CHECK(pooled.x.second == rounded((1 + 4 * 0.2) / 5, 64));
  const Pairs back = pool_backward(Pool{"pool"}, Pairs{0, 3, 3, 1}, 5.0);
  CHECK(back.second == rounded(3 / 25.0, 64));
  CHECK(back.cross == rounded(3 / 25.0, 64));
  CHECK(back.between == rounded(1 / 25.0, 64));
}

// |p|^2 of normal features has 2/n, whatever tokens share.
TEST_CASE("the mean of normal tokens fluctuates as one of them does") {
  Numbers numbers = calculus();
  constexpr double width = 64;
  const Counts counts{5, 2};
  for (const double cross : {0.0, 0.2, 0.9}) {
    auto in = signal(1, cross, 64, 5);
    in.x.between = 0;
    in.spread = gaussian_spread(in.x, width, counts);
    in.overlap = {0, (1 - cross) * (1 - cross) / width};
    const auto pooled = pool_forward(numbers, Pool{"pool"}, in, counts);
    CHECK(pooled.spread.token_variance == rounded(2 / width, width));
    CHECK(pooled.spread.batch_variance == rounded(2 / width / 2, width));
  }
}

TEST_CASE("how often tokens are equal stands for the frequencies that say so") {
  ModelSpec spec = default_spec(ModelSpec::Kind::transformer);
  spec.layers = 2;
  spec.input.kind = InputKind::tokens;
  spec.input.positions = 0.5;
  spec.batch = 3;
  Network text = build_network(spec);
  spec.input.zipf = 1.2;
  const Network zipf = build_network(spec);
  text.token_collision = same_word(spec.vocab, 1.2);
  const Trace expected = propagate(zipf, {}), got = propagate(text, {});
  REQUIRE(got.parameters.size() == expected.parameters.size());
  for (std::size_t i = 0; i < expected.parameters.size(); ++i) {
    CAPTURE(expected.parameters[i].path);
    CHECK(got.parameters[i].grad_second.value == expected.parameters[i].grad_second.value);
  }
  text.token_collision = 0;
  CHECK(propagate(text, {}).parameters[0].grad_second.value !=
        expected.parameters[0].grad_second.value);
}

TEST_CASE("two tokens share what words they have in common") {
  CHECK(same_word(50, 0) == rounded(0.02, 64));
  // Zipf over 3 words: frequencies 6, 3, 2 of 11.
  CHECK(same_word(3, 1) == rounded((36 + 9 + 4) / 121.0, 64));
  Embedding layer;
  layer.vocab = 3;
  layer.std = 2;
  layer.position_std = 1;
  Numbers numbers = calculus();
  const Pairs x = embedded(numbers, layer, same_word(layer.vocab, 1), 10.0);
  CHECK(x.second == rounded(5, 64));
  CHECK(x.cross == rounded(4 * 49 / 121.0, 64));
  CHECK(x.between == rounded(4 * 49 / 121.0 + 0.1, 64));
  layer.segments = 2;
  layer.multiplier = 3;
  const Pairs more = embedded(numbers, layer, same_word(layer.vocab, 1), 10.0);
  CHECK(more.second == rounded(9 * 4 + 1 + 4, 64));
  CHECK(more.cross == rounded(9 * 4 * 49 / 121.0 + 4, 64));
  const Pairs g{0, 3, 1, 0.5};
  CHECK(row_gradient(g, 0.0, 0.4, 3.0, 10.0, 1.0) == rounded((10 * 3 + 90 * 0.4) / 3, 64));
  // Equal words with gradients that have 0.5 more in common.
  CHECK(row_gradient(g, 0.5, 0.4, 3.0, 10.0, 1.0) == rounded((10 * 3 + 90 * 0.4 * 1.5) / 3, 64));
  CHECK(position_gradient(g, 0.0, 4.0) == rounded(4 * 3 + 12 * 0.5, 64));
  CHECK(position_gradient(g, 0.25, 4.0) == rounded(4 * 3 + 12 * 0.75, 64));
}

// At one position two sequences have its vector: of a gradient 3 x that is 9 s^2, of which the mean
// over pairs has 1/T.
TEST_CASE("gradients of one position share its vector") {
  Gradient<Pairs> g;
  g.aligned = 3;
  CHECK(equal_positions(calculus(), 0.5, g, 10.0) == rounded(9 * 0.25 * 0.9, 64));
  g.slopes.between.own = 12;  // what else follows overlaps
  CHECK(equal_positions(calculus(), 0.5, g, 10.0) == rounded(12 * 0.25 * 0.9, 64));
}

// Of a squared error g is E y^2 at the width at hand, but for plain stacks, which follow sizes.
TEST_CASE("a squared error sees the sizes of draws") {
  Numbers numbers = calculus();
  Network network = head(16);
  network.loss = Loss::mse;
  network.target_second = 0.5;
  network.reduction = Reduction::sum;
  Signal<Pairs> logits = fixed(Pairs{0, 2, 0.5, 0});
  logits.spread.mean_shift = 0.25;
  CHECK(loss_gradient(numbers, network, logits, 8.0).logits.second == rounded(2.5, 64));
  network.layers.push_back({});
  network.layers.back().op = Norm{};
  CHECK(loss_gradient(numbers, network, logits, 8.0).logits.second == rounded(3, 64));
}

// Logits whose overlap fluctuates: E O(c + e) over two equally likely e is the mean of both sides,
// and its slope the difference.
TEST_CASE("overlaps that fluctuate over draws move the cross of the loss's gradient") {
  Numbers numbers = calculus();
  const std::int64_t classes = 16;
  const double tau2 = 2, r = 0.5, deviation = 0.3;
  Signal<Pairs> logits = fixed(Pairs{0, tau2, r, 0});
  logits.overlap.coherent = deviation;
  const auto loss = loss_gradient(numbers, head(classes), logits, 8.0);
  const auto k = [&](double cross) {
    return (softmax_pair(classes, tau2, cross / tau2).overlap.value - 1.0 / classes) / classes;
  };
  // What softmax_pair states, over a difference of correlations.
  CHECK(loss.logits.cross == near((k(r + deviation) + k(r - deviation)) / 2, 1e-6));
  REQUIRE(loss.slopes);
  CHECK(loss.slopes->cross == near((k(r + deviation) - k(r - deviation)) / (2 * deviation), 1e-5));
  CHECK(loss.slopes->second == 0);
}

TEST_CASE(
    "logits whose size fluctuates have P2 averaged over sizes, and a bound of what that leaves "
    "out") {
  Numbers numbers = calculus();
  Signal<Pairs> logits = fixed(Pairs{0, 4, 0, 0});
  const double classes = 32, latent = 0.3;
  logits.spread.token_variance = 2 / classes + latent;
  const auto loss = loss_gradient(numbers, head(32), logits, 8.0);
  // Trapezoid sum over the logarithm of the size.
  double sum = 0, weights = 0;
  for (double z = -6; z <= 6; z += 0.25) {
    const double weight = std::exp(-z * z / 2);
    sum += weight * softmax_one(32, 4 * std::exp(-latent / 2 + std::sqrt(latent) * z)).p2.value;
    weights += weight;
  }
  const double expected = (1 - 2 / classes + sum / weights) / classes;
  CHECK(std::fabs(loss.logits.second - expected) <= loss.truncation.second * loss.logits.second);
  CHECK(loss.truncation.second < 0.05);
}

TEST_CASE("past the integrals the largest of the logits wins as 1/tau has it") {
  Numbers numbers = calculus();
  const auto& prepared = numbers.softmax_head(8, 1000);
  const double near_edge = 1 - numbers.softmax_second(prepared, 1000);
  CHECK(1 - numbers.softmax_second(prepared, 4000) == near(near_edge / 2, by_interpolation));
  // The law holds at the edge already: from 500 to 1000 within what is left of the next order.
  CHECK(std::fabs((1 - softmax_one(8, 500).p2.value) / near_edge / std::sqrt(2.0) - 1) < 0.02);
}

// What is not known of the logits is not known of the loss's gradient: to first order, that at
// logits which differ by as much.
TEST_CASE("the gradient of the loss is off where the logits are") {
  Numbers numbers = calculus();
  const Pairs logits{0, 1.5, 0.6, 0.3};
  const auto with_overlaps = [](const Pairs& x) {
    Signal<Pairs> signal = fixed(x);
    signal.overlap.noise = x.second * x.second / 100;
    return signal;
  };
  const RelativeError bound{0.01, 0.02, 0};
  for (const Loss kind : {Loss::mse, Loss::cross_entropy}) {
    const Network network = head(32, kind);
    const auto loss = loss_gradient(numbers, network, with_overlaps(logits), 12.0);
    Pairs larger = logits, closer = logits;
    larger.second *= 1 + bound.second;
    closer.cross += bound.cross * logits.second;
    const auto at_larger = loss_gradient(numbers, network, with_overlaps(larger), 12.0);
    const auto at_closer = loss_gradient(numbers, network, with_overlaps(closer), 12.0);
    const RelativeError found = error_of_loss(numbers, network, logits, bound, loss);
    const double g = loss.logits.second;
    // Of second order in what differs, and the slope is the secant over a tenth of E y^2.
    const double bent = 2 * bound.cross + 1.0 / 10;
    CHECK(found.second == near((at_larger.logits.second - g) / g, bent));
    const double of_cross = (at_closer.logits.cross - loss.logits.cross) / g;
    CHECK(found.cross >= of_cross * (1 - bent));
    CHECK(found.cross <= (of_cross + found.second) * (1 + bent));
  }
}
