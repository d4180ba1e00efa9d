#include "moments/norm_samples.hpp"

#include <array>
#include <cmath>
#include <numbers>
#include <random>

#include "moments/layers/activation.hpp"
#include "moments/layers/norm.hpp"
#include "sample.hpp"
#include "support.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

TEST_CASE("a shift brings a state to the levels asked for") {
  const Counts counts{8, 4};
  const Alike<double> x{0, 2, 0.7, 0.1};
  const SampleLevels wanted{1.5, 6};
  const Alike<double> by = shift_to_levels(x, wanted, counts);
  const Alike<double> y{0, x.second + by.second, x.cross + by.cross, x.between + by.between};
  const SampleLevels found = sample_levels(y, counts);
  CHECK(found.within == rounded(wanted.within, 64));
  CHECK(found.between == rounded(wanted.between, 64));
  // Centred: all products of one sample with all samples add up to 0.
  CHECK(std::fabs(y.second + 7 * y.cross + 3 * 8 * y.between) < 1e-13);
}

// Sequences whose tokens add up to 0 have no variance between them, and rounding may leave less.
TEST_CASE("levels are variances, whatever rounding leaves") {
  const Counts counts{9, 4};
  for (const double second : {1.0, 0.3, 1.0 / 3, 0.9999999999999998}) {
    const SampleLevels levels = sample_levels({0, second, -second / 8, 0}, counts);
    CHECK(levels.within >= 0);
    CHECK(levels.between >= 0);
    const SampleOrders orders = sample_orders(levels, counts, 1);
    CHECK(std::isfinite(orders.forward.within));
    CHECK(std::isfinite(orders.forward.between));
  }
}

// Of alike samples, the way back is (n - 2)/(n - 3).
TEST_CASE("equal levels give what alike samples give") {
  for (const Counts& counts : {Counts{5, 1}, Counts{64, 1}, Counts{8, 4}}) {
    const double n = counts.samples();
    const SampleLevels levels{0.3, counts.batch > 1 ? 0.3 : 0};
    const SampleOrders orders = sample_orders(levels, counts, 1);
    CHECK(orders.forward.within == near(1));
    CHECK(orders.back({1, counts.batch > 1 ? 1.0 : 0}).within == near((n - 2) / (n - 3)));
  }
}

TEST_CASE("unequal levels give what draws give") {
  const Counts counts{6, 4};
  const SampleLevels levels{0.5, 4}, gradient{2, 5};
  const SampleOrders orders = sample_orders(levels, counts, 1);
  const SampleLevels back = orders.back(gradient);
  constexpr int within = 20, between = 3, draws = 40000;
  constexpr double total = within * 0.5 + between * 4;
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  Sample share, first, last;
  for (int draw = 0; draw < draws; ++draw) {
    std::array<double, within + between> x{}, g{};
    double size = 0, along = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const bool inside = i < within;
      x[i] = std::sqrt(inside ? levels.within : levels.between) * normal(random);
      g[i] = std::sqrt(inside ? gradient.within : gradient.between) * normal(random);
      size += x[i] * x[i];
      along += x[i] * g[i];
    }
    const auto passed = [&](std::size_t i) {
      const double left = g[i] - x[i] * along / size;
      return left * left * total / size;
    };
    share.add(x.back() * x.back() * total / (size * levels.between));
    first.add(passed(0));
    last.add(passed(x.size() - 1));
  }
  CHECK(std::fabs(orders.forward.between - share.mean()) < 5 * share.standard_error());
  CHECK(std::fabs(back.within - first.mean()) < 5 * first.standard_error());
  CHECK(std::fabs(back.between - last.mean()) < 5 * last.standard_error());
}

TEST_CASE("features that were normalised just before do not scatter") {
  const Counts counts{12, 1};
  const SampleOrders orders = sample_orders({0.9, 0}, counts, 0);
  CHECK(orders.back({1, 0}).within == near(1 - 1.0 / 11));
  Numbers numbers = calculus();
  NormRecord<Pairs> record;
  Norm layer;
  layer.path = "norm";
  layer.kind = NormKind::instancenorm;
  const auto y = norm_forward(numbers, layer, signal(1, 0.2, 64, 12), {12, 1}, record);
  CHECK(y.spread.batch_noise == 0);
  const auto sum = through_sum(y.spread, gaussian_spread(values_of(numbers, y.x), 64, {12, 1}),
                               values_of(numbers, y.x), values_of(numbers, y.x), 64, {12, 1});
  CHECK(sum.batch_noise == rounded(0.75, 64));
}

