#include "moments/layers/norm.hpp"

#include <array>
#include <cmath>
#include <numbers>
#include <random>
#include <utility>

#include "moments/layers/activation.hpp"
#include "moments/positions.hpp"
#include "sample.hpp"
#include "support.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

namespace {

Norm norm(NormKind kind, double eps = 0) {
  Norm layer;
  layer.path = "norm";
  layer.kind = kind;
  layer.eps = eps;
  return layer;
}

Gradient<Pairs> random_gradient(double second, double cross) {
  Gradient<Pairs> g;
  g.x = {0, second, cross, 0};
  return g;
}

}  // namespace

// Exact expectations over Gaussian features (docs/theory/layers.md#norm-tokens) against rules of
// order 1/d: (1 - 2/d)(1 + 3/d) differs from (d-2)/(d-3) by 9/d^2, the others by less.
TEST_CASE("norms of Gaussian tokens have the corrections of order 1/d") {
  for (const double d : {32.0, 256.0}) {
    for (const double c : {0.0, 0.5, 0.9}) {
      for (const NormKind kind : {NormKind::layernorm, NormKind::rmsnorm}) {
        Numbers numbers = calculus();
        NormRecord<Pairs> record;
        const bool layer = kind == NormKind::layernorm;
        const auto in = signal(4, 4 * c, static_cast<std::int64_t>(d));
        const auto y = norm_forward(numbers, norm(kind), in, {8, 1}, record);
        const double second_order = 10 / (d * d);
        CHECK(y.x.second == 1);
        CHECK(y.normalised);
        CHECK(std::fabs(y.x.cross - c * (1 - (1 - c * c) / (2 * d))) < second_order);
        const auto g = norm_backward(numbers, record, random_gradient(4, 4), 8.0, 1.0);
        const double exact = layer ? (d - 2) / (d - 3) : (d - 1) / (d - 2);
        CHECK(std::fabs(g.x.second - exact) < second_order);
        CHECK(std::fabs(g.x.cross - (1 + (3 * c * c - 1) / (2 * d))) < second_order);
      }
    }
  }
}

// Two sequences that know nothing of each other: the average over all samples then fluctuates less
// than that over one sequence, and only the latter says how two tokens of a sequence fluctuate
// together.
TEST_CASE("tokens of other sequences have no part in the cosine of two tokens after a norm") {
  const auto cross_of = [](double batch) {
    Numbers numbers = calculus();
    NormRecord<Pairs> record;
    Signal<Pairs> in;
    in.x = {0, 1, 0.99, 0};
    in.width = 48;
    in.tokens = 2;
    in.spread = gaussian_spread(in.x, 48, {2, batch});
    return norm_forward(numbers, norm(NormKind::rmsnorm), in, {2, batch}, record).x.cross;
  };
  const double expected = 0.99 * (1 - (1 - 0.99 * 0.99) / (2 * 48));
  CHECK(cross_of(1) == near(expected));
  CHECK(cross_of(2) == near(expected));
  CHECK(cross_of(4) == near(expected));
}

TEST_CASE("what a norm took out of a gradient is not taken twice, nor what is along its output") {
  Numbers numbers = calculus();
  NormRecord<Pairs> record;
  auto in = signal(1, 0.5, 64);
  in.spread = {};
  in.spread.mean_mode = 0;
  const auto y = norm_forward(numbers, norm(NormKind::layernorm), in, {8, 1}, record);
  CHECK(y.x.second == 1);
  Gradient<Pairs> g = random_gradient(2, 1);
  const auto once = norm_backward(numbers, record, g, 8.0, 1.0);
  CHECK(once.x.second == rounded(2 * (1 - 2.0 / 64), 64));
  const auto twice = norm_backward(numbers, record, once, 8.0, 1.0);
  CHECK(twice.x.second == rounded(once.x.second, 64));
  g.x = y.x;
  g.aligned = 1;
  CHECK(std::fabs(norm_backward(numbers, record, g, 8.0, 1.0).x.second) < rounding(64));
}

