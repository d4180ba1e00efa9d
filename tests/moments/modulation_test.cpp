#include "moments/layers/modulation.hpp"

#include <random>
#include <string>

#include "sample.hpp"
#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

std::string dit(const char* kind, const char* rest = "") {
  return std::string(
             "model = {kind=\"transformer\", layers=2, width=48, heads=4, ffn=96, "
             "vocab=20, sequence=6, batch=3, placement=\"pre\", modulation=\"") +
         kind + "\"}\ncondition = {features=32, cross=0.25" + rest + "}\n";
}

}  // namespace

TEST_CASE("factors and shifts of a sample, alike for its tokens") {
  const Trace trace = trace_of_model(dit("adaln"));
  const Site &x = site(trace, "block[1].ffn.norm"),
             &s = site(trace, "block[1].ffn.modulation.scale"),
             &t = site(trace, "block[1].ffn.modulation.shift"),
             &y = site(trace, "block[1].ffn.modulated");
  CHECK(s.tokens == 1);
  CHECK(y.second.value == near((1 + s.second.value) * x.second.value + t.second.value));
  CHECK(y.cross.value == near((1 + s.second.value) * x.cross.value + t.second.value));
  CHECK(y.between == near((1 + s.between) * x.between + t.between));
  // Maps of lecun's variance have the moments of what they read.
  const Site& c = site(trace, "condition.activated");
  CHECK(s.second.value == near(c.second.value));
  CHECK(s.between == near(c.between));
  CHECK(t.second.value == near(c.second.value));
}

TEST_CASE("a table of labels adds its variance, and to two samples by the chance of one label") {
  const Trace without = trace_of_model(dit("adaln")),
              with = trace_of_model(dit("adaln", ", classes=5, class_std=0.5"));
  const Site &before = site(without, "condition"), &after = site(with, "condition");
  CHECK(after.second.value == near(before.second.value + 0.25));
  CHECK(after.between == near(before.between + 0.05));
  CHECK(parameter(with, "condition.class").grad_second.value > 0);
}

TEST_CASE("gates of adaLN-zero leave the stream as it is, and only their own maps have gradients") {
  const Trace trace = trace_of_model(dit("adaln-zero", ", classes=5"));
  const Site &first = site(trace, "block[0].attn"), &last = site(trace, "block[1].ffn");
  CHECK(first.second.value == 1);
  CHECK(last.second.value == 1);
  CHECK(first.grad_second.value == last.grad_second.value);
  for (const ParameterMoments& at : trace.parameters) {
    CAPTURE(at.path);
    const bool gate = at.path.find(".modulation.gate.") != std::string::npos;
    const bool behind = at.path.starts_with("final_norm.") || at.path.starts_with("head.");
    CHECK((at.grad_second.value > 0) == (gate || behind));
  }
}

TEST_CASE("sizes of tokens by factors and shifts, against draws of Gaussian features") {
  using moments::SampleFactors;
  constexpr int features = 400000;
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  for (const double base : {0.0, 1.0}) {
    const double sigma = 0.8, tau = base * 0.6, mix = 0.5;
    // Of one feature y_t^2 y_u^2 of two tokens of a sample, cosine 1/4.
    Sample own, pair;
    const double r = mix * mix;
    const double size = (base * base + sigma * sigma) + tau * tau;
    for (int i = 0; i < features; ++i) {
      const double common = normal(random), s = base + sigma * normal(random),
                   t = tau * normal(random);
      const double left = mix * common + std::sqrt(1 - r) * normal(random),
                   right = mix * common + std::sqrt(1 - r) * normal(random);
      const double y = left * s + t, z = right * s + t;
      own.add(y * y * y * y);
      pair.add(y * y * z * z);
    }
    const SampleFactors<double> of{base, {0, sigma * sigma, 0, 0}, {0, tau * tau, 0, 0}};
    const double p = of.square();
    const auto sizes = moments::sizes_of_factors(of, {0, 1, r, 0}, 1, {2, 1});
    // Beside what x.x has by itself, 2 p^2 of one token and 2 p^2 r^2 of two.
    const double one = sizes.one * size * size + 2 * p * p + size * size;
    const double two = (2 * sizes.all - sizes.one) * size * size + 2 * p * p * r * r + size * size;
    constexpr double deviations = 4;
    CHECK(std::fabs(own.mean() - one) < deviations * own.standard_error());
    CHECK(std::fabs(pair.mean() - two) < deviations * pair.standard_error());
  }
}