// A gradient that has been across y once loses nothing to a second norm over the same samples.
TEST_CASE("a norm over a norm over the same samples takes nothing more") {
  const Counts counts{6, 1};
  const SampleOrders orders = sample_orders({1, 0}, counts, 0);
  CHECK(orders.back({1, 0}, 0).within == near(1));
  CHECK(orders.back({1, 0}, 1).within == near(1 - 1.0 / 5));
  CHECK(orders.back({1, 0}, 0.5).within == near(1 - 0.5 / 5));
  const Trace trace = trace_of_model(
      "model = {kind=\"mlp\", layers=2, width=48, sequence=16, activation=\"tanh\", "
      "norm=\"instancenorm\", placement=\"branchnorm\", ramp=0, norm_affine=true}\n");
  CHECK(parameter(trace, "layer[1].norm.gain").grad_second.value == 0);
}

// Above relu x phi'(x) is relu itself: arc-cosine kernels.
TEST_CASE("an output below an activation knows its gradient") {
  constexpr double pi = std::numbers::pi;
  Numbers numbers = calculus();
  ActivationRecord<Pairs> record;
  const double c = 0.3;
  const auto in = signal(1, c, 64);
  activation_forward(numbers, numbers.function("relu"), in, {8, 1}, {true, true}, record);
  Gradient<Pairs> g;
  g.x = {0, 4, 3, 0};
  const auto back = activation_backward(numbers, record, g, {8, 1});
  const Pairs along = along_output(in.x, back);
  // Products of Hermite coefficients up to the 12th power of c, and 1/n^2 of the steps at the kink.
  const double left_out = std::pow(c, 13), step = 1e-4;
  CHECK(std::fabs(along.second / 4 - 0.5) < step);
  CHECK(std::fabs(along.cross / 3 - (std::sqrt(1 - c * c) + (pi - std::acos(c)) * c) / (2 * pi)) <
        left_out + step);
}

// relu of 4 independent samples is 0 at all of them with a chance of 1/16; a branch that starts at
// 0 changes nothing of that.
TEST_CASE("features stay constant through a branch of weight 0") {
  const Trace trace = trace_of_model(
      "model = {kind=\"mlp\", layers=3, width=48, sequence=4, activation=\"relu\", "
      "norm=\"instancenorm\", placement=\"rezero\"}\ninput = {cross=0}");
  // Two samples that share nothing still have 1e-12 of their own size in the chances.
  constexpr double shared = 1e-6;
  CHECK(site(trace, "final_norm").second.value == near(1 - 1.0 / 16, shared));
}

TEST_CASE("sums over samples that cancel leave no rounding to a bias") {
  const Trace trace = trace_of_model(
      "model = {kind=\"transformer\", layers=2, width=31, heads=1, sequence=48, causal=false, "
      "bias=true, norm=\"batchnorm\", placement=\"branchnorm\", vocab=300}\n"
      "input = {kind=\"gaussian\", cross=0.9}");
  CHECK(parameter(trace, "block[0].attn.v.bias").grad_second.value == 0);
}

// Of what an epsilon leaves of features' differences it leaves as much of their overlaps.
TEST_CASE("overlaps keep their size beside the differences of samples") {
  for (const double eps : {0.0, 0.01, 1.0}) {
    CAPTURE(eps);
    Numbers numbers = calculus();
    ActivationRecord<Pairs> activated;
    const auto u = activation_forward(numbers, numbers.function("tanh"), signal(2, 1.8, 32, 48),
                                      {48, 1}, {true, false}, activated);
    NormRecord<Pairs> record;
    Norm layer;
    layer.path = "norm";
    layer.kind = NormKind::instancenorm;
    layer.eps = eps;
    const auto y = norm_forward(numbers, layer, u, {48, 1}, record);
    const auto relative = [](const Signal<Pairs>& x) {
      const double apart = x.x.second - x.x.cross;
      return x.overlap.variance() / (apart * apart);
    };
    CHECK(relative(y) == near(relative(u)));
  }
}