TEST_CASE("eps keeps a part of the size, and lets a signal of 0 through") {
  Numbers numbers = calculus();
  NormRecord<Pairs> record;
  const auto y =
      norm_forward(numbers, norm(NormKind::rmsnorm, 1), signal(3, 0, 64), {8, 1}, record);
  // w = 3/4 less w^2 (1 - w) V, V = 2/64, and orders of V^2.
  CHECK(std::fabs(y.x.second - (0.75 - 0.75 * 0.75 * 0.25 * 2 / 64)) < 2.0 / 64 * 2 / 64);
  CHECK(y.spread.susceptibility == rounded(0.25, 64));
  const auto none =
      norm_forward(numbers, norm(NormKind::rmsnorm, 1), signal(0, 0, 64), {8, 1}, record);
  CHECK(none.x.second == 0);
}

// Exact for Gaussian features: docs/theory/layers.md#norm-samples.
TEST_CASE("norms over samples centre crosses and gradients") {
  Numbers numbers = calculus();
  NormRecord<Pairs> record;
  const double n = 32, m = 2, r = 0.8;
  const auto in = signal(m, r, 64, 8, r);
  const auto y = norm_forward(numbers, norm(NormKind::batchnorm), in, {8, 4}, record);
  CHECK(y.x.second == rounded(1, 64));
  CHECK(y.x.cross == near(-1 / (n - 1)));
  CHECK(y.x.between == near(-1 / (n - 1)));
  Gradient<Pairs> g;
  g.x = {0, 3, 1, 1};
  const auto back = norm_backward(numbers, record, g, 8.0, 4.0);
  CHECK(back.x.second == near((3 - 1) * (n - 2) / ((n - 3) * (m - r))));
  CHECK(back.x.cross == near(-back.x.second / (n - 1)));
  CHECK_THROWS_AS(
      norm_forward(numbers, norm(NormKind::instancenorm), signal(1, 0, 64, 3), {3, 1}, record),
      Error);
}

TEST_CASE("a state by positions whose tokens are alike gives what alike tokens give") {
  Numbers numbers = calculus();
  const Pairs x{0, 2, 0.8, 0.3};
  const auto positions = make_positions(200, false);
  const PerPosition at = spread_over(x, positions, 3);
  const PerPosition inside = centred(at, 200, 3);
  const Pairs expected = centred(x, 200.0, 3.0);
  CHECK(average(inside).second == near(expected.second));
  CHECK(average(inside).cross == near(expected.cross));
  CHECK(average(inside).between == near(expected.between));
}

// Linear, BatchNorm, relu, by hand from docs/theory/layers.md#norm-samples: with c = -1/(n-1) and
// the arc-cosine kernels K, a gradient g with k = c g grows by 2 (1/2 - c K'(c)) (n-2)/(n-3) over D
// = 2 (1/2 - K(c)). What relu(y) hands back knows y: of E(y.g)^2, pairs have K(c) k in place of c
// K'(c) k, and the way back takes (K(c) - c K'(c))/(n-1) less. Real passes have 1.493 at 64 samples
// and 1.59 at 16.
TEST_CASE("gradients of plain BatchNorm stacks grow by pi/(pi-1) a layer") {
  constexpr double pi = std::numbers::pi;
  const auto by_hand = [](double n) {
    const double c = -1 / (n - 1), angle = pi - std::acos(c);
    const double kernel = (std::sqrt(1 - c * c) + angle * c) / (2 * pi);
    const double slope = c * angle / (2 * pi);
    return ((0.5 - slope) * (n - 2) / (n - 3) + (kernel - slope) / (n - 1)) / (0.5 - kernel);
  };
  const auto growth = [](int samples) {
    const Trace trace = trace_of_model(
        "model = {kind=\"mlp\", layers=40, width=100000, features=100000, activation=\"relu\", "
        "norm=\"batchnorm\", sequence=" +
        std::to_string(samples) + "}\ninit = {scheme=\"he\"}");
    return site(trace, "layer[20].act").grad_second.value /
           site(trace, "layer[21].act").grad_second.value;
  };
  // Of 100,000 samples the next order is 1/n.
  CHECK(growth(100000) == near(pi / (pi - 1), 1e-4));
  // E(y.g)^2 is a trapezoid sum, of second order in its step of 0.04 at the kink; what samples on a
  // sphere have beside Gaussian ones is one over midpoints of 64 angles, h^2/8 of a kink.
  const double step = 2 * pi / 64, left = 2e-3 + step * step / 8;
  for (const int n : {16, 64}) CHECK(growth(n) == near(by_hand(n), left / n + 1e-5));
  // What the sphere adds is 1/n itself there.
  CHECK(growth(100000) == near(by_hand(100000), 2.0 / 100000));
  CHECK(std::fabs(growth(64) - 1.493) < 0.005);
  CHECK(std::fabs(growth(16) - 1.59) < 0.01);
}

