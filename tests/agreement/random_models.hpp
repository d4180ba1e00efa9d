#pragma once

#include <cstdint>

#include "random_draws.hpp"
#include "scalecalc/network.hpp"

/// Random networks: every kind, placement, norm, scheme and layer of the registry in shapes
/// down to one head, one feature a head and two tokens. A model file of each is model_text(spec).
namespace scalecalc::random_models {

/// The model number `index` of this seed, the same on every machine. It is valid.
ModelSpec random_model(std::uint64_t seed, std::uint64_t index);

/// A transformer of common parts, sizes and inputs: 1 to 8 blocks of 24 to 96 features, every
/// placement but skipinit and fixup, with and without a mask, gates, norms of heads and dropout.
ModelSpec common_transformer(std::uint64_t seed, std::uint64_t index);

/// One of a kind.
ModelSpec random_transformer(Draws& draw);
ModelSpec random_mlp(Draws& draw);
ModelSpec random_layers(Draws& draw);

/// What all kinds share: the name of an activation or an expression; the input of spec.kind, and
/// of the model's memory; loss, initial weights, biases, affine norms, parametrisation.
std::string random_activation(Draws& draw);
void draw_input(Draws& draw, ModelSpec& spec);
void draw_loss(Draws& draw, ModelSpec& spec);
void draw_init(Draws& draw, ModelSpec& spec);
NormKind random_norm(Draws& draw, const ModelSpec& spec);

/// Of a transformer's attention; scaling and relative biases behind what they depend on: the width
/// of heads, and class tokens.
void draw_attention(Draws& draw, ModelSpec& spec);
void draw_rotary_scaling(Draws draw, ModelSpec& spec);
void draw_relative(Draws draw, ModelSpec& spec);

/// A norm over the samples of a feature has a gradient of finite variance from this many on.
constexpr std::int64_t fewest_samples = 4;

/// Work of one pass: weights times the tokens that meet them.
double work_of(const ModelSpec& spec);

}  // namespace scalecalc::random_models
