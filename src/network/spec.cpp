#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "network/layer_spec.hpp"
#include "network/parts.hpp"
#include "network/validate.hpp"

namespace scalecalc {
namespace {

using Symbols = std::map<std::string, Expr>;

std::optional<Expr> put(const std::optional<Expr>& formula, const Symbols& values) {
  return formula ? std::optional(substitute(*formula, values)) : std::nullopt;
}

/// Of a stack alone, which sees what was made of them.
void leave_out_frames(ModelSpec::Memory& memory) {
  const ModelSpec::Memory none;
  memory.features = none.features;
  memory.conv_kernel = none.conv_kernel;
  memory.conv_strides = none.conv_strides;
  memory.sinusoids = none.sinusoids;
}

}  // namespace

bool uses_memory(const ModelSpec& spec) {
  if (spec.kind != ModelSpec::Kind::layers) return spec.cross_attention || spec.encoder_decoder;
  return any_layer(spec.layer_list, [](const LayerSpec& layer) { return layer.memory; });
}

Biases biases_of(const ModelSpec& spec) {
  const bool o = spec.attention_bias.value_or(spec.bias), qkv = spec.qkv_bias.value_or(o);
  return {qkv,
          spec.k_bias.value_or(qkv),
          o,
          spec.ffn_bias.value_or(spec.bias),
          spec.head_bias,
          spec.input.patch > 0 && spec.patch_bias.value_or(spec.bias)};
}

bool norms_sums(Placement placement) {
  return placement == Placement::post || placement == Placement::branchnorm ||
         placement == Placement::ngpt;
}

bool has_input_norm(const ModelSpec& spec) {
  return spec.input.norm.value_or(norms_sums(spec.placement));
}

std::int64_t table_width(const ModelSpec& spec) {
  return spec.input.embedding_width != 0 ? spec.input.embedding_width : spec.width;
}

std::int64_t head_width(const ModelSpec& spec) {
  return spec.head_width != 0 ? spec.head_width : spec.width / spec.heads;
}

ModelSpec default_spec(ModelSpec::Kind kind) {
  ModelSpec spec;
  spec.kind = kind;
  if (kind == ModelSpec::Kind::transformer) return spec;
  spec.norm = NormKind::none;
  spec.placement = Placement::none;
  if (kind == ModelSpec::Kind::mlp) return spec;
  spec.layers = 1;
  spec.vocab = 0;
  return spec;
}

std::int64_t decoder_depth(const ModelSpec& spec) {
  const auto n = static_cast<double>(spec.layers);
  const double depth = formula_value(spec.decoder_layers, {{"N", n}}, "decoder_layers");
  const double rounded = depth > 0 ? std::max(1.0, std::round(depth)) : depth;
  const bool whole = !spec.decoder_layers.is_number() || rounded == depth;
  if (whole && rounded >= 1 && rounded <= 1e6) return static_cast<std::int64_t>(rounded);
  throw Error(ErrorKind::input,
              fmt::format("decoder_layers must be a whole number from 1 to 1000000, got {}", depth),
              {}, "for example decoder_layers = 6, or \"N/3\" of N layers of the encoder");
}

ModelSpec encoder_of(const ModelSpec& spec) {
  ModelSpec stack = spec;
  stack.encoder_decoder = stack.cross_attention = stack.causal = false;
  stack.head_classes = 0;  // its end is the memory
  stack.alibi = 0;
  stack.window = 0;
  stack.window_pattern = "L";
  stack.rotary_local_base = 0;
  const Symbols depths = {{"M", Expr(decoder_depth(spec))}};
  stack.alpha = put(spec.alpha, depths);
  stack.lambda = put(spec.lambda, depths);
  stack.sequence = spec.memory.sequence;
  if (spec.memory.features > 0) {
    stack.tie_head = stack.head_transform = false;
    stack.input = {};
    leave_out_frames(stack.memory);
  }
  stack.input.second = spec.memory.second;
  stack.input.cross = spec.memory.cross;
  return stack;
}

ModelSpec decoder_of(const ModelSpec& spec) {
  ModelSpec stack = spec;
  stack.encoder_decoder = false;
  stack.cross_attention = true;
  stack.layers = decoder_depth(spec);
  leave_out_frames(stack.memory);
  const ModelSpec encoder = encoder_of(spec);
  const Symbols depth = {{"N", Expr(spec.layers)}};
  // M is the N of a stack of its own.
  Symbols symbols = {{"N", Expr(spec.layers)}, {"M", Expr::symbol("N")}};
  const auto scale = [&](const std::optional<Expr>& own) -> std::optional<Expr> {
    if (!own) return own;
    for (const auto& [name, formula] :
         {std::pair{"alpha", encoder.alpha}, {"lambda", encoder.lambda}}) {
      if (!own->contains(name)) continue;
      if (!formula) return std::nullopt;  // as the encoder's, it is solved for its own depth
      symbols.insert_or_assign(name, substitute(*formula, depth));
    }
    return substitute(*own, symbols);
  };
  stack.alpha = scale(spec.decoder_alpha);
  stack.lambda = scale(spec.decoder_lambda);
  return stack;
}

}  // namespace scalecalc
