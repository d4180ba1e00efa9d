#include "moments/layers/residual.hpp"

#include <cmath>

#include "support.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

namespace {

/// Blocks of one linear branch each, which keep the second moment at 1; gradients through branches
/// are as large as on the skip, so weights of the identity path are read from the norms' shares.
std::string transformer(const std::string& placement, int layers, const std::string& more = "") {
  return "model = {kind=\"transformer\", layers=" + std::to_string(layers) +
         ", width=4096, heads=32, ffn=8192, sequence=8, activation=\"relu\", placement=\"" +
         placement + "\"" + more + "}\n[init]\ngain = { ffn_in = 1.4142135623730951 }\n";
}

}  // namespace

TEST_CASE("skip and branch add with their squares; two means add their product") {
  Numbers numbers = calculus();
  Residual layer;
  layer.skip = 2;
  layer.branch = 3;
  auto x = signal(1, 0.5, 64), f = signal(0.5, 0.2, 64);
  x.x.mean = 0.1;
  f.x.mean = 0.2;
  const auto y = residual_forward(numbers, layer, x, f, {8, 1});
  CHECK(y.x.mean == rounded(0.8, 64));
  CHECK(y.x.second == rounded(4 + 4.5 + 12 * 0.02, 64));
  CHECK(y.x.cross == rounded(2 + 1.8 + 12 * 0.02, 64));
}

// y = x + b F of independent x and F with means: E F y = mu_F mu_x + b m_F; behind a layernorm
// y and F count about their means alone, and F = y itself is all along y.
TEST_CASE("a branch scale sees of the branch what a norm left of the gradient") {
  const Pairs x{0.5, 1, 0.4, 0.3}, f{0.6, 0.8, 0.5, 0.4};
  const double b = 0.2;
  const Pairs y{x.mean + b * f.mean, x.second + b * b * f.second + 2 * b * x.mean * f.mean,
                x.cross + b * b * f.cross + 2 * b * x.mean * f.mean,
                x.between + b * b * f.between + 2 * b * x.mean * f.mean};
  NormDirections g;
  const Pairs all = across_sum(f, y, b, g);
  CHECK(all.second == rounded(f.second, 64));
  CHECK(all.cross == rounded(f.cross, 64));
  g.radial = 0;
  const auto rest = [&](double ff, double yy, double s) {
    return ff - 2 * s * (f.mean * x.mean + b * ff) + s * s * yy;
  };
  const double s = (f.mean * x.mean + b * f.second) / y.second;
  const Pairs rms = across_sum(f, y, b, g);
  CHECK(rms.second == rounded(rest(f.second, y.second, s), 64));
  CHECK(rms.cross == rounded(rest(f.cross, y.cross, s), 64));
  CHECK(rms.between == rounded(rest(f.between, y.between, s), 64));
  g.mean = 0;
  // A stream without anything about its mean but b F.
  const double flat = 0.3;
  const double m = flat + b * f.mean, variance = f.second - f.mean * f.mean;
  const Pairs only{m, m * m + b * b * variance, m * m + b * b * (f.cross - f.mean * f.mean), m * m};
  CHECK(std::fabs(across_sum(f, only, b, g).second) < rounding(64));
}

// s^2 -> (s + K s_in)^2 + 2 D D_F/d + noise.
TEST_CASE("the overlap of a sum moves with the stream's own") {
  const double s = 0.1, own = 0.03, noise = 0.002, D = 0.7, DF = 0.4, d = 50;
  const Overlap<double> sum =
      overlap_of_sum(Overlap<double>{s, 0}, Overlap<double>{own, noise}, 1.0, 0.0, 1.0, D, DF, d);
  CHECK(sum.noise == 0);
  CHECK(sum.variance() == rounded((s + own) * (s + own) + 2 * D * DF / d + noise, 64));
}

// Where masks make all of the overlaps, those of a branch that follows the stream add up with its
// own as all do.
TEST_CASE("what masks make of overlaps adds up as overlaps do") {
  Numbers numbers = calculus();
  auto x = signal(1, 0.2, 64), f = signal(0.5, 0.1, 64);
  x.overlap = {0.1, 0};
  x.mask_overlap = 0.01;
  for (const double noise : {0.0, 0.003}) {
    f.overlap = {0.04, noise};
    f.mask_overlap = f.overlap.variance();
    const double a2 = 4, b2 = 0.25, together = a2 * 0.1 + b2 * 0.04;
    CHECK(mask_of_sum(numbers, x, f, a2, b2) == rounded(together * together + b2 * b2 * noise, 64));
  }
  f.mask_overlap = 0;
  CHECK(mask_of_sum(numbers, x, f, 1, 1) == rounded(0.01, 64));
}

TEST_CASE(
    "a Pre-Norm stream grows by its branches: layer by layer by the ffn's 1 and attention's") {
  const Trace trace = trace_of_model(transformer("pre", 10));
  double stream = site(trace, "input").second.value;
  for (int l = 0; l < 10; ++l) {
    const std::string block = "block[" + std::to_string(l) + "]";
    stream += site(trace, block + ".attn.o").second.value;
    CHECK(site(trace, block + ".attn").second.value == near(stream));
    stream += site(trace, block + ".ffn.out").second.value;
    CHECK(site(trace, block + ".ffn").second.value == near(stream));
    CHECK(site(trace, block + ".ffn.out").second.value == near(1, by_interpolation));
  }
}

// A branch without gain passes neither signal nor gradient: what is left is the identity path.
TEST_CASE("the identity path of Post-Norm keeps 1/(1 + b) of the gradient a sublayer") {
  const Trace trace = trace_of_model(transformer("post", 6));
  for (int l = 1; l < 6; ++l) {
    const std::string block = "block[" + std::to_string(l) + "]";
    const double branch = site(trace, block + ".ffn.out").second.value;
    const Site& after = site(trace, block + ".ffn");
    const Site& out = site(trace, block + ".ffn.out");
    // d >> 1: the norm leaves 1/(1 + b) of what comes; half where the branch is a unit one.
    CHECK(branch == near(1, by_interpolation));
    CHECK(out.grad_second.value / after.grad_second.value == near(0.5, 5.0 / 4096));
  }
}

TEST_CASE("DeepNorm's skip enters squared") {
  const Trace trace = trace_of_model(transformer("post", 4, ", alpha=3"));
  const Site& after = site(trace, "block[2].ffn");
  const Site& out = site(trace, "block[2].ffn.out");
  CHECK(out.grad_second.value / after.grad_second.value == near(1.0 / 10, 5.0 / 4096));
}

// m = 2 + 2 cov, cov = [2^(-l/2) + sum_{j=1..l} 2^(-j/2)]/sqrt(l+1) for unit branches
// (docs/theory/layers.md#dual-stream).
TEST_CASE("ResiDual's two streams are correlated through their branches") {
  const int layers = 8;
  const Trace trace = trace_of_model(
      "model = {kind=\"transformer\", layers=8, width=4096, heads=32, ffn=8192, sequence=1, "
      "activation=\"relu\", placement=\"resi-dual\"}\n[init]\ngain = { ffn_in = "
      "1.4142135623730951 }\n");
  const int l = 2 * layers;
  double cov = std::pow(2.0, -l / 2.0);
  for (int j = 1; j <= l; ++j) cov += std::pow(2.0, -j / 2.0);
  cov /= std::sqrt(l + 1.0);
  const Site& dual = site(trace, "dual");
  CHECK(dual.second.value == near(2 + 2 * cov, 1e-6));
}
