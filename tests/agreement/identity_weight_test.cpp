#include <cmath>
#include <string>

#include "scalecalc/moments.hpp"
#include "scalecalc/scaling.hpp"
#include "support.hpp"

/// The identity weight beside passes: a sum around the whole stack, x + y, has the second moment
/// E x^2 + E y^2 + 2 E xy, and E xy over the sizes is the cosine of the stack's end with its input
/// (docs/theory/scaling.md#depth-profile).
namespace scalecalc {
namespace {

constexpr int kWidth = 128, kDraws = 64;

std::string sum_at(const std::string& at, const std::string& norm, bool attends) {
  const auto layer = [&](const std::string& fields) {
    return "[[" + at + ".layers]]\n" + fields + "\n";
  };
  std::string text = "[[" + at + "]]\ntype = \"residual\"\nskip = \"alpha\"\n";
  if (norm == "behind") text += "norm = \"rmsnorm\"\n";
  if (norm == "before") text += layer("type = \"norm\"");
  if (attends) return text + layer("type = \"attention\"\nheads = 4");
  return text + layer("type = \"linear\"\nwidth = 256") + layer("type = \"activation\"") +
         layer("type = \"linear\"\nwidth = 128");
}

/// Four sums, in a sum around them all or by themselves.
Network stack_of_sums(const std::string& norm, double alpha, bool around) {
  std::string text =
      "[model]\nkind = \"layers\"\nfeatures = 128\nsequence = 8\nbatch = 2\nclasses = 8\n"
      "activation = \"relu\"\nnorm = \"rmsnorm\"\nnorm_affine = false\nalpha = " +
      std::to_string(alpha) + "\nlambda = 1\n[input]\ncross = 0.2\n";
  if (around) text += "[[layer]]\ntype = \"residual\"\nname = \"whole\"\n";
  for (int i = 0; i < 2; ++i)
    for (const bool attends : {true, false})
      text += sum_at(around ? "layer.layers" : "layer", norm, attends);
  text += "[[layer]]\ntype = \"linear\"\nwidth = 8\n";
  return build_network(parse_model(text, "sums.toml"));
}

const SiteSamples& samples_at(const PassSamples& samples, const std::string& path) {
  for (const SiteSamples& site : samples.sites)
    if (site.path == path) return site;
  FAIL("no site " << path);
  return samples.sites.front();
}

}  // namespace

TEST_CASE("the identity weight is the cosine of the end with the input that passes have") {
  struct Case {
    const char* norm;
    double alpha;
  };
  for (const Case& one : {Case{"behind", 1}, Case{"behind", 2}, Case{"before", 1}}) {
    const std::string norm = one.norm;
    CAPTURE(norm);
    CAPTURE(one.alpha);
    const Network plain = stack_of_sums(norm, one.alpha, false);
    const DepthProfile predicted = depth_profile(plain, propagate(plain));
    const Network around = stack_of_sums(norm, one.alpha, true);
    const PassSamples samples = sample_passes(around, {}, kDraws);
    const SiteSamples &whole = samples_at(samples, "whole"), &x = samples_at(samples, "input"),
                      &y = samples_at(samples, "whole.residual[3]");
    double sum = 0, squares = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double both = 0.5 * (whole.second[i] - x.second[i] - y.second[i]);
      const double cosine = both / std::sqrt(x.second[i] * y.second[i]);
      sum += cosine;
      squares += cosine * cosine;
    }
    const double measured = sum / kDraws;
    const double error = std::sqrt((squares / kDraws - measured * measured) / (kDraws - 1));
    // A token's x.F scatters by 1/width of its sum, and each sum is divided by its size.
    const double left_out = predicted.identity_weight * 4 / kWidth;
    CAPTURE(measured);
    CAPTURE(predicted.identity_weight);
    CAPTURE(error);
    CHECK(std::abs(measured - predicted.identity_weight) < 4 * error + left_out);
    CHECK(predicted.identity_weight < 0.9);
  }
}

}  // namespace scalecalc
