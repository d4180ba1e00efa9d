#include "scalecalc/moments.hpp"
#include "scalecalc/tensor.hpp"
#include "support.hpp"

/// How far the gradient of a weight strays over draws: the variance of its logarithm, and the
/// typical value, which is e^(-variance/2) of the mean.
namespace scalecalc {
namespace {

struct Logs {
  double mean = 0, variance = 0;
};
Logs logs_of(const std::vector<double>& samples) {
  Logs made;
  const auto n = static_cast<double>(samples.size());
  for (const double x : samples) made.mean += std::log(x) / n;
  for (const double x : samples) {
    const double apart = std::log(x) - made.mean;
    made.variance += apart * apart / (n - 1);
  }
  return made;
}

struct Figures {
  double variance = 0, measured = 0;  ///< of one weight
  double typical = 0;                 ///< ln of measured over predicted
};
std::vector<Figures> figures_of(const ModelSpec& spec, int draws) {
  const Network network = build_network(spec);
  const Trace predicted = propagate(network);
  const PassSamples passes = sample_passes(network, {0, 2, "cpu"}, draws, true);
  std::vector<Figures> all;
  for (std::size_t k = 0; k < predicted.parameters.size(); ++k) {
    const ParameterMoments& at = predicted.parameters[k];
    const Logs logs = logs_of(passes.parameters[k].grad_second);
    const double typical = std::log(at.grad_second.value) - at.grad_spread / 2;
    all.push_back({at.grad_spread, logs.variance, logs.mean - typical});
  }
  return all;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

ModelSpec collapsing(NormKind norm, const std::string& activation) {
  ModelSpec spec = small_transformer(Placement::post, norm);
  spec.layers = 10;
  spec.width = spec.ffn = 128;
  spec.vocab = 64;
  spec.sequence = 20;
  spec.input.cross = 0;
  spec.activation = activation;
  spec.gated = activation == "silu";
  return spec;
}

/// Variances are known to (2/(n - 1))^(1/2), four of which are allowed, and are of first order in
/// 1/d: a quarter more or less, of what is up to 0.7 here.
void check_strays(const ModelSpec& spec) {
  constexpr int draws = 300;
  // The two errors above.
  const double allowed = 0.25 + 4 * std::sqrt(2.0 / (draws - 1));
  std::vector<double> typical;
  for (const Figures& one : figures_of(spec, draws)) {
    if (one.measured > 0.05) CHECK(one.variance == doctest::Approx(one.measured).epsilon(allowed));
    typical.push_back(std::abs(one.typical));
  }
  // 4% asked for, and twice the error of a typical value, (0.5/n)^(1/2): all weights share it.
  CHECK(median(typical) < 0.04 + 2 * std::sqrt(0.5 / draws));
}

TEST_CASE("gradients of plain post-norm stray as predicted past the collapse") {
  check_strays(collapsing(NormKind::layernorm, "gelu"));
  check_strays(collapsing(NormKind::rmsnorm, "relu"));
  check_strays(collapsing(NormKind::layernorm, "silu"));
}

/// The first key of a causal mask stays apart from the others, which become one: gradients into
/// scores are quadratic in how far keys are apart, and were four times too small at the top.
TEST_CASE("keys that are not alike carry most of what comes back through causal scores") {
  constexpr int draws = 400;
  ModelSpec spec = collapsing(NormKind::layernorm, "gelu");
  spec.causal = true;
  const Network network = build_network(spec);
  const Trace predicted = propagate(network);
  const PassSamples passes = sample_passes(network, {0, 2, "cpu"}, draws, true);
  for (std::size_t k = 0; k < predicted.parameters.size(); ++k) {
    const ParameterMoments& at = predicted.parameters[k];
    if (!at.path.ends_with("attn.q.weight") && !at.path.ends_with("attn.k.weight")) continue;
    double mean = 0, square = 0;
    for (const double x : passes.parameters[k].grad_second) mean += x / draws;
    for (const double x : passes.parameters[k].grad_second)
      square += (x - mean) * (x - mean) / (draws - 1);
    CAPTURE(at.path);
    // Draws of variance 2 in the logarithm: the standard error decides.
    CHECK(std::abs(mean - at.grad_second.value) <
          0.3 * at.grad_second.value + 4 * std::sqrt(square / draws));
  }
}

}  // namespace
}  // namespace scalecalc
