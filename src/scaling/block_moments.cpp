#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "network/weights.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/moments.hpp"
#include "scaling/depth_law.hpp"

namespace scalecalc {
namespace {

/// Deep enough that what the head's gradient brings has died out half way down.
constexpr std::int64_t kLayers = 32;
/// Tokens that are all alike say the same however many they are.
constexpr std::int64_t kTokens = 24;

/// Size of the stream behind one branch, of the gradient there, and the variance of its logarithm.
struct Station {
  double second = 0;
  double log_gradient = 0, spread = 0;
};

/// The part of the gradient that tokens share, (g + (T - 1) k)/T, of the typical draw: the mean of
/// its square over draws is e^(spread/2) times that.
Station station_of(const Site& site) {
  const double tokens = static_cast<double>(site.tokens);
  const double cross = site.tokens > 1 ? site.grad_cross.value : 0;
  const double shared = (site.grad_second.value + (tokens - 1) * cross) / tokens;
  return {site.second.value, std::log(shared) - site.grad_spread / 2, site.grad_spread};
}

std::vector<Station> stations_of(const Network& network, const Trace& trace) {
  std::unordered_map<std::string, const Site*> sites;
  for (const Site& site : trace.sites) sites[site.path] = &site;
  std::vector<Station> stations;
  for (const Layer& layer : network.layers)
    if (const auto* residual = std::get_if<Residual>(&layer.op))
      stations.push_back(station_of(*sites.at(residual->path)));
  return stations;
}

/// alpha = lambda = 1, and tokens that are all alike: attention draws them to that state, in which
/// it passes its values on as they are.
ModelSpec plain_stack(const ModelSpec& spec) {
  ModelSpec plain = spec;
  plain.layers = kLayers;
  plain.alpha = plain.lambda = Expr(1);
  plain.ramp = 1;
  plain.sequence = std::min(spec.sequence, kTokens);
  plain.memory.sequence = std::min(spec.memory.sequence, kTokens);
  plain.tie_head = false;
  plain.head_classes = 0;
  plain.input.kind = InputKind::gaussian;
  plain.input.cross = plain.input.second;
  plain.input.zipf = plain.input.positions = 0;
  plain.input.segments = plain.input.embedding_width = 0;
  plain.input.multiplier = 1;
  plain.memory.cross = plain.memory.second;
  return plain;
}

Rational rounded(double value, int decimals) {
  const Rational unit = pow(Expr(10), Expr(decimals)).number();
  return Rational(static_cast<std::int64_t>(std::llround(value * unit.to_double()))) / unit;
}

/// To two significant digits.
Rational shortened(double value) {
  return rounded(value, 1 - static_cast<int>(std::floor(std::log10(value))));
}

}  // namespace

BlockMoments block_moments(const ModelSpec& spec) {
  if (spec.encoder_decoder) return block_moments(encoder_of(spec));
  if (!spec.norm_scale.is_one())
    throw Error(ErrorKind::input,
                "what a block adds is found for blocks that are alike, and norm_scale is not the "
                "same in all",
                "norm_scale", "leave norm_scale out");
  if (spec.modulation != AdaptiveNorm::none)
    throw Error(ErrorKind::input,
                "what a block adds is found without a condition, and modulation gates it by one",
                "modulation", "leave modulation out");
  if (spec.norm == NormKind::dyt)
    throw Error(ErrorKind::input,
                "what a block adds is found beside norms, and dyt divides by nothing", "norm",
                "layernorm or rmsnorm");
  BlockMoments moments;
  moments.bounded_scores = spec.qk_norm || spec.sequence == 1;
  const Block block = block_of(spec.placement);
  const StreamGrowth growth = stream_growth(block);
  if (growth == StreamGrowth::multiplied) return moments;

  const Network network = build_network(plain_stack(spec));
  const std::vector<Station> stations = stations_of(network, propagate(network));
  const std::size_t layer = stations.size() / kLayers, last = stations.size() - 1;
  const Station& low = stations[layer - 1];
  if (growth == StreamGrowth::held) {
    const Station& middle = stations[layer * (kLayers / 2) - 1];
    const double layers = kLayers / 2 - 1;
    moments.rate = rounded((low.log_gradient - middle.log_gradient) / layers, 4);
    moments.spread = rounded((low.spread - middle.spread) / layers, 4);
    return moments;
  }
  const double first = spec.input.second, count = static_cast<double>(sublayers(spec) * kLayers);
  moments.growth = shortened((stations[last].second / first - 1) / count);
  moments.kappa = rounded((low.log_gradient - stations[last].log_gradient) /
                              std::log(stations[last].second / low.second),
                          2);
  return moments;
}

}  // namespace scalecalc