// E s/(s + eps) of the mean square of d Gaussian features: with k = d/2, 1 - z e^z E_k(z). E_1 is
// the exponential integral, E_2 = e^-z - z E_1. 64 terms of the continued fraction leave less than
// 1e-6 at these z.
TEST_CASE("what a norm's eps takes follows from the scatter of the squares") {
  for (const double eps : {0.3, 1.0, 4.0}) {
    const auto e1 = [](double z) { return -std::expint(-z); };
    const double z1 = eps, z2 = 2 * eps;
    CHECK(kept_beside_eps(1, eps, 1) ==
          doctest::Approx(1 - z1 * std::exp(z1) * e1(z1)).epsilon(1e-6));
    const double e2 = std::exp(-z2) - z2 * e1(z2);
    CHECK(kept_beside_eps(3, 3 * eps, 0.5) ==
          doctest::Approx(1 - z2 * std::exp(z2) * e2).epsilon(1e-8));
    CHECK(kept_beside_eps(2, eps, 0) == doctest::Approx(2 / (2 + eps)));
  }
}

// Features relu(u)^2 have E x, x^2, x^3, x^4 = 1/2, 3/2, 15/2, 105/2: x_i/|x| has the mean of 3V/8
// - Cov/2 more, V = (70/3 - 1)/n.
TEST_CASE("the mean behind a norm is that of x/|x|") {
  const double mean = 0.5, second = 1.5, n = 4096;
  const double variance = second - mean * mean;
  const double third = 7.5 - 3 * mean * second + 2 * mean * mean * mean;
  const double of_size = (52.5 / 2.25 - 1) / n;
  const double expected = 3 * of_size / 8 * mean - (7.5 - mean * second) / (2 * n * second);
  const auto more = [&](double size_variance) {
    return mean_order({mean, second, 0, 0}, third / std::pow(variance, 1.5), 52.5 / 2.25, n,
                      size_variance);
  };
  CHECK(more(of_size) == doctest::Approx(expected).epsilon(5 * of_size));
  CHECK(more(2 * of_size) == more(of_size));  // scales of all features move no ratio
  CHECK(more(of_size / 8) == doctest::Approx(expected / 8).epsilon(5 * of_size));
  CHECK(more(0) == 0);
  CHECK(mean_order({0, second, 0, 0}, 0, 3, 64, 1) == 0);
}

// (W^T W)_ii of n Gaussian weights fluctuates by 2/n; what a norm takes out of a gradient W^T W y
// is its mean alone.
TEST_CASE("a norm leaves what its gradient has along single features") {
  const Linear layer = linear(48, 16, 1.0 / 16);
  Gradient<Pairs> g;
  g.aligned = 1;
  g.x = {0, 2, 0, 0};
  Numbers numbers = calculus();
  const Gradient<Pairs> below = linear_backward(numbers, layer, Pairs{0, 1, 0, 0}, g);
  CHECK(below.uneven == doctest::Approx(2.0 / 16));
  NormRecord<Pairs> record;
  norm_forward(numbers, norm(NormKind::rmsnorm), signal(4, 0, 48), {8, 1}, record);
  const Gradient<Pairs> through = norm_backward(numbers, record, below, 8.0, 1.0);
  CHECK(through.aligned == 0);
  CHECK(through.uneven == doctest::Approx(2.0 / 16 / 16).epsilon(0.1));  // 1/s^4, and 1/d
  Linear square = linear(48, 48, 1.0 / 48);
  square.distribution = Distribution::orthogonal;
  CHECK(length_scatter(square) == 0);
}

