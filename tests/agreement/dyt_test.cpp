#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "scalecalc/moments.hpp"
#include "scalecalc/passes.hpp"

using namespace scalecalc;

// The gradient of alpha is one number a draw, of which verify compares logarithms; here means of
// its square over many draws of small networks.

namespace {

constexpr int seeds = 800;

struct Mean {
  double value = 0, error = 0;
};
Mean mean_of(const std::vector<double>& samples) {
  double sum = 0, squares = 0;
  for (const double one : samples) sum += one;
  const double mean = sum / static_cast<double>(samples.size());
  for (const double one : samples) squares += (one - mean) * (one - mean);
  const auto count = static_cast<double>(samples.size());
  return {mean, std::sqrt(squares / count / (count - 1))};
}

void agrees(const std::string& model, const std::string& rest = "") {
  const std::string text =
      "[model]\nlayers = 2\nwidth = 48\nheads = 4\nffn = 96\nvocab = 40\nsequence = 8\n"
      "norm = \"dyt\"\nnorm_affine = true\n" +
      model + "\n" + rest;
  CAPTURE(text);
  const Network network = build_network(parse_model(text, "test"));
  const Trace trace = propagate(network);
  const PassSamples passes = sample_passes(network, {}, seeds);
  REQUIRE(trace.parameters.size() == passes.parameters.size());
  int compared = 0;
  for (std::size_t i = 0; i < trace.parameters.size(); ++i) {
    const ParameterMoments& said = trace.parameters[i];
    if (!said.path.ends_with(".alpha")) continue;
    const Mean seen = mean_of(passes.parameters[i].grad_second);
    // Orders 1/width are left out: of some five matrices and sums on the way.
    const double next_order = 5.0 / 48 * said.grad_second.value;
    INFO(said.path << " said " << said.grad_second.value << " seen " << seen.value << " +- "
                   << seen.error);
    CHECK(std::fabs(said.grad_second.value - seen.value) <
          4 * seen.error + next_order + said.grad_second.truncation);
    ++compared;
  }
  CHECK(compared >= 4);
}

}  // namespace

TEST_CASE("the gradient of dyt's alpha") {
  agrees("placement = \"pre\"");
  agrees("placement = \"pre\"\nnorm_alpha = 1.5\ncausal = true\nbatch = 2", "[input]\ncross = 0.5");
  agrees("placement = \"post\"\nnorm_alpha = 1");
  agrees("placement = \"res-post\"\nactivation = \"relu\"\ndropout = 0.1");
  agrees("placement = \"sub-ln\"\nactivation = \"relu\"", "[input]\nkind = \"tokens\"");
}
