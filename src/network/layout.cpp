#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/machine.hpp"
#include "network/frames.hpp"
#include "network/parts.hpp"
#include "network/validate.hpp"

namespace scalecalc {
namespace {

/// Counts stay exact in a double. What passes can hold is theirs to say.
constexpr double max_parameters = 1e15;
constexpr double max_layers = 3e6;
constexpr double layer_bytes = 1024;  // as measured

/// Of the only stack, or of the encoder, and of the decoder of two.
struct Blocks {
  std::int64_t first = 1, decoder = 0;
};
Blocks blocks_of(const ModelSpec& spec) {
  return {spec.layers, spec.encoder_decoder ? decoder_depth(spec) : 0};
}

/// The network of the spec's scales with the first `blocks` of its blocks.
Network lay_out(const Parts& parts, const Blocks& blocks) {
  const ModelSpec& spec = parts.spec();
  Network network;
  network.input = spec.input.kind;
  network.sequence = spec.sequence - spec.class_tokens;
  network.batch = spec.batch;
  network.input_second = spec.input.second;
  network.input_cross = spec.input.cross;
  network.zipf = spec.input.zipf;
  if (uses_memory(spec)) network.memory_sequence = memory_frames(spec);
  network.memory_features = spec.memory.features;
  network.memory_second = spec.memory.second;
  network.memory_cross = spec.memory.cross;
  if (spec.modulation != AdaptiveNorm::none) {
    network.condition_features = spec.condition.features;
    network.condition_second = spec.condition.second;
    network.condition_cross = spec.condition.cross;
  }
  network.logit_softcap = spec.logit_softcap;
  network.loss = spec.loss;
  network.target_second = spec.target_second;
  network.reduction = spec.reduction;
  const bool is_transformer = spec.kind == ModelSpec::Kind::transformer;
  network.features = !is_transformer        ? spec.features
                     : spec.input.patch > 0 ? spec.input.patch
                                            : spec.width;
  switch (spec.kind) {
    case ModelSpec::Kind::transformer:
      if (spec.encoder_decoder)
        add_encoder_decoder(spec, blocks.first, blocks.decoder, network.layers);
      else
        add_transformer(parts, blocks.first, network.layers);
      break;
    case ModelSpec::Kind::mlp: add_mlp(parts, blocks.first, network.layers); break;
    case ModelSpec::Kind::layers: add_layer_list(parts, network.layers); break;
  }
  network.classes = std::get<Linear>(network.layers.back().op).fan_out;
  return network;
}

/// Both counts grow by the same number with every block of a stack after the second (an mlp's first
/// differs).
Extent extent_of_blocks(const Parts& parts) {
  const Blocks all = blocks_of(parts.spec());
  const Blocks few{std::min<std::int64_t>(all.first, 2), std::min<std::int64_t>(all.decoder, 2)};
  const auto extent = [&](const Blocks& blocks) {
    return extent_of(lay_out(parts, blocks).layers, parts.spec().sequence);
  };
  const Extent least = extent(few);
  Extent total = least;
  const auto add = [&](std::int64_t more, const Blocks& with_one) {
    if (more == 0) return;
    const Extent one = extent(with_one);
    total.layers += static_cast<double>(more) * (one.layers - least.layers);
    total.parameters += static_cast<double>(more) * (one.parameters - least.parameters);
  };
  add(all.first - few.first, {few.first + 1, few.decoder});
  add(all.decoder - few.decoder, {few.first, few.decoder + 1});
  return total;
}

}  // namespace

void check_extent(const Extent& extent, const std::string& hint) {
  const bool heavy = extent.parameters > max_parameters;
  if (!heavy && !(extent.layers > max_layers))
    return base::check_memory(fmt::format("a network of {:.0f} laid-out layers", extent.layers),
                              layer_bytes * extent.layers, {}, hint);
  throw Error(
      ErrorKind::input,
      fmt::format("a network of {:.0f} {} is too large: the limit is {:.0f}",
                  heavy ? extent.parameters : extent.layers,
                  heavy ? "parameters" : "laid-out layers", heavy ? max_parameters : max_layers),
      {}, hint);
}

Network build_network(const ModelSpec& spec) {
  validate(spec);
  const Parts parts(spec);
  if (spec.kind != ModelSpec::Kind::layers) {
    const Extent extent = extent_of_blocks(parts);
    const double fit = std::floor(static_cast<double>(spec.layers) * max_layers / extent.layers);
    const std::string hint =
        extent.layers > max_layers && !(extent.parameters > max_parameters)
            ? fmt::format("about {:.0f} layers of this model fit", fit)
            : fmt::format("use fewer layers than {} or a smaller width", spec.layers);
    check_extent(extent, hint);
  }
  return lay_out(parts, blocks_of(spec));
}

}  // namespace scalecalc