namespace {

/// A norm right behind an activation of 16 Gaussian features, of two tokens that correlate by c, by
/// the rules and by draws: E y_t y_u, and E of |(I - P) g|^2/(d s^2) of a random g.
struct BehindActivation {
  double cross = 0, kept = 0, truncation = 0;
};
constexpr int narrow = 16;

BehindActivation by_rules(const char* name, NormKind kind, double c) {
  Numbers numbers = calculus();
  Signal<Pairs> in;
  in.x = {0, 1, c, 0};
  in.width = narrow;
  in.tokens = 2;
  const Counts counts{2, 1};
  in.spread = gaussian_spread(in.x, narrow, counts);
  ActivationRecord<Pairs> slopes;
  auto x = activation_forward(numbers, numbers.function(name), in, counts, {true, false}, slopes);
  numbers.complete("here", x);
  NormRecord<Pairs> record;
  auto y = norm_forward(numbers, norm(kind), x, counts, record);
  numbers.complete("here", y);
  const auto g = norm_backward(numbers, record, random_gradient(1, 0), 2.0, 1.0);
  return {y.x.cross, g.x.second, record.truncation};
}

struct NormDraws {
  Sample cross, kept;
};
NormDraws by_draws(const char* name, bool layernorm, double c) {
  const Activation phi = Activation::named(name);
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  NormDraws draws;
  for (int n = 0; n < 40000; ++n) {
    std::array<std::array<double, narrow>, 2> x{};
    for (int i = 0; i < narrow; ++i) {
      const double u = normal(random), v = c * u + std::sqrt(1 - c * c) * normal(random);
      x[0][i] = phi.value(u);
      x[1][i] = phi.value(v);
    }
    std::array<double, 2> square{};
    for (int t = 0; t < 2; ++t) {
      double mean = 0;
      for (const double one : x[t]) mean += layernorm ? one / narrow : 0;
      for (double& one : x[t]) one -= mean;
      for (const double one : x[t]) square[t] += one * one / narrow;
    }
    double both = 0;
    for (int i = 0; i < narrow; ++i) both += x[0][i] * x[1][i] / narrow;
    draws.cross.add(both / std::sqrt(square[0] * square[1]));
    // The projection takes one direction of d, or two.
    draws.kept.add((layernorm ? narrow - 2.0 : narrow - 1.0) / narrow / square[0]);
  }
  return draws;
}

}  // namespace

// Features with a mean: x.x of a token goes with x.x' of two by E phi^3(u)phi(v), and a layernorm
// divides by what is left about the mean.
TEST_CASE("norms right behind an activation divide by what its features fluctuate by") {
  for (const char* name : {"elu", "sigmoid", "softplus"})
    for (const NormKind kind : {NormKind::layernorm, NormKind::rmsnorm})
      for (const double c : {0.3, 0.9}) {
        CAPTURE(name);
        CAPTURE(to_string(kind));
        CAPTURE(c);
        const BehindActivation rule = by_rules(name, kind, c);
        const NormDraws draws = by_draws(name, kind == NormKind::layernorm, c);
        // The next order is the square of the first, which is some 5/n.
        const double second_order = 25.0 / (narrow * narrow);
        CHECK(std::fabs(rule.kept / draws.kept.mean() - 1) < second_order + rule.truncation);
        CHECK(std::fabs(rule.cross - draws.cross.mean()) <
              second_order * (1 - c) + 4 * draws.cross.standard_error());
      }
}