// Tokens of d Gaussian features, mixed by weights and each new feature divided by its own
// deviation over the samples: given its weights it is Gaussian over them, however few d are.
TEST_CASE("samples of Gaussian tokens pass an activation as Gaussian ones do") {
  constexpr int samples = 48;
  for (const std::int64_t width : {8, 32}) {
    for (const char* name : {"relu", "tanh", "elu"}) {
      CAPTURE(width);
      CAPTURE(name);
      Numbers numbers = calculus();
      const Counts counts{samples, 1};
      const auto x = signal(1, 0, width, samples);
      const auto u =
          linear_forward(numbers, linear(width, 64, 1.0 / static_cast<double>(width)), x, counts);
      NormRecord<Pairs> record;
      Norm layer;
      layer.path = "norm";
      layer.kind = NormKind::instancenorm;
      const auto y = norm_forward(numbers, layer, u, counts, record);
      ActivationRecord<Pairs> found;
      const auto phi = numbers.function(name);
      const auto out = activation_forward(numbers, phi, y, counts, {true, false}, found);
      // The sphere of 47 dimensions alone.
      const Token<double> one{0, 1};
      const double of_samples = 3.0 / samples;
      const double shift = 1 + out.spread.mean_shift;
      CHECK(out.x.second * shift ==
            near(numbers.expectation(phi, Moment::second, one), of_samples));
      const double cross = numbers.pair(phi, Moment::cross, one, one, -1.0 / (samples - 1));
      CHECK(std::fabs(out.x.cross * shift - cross) < of_samples * out.x.second);
    }
  }
}

// A sample norm divides features, not tokens: tokens of sizes l_t have sizes l_t behind it, but for
// their part of each feature's own size, of fourth moment 3 nu/(nu + 2) in nu = 31 dimensions, and
// what they have in common about their mean, cosines of -1/nu.
TEST_CASE("tokens keep what their sizes differ by") {
  Numbers numbers = calculus();
  auto in = signal(1, 0, 64, 32);
  const double own = 2.0 / 64, sizes = 0.2;
  in.spread.token_variance += sizes;
  in.spread.batch_variance += sizes / 32;
  NormRecord<Pairs> record;
  Norm layer;
  layer.path = "norm";
  layer.kind = NormKind::batchnorm;
  const auto out = norm_forward(numbers, layer, in, {32, 1}, record);
  const double fourth = 3 * 31.0 / 33, left = 1 - (fourth - 1) / 31;
  const double apart = 1 - 1 / (31.0 * 31);
  CHECK(out.spread.token_variance == rounded(own + apart * left * left * sizes, 64));
}

// Of nu even levels E 1/|x|^2 is nu/(nu - 2) of 1/E |x|^2; of two it is what SampleOrders has.
TEST_CASE("inverse sizes of samples that differ in size") {
  // Steps of ln t of 0.1 leave exp(-2 pi^2/0.1) of a smooth integrand.
  constexpr double steps = 1e-9;
  for (const double count : {3.0, 4.0, 15.0}) {
    CHECK(inverse_of_levels({{2.0, count}}) == near(count / (count - 2), steps));
    CHECK(inverse_of_levels({{2.0, 1}, {2.0, count - 1}}) == near(count / (count - 2), steps));
  }
  const SampleOrders orders = sample_orders({0.5, 3}, {4, 3}, 1);
  CHECK(inverse_of_levels({{0.5, 9}, {3, 2}}) == near(orders.inverse, steps));
  // Uneven ones are fewer.
  CHECK(inverse_of_levels({{0.027, 1}, {0.065, 1}, {0.180, 1}, {0.728, 1}}) > 3);
}

// 96 samples of 8 words, each as often: 7 directions of one variance, E 1/s^2 = 7/5 of 1/E s^2,
// where 96 independent samples have 95/93. Tokens that keep nothing of their word are those.
TEST_CASE("samples of few words are few samples") {
  auto in = signal(1, 0.2, 48, 48);
  const Counts over{48, 2};
  in.same_words = true;
  constexpr double n = 96;
  in.repeats = in.collision = (1.0 / 8 - 1 / n) / (1 - 1 / n);
  // Steps of ln t.
  constexpr double steps = 1e-9;
  CHECK(inverse_of_words(in, over) == near(7.0 / 5 * 93 / 95, steps));
  in.repeats = 1e-12 * in.collision;
  CHECK(inverse_of_words(in, over) == near(1, steps));
  in.repeats = 0;
  CHECK(inverse_of_words(in, over) == 1);
}