namespace {

/// Those that read block l's norms times that many: the same network as with norms scaled by it.
void multiply_readers(Layer& layer, double by) {
  if (auto* attention = std::get_if<Attention>(&layer.op))
    for (Linear* part : {&attention->q, &attention->k, &attention->v}) part->multiplier *= by;
  if (auto* gated = std::get_if<Gated>(&layer.op))
    for (Linear* part : {&gated->gate, &gated->in}) part->multiplier *= by;
  if (auto* weights = std::get_if<Linear>(&layer.op)) weights->multiplier *= by;
}

Network with_plain_norms(Network network) {
  for (Layer& layer : network.layers) {
    auto* residual = std::get_if<Residual>(&layer.op);
    if (residual == nullptr) continue;
    multiply_readers(residual->body[1],
                     std::exchange(std::get<Norm>(residual->body[0].op).scale, 1.0));
  }
  return network;
}

}  // namespace

TEST_CASE("a scaled norm is one in front of weights that are as much larger") {
  for (const char* toml :
       {"model = {kind=\"transformer\", layers=3, placement=\"pre\", causal=true, "
        "norm_affine=true, "
        "dropout=0.1, norm_scale=\"1/l\"}",
        "model = {kind=\"transformer\", layers=3, placement=\"pre\", batch=2, gated=true, "
        "norm=\"rmsnorm\", norm_eps=0.01, norm_scale=\"(l + 1)/2\"}\ninput = {cross=0.5}",
        "model = {kind=\"transformer\", layers=2, placement=\"pre\", norm=\"batchnorm\", "
        "norm_scale=\"l^(-1/2)\"}",
        "model = {kind=\"transformer\", layers=2, placement=\"pre\", tie_head=true, "
        "norm_scale=\"l^(-1/2)\"}\ninput = {kind=\"tokens\", second=0.02}"}) {
    CAPTURE(toml);
    const Network network = build_network(parse_model(toml, "model"));
    const Trace scaled = propagate(network), plain = propagate(with_plain_norms(network));
    constexpr double roundings = 1e-9;  // of some thousand products, times what cancels in pairs
    REQUIRE(scaled.sites.size() == plain.sites.size());
    for (std::size_t i = 0; i < plain.sites.size(); ++i) {
      const Site &a = scaled.sites[i], &b = plain.sites[i];
      CAPTURE(a.path);
      const double ratio = a.second.value / b.second.value;
      const bool is_norm = a.kind == "norm" && a.path != "final_norm";
      if (!is_norm) CHECK(std::fabs(ratio - 1) < roundings);
      CHECK(std::fabs(a.cross.value - ratio * b.cross.value) < roundings * a.second.value);
      CHECK(std::fabs(a.grad_second.value * ratio / b.grad_second.value - 1) < roundings);
      CHECK(std::fabs(a.grad_cross.value * ratio - b.grad_cross.value) <
            roundings * b.grad_second.value);
      CHECK(std::fabs(a.spread - b.spread) < roundings);
      CHECK(std::fabs(a.grad_spread - b.grad_spread) < roundings);
    }
    REQUIRE(scaled.parameters.size() == plain.parameters.size());
    for (std::size_t i = 0; i < plain.parameters.size(); ++i) {
      const ParameterMoments &a = scaled.parameters[i], &b = plain.parameters[i];
      CAPTURE(a.path);
      const double left = a.grad_second.value - b.grad_second.value;
      CHECK(std::fabs(left) <= roundings * b.grad_second.value);
    }
  }
}

// E x_t x_u/(s_t s_u) is odd in the cosine: of tokens that are nearly independent masks of their
// own leave nothing out.
TEST_CASE("what the scatter of masks leaves out of a cosine goes with it") {
  const Trace trace = trace_of_model(
      "model = {kind=\"mlp\", layers=2, width=32, placement=\"post\", norm=\"layernorm\", "
      "activation=\"tanh\", dropout=0.3}\ninput = {kind=\"gaussian\", cross=0.02}");
  const Figure& cross = site(trace, "layer[0].norm").cross;
  CHECK(cross.value > 0);
  CHECK(cross.truncation < 0.01 * cross.value);
}
