#include <fmt/format.h>

#include <cmath>

#include "network/layer_list.hpp"
#include "network/layer_spec.hpp"
#include "network/validate.hpp"

namespace scalecalc {
namespace {

constexpr std::int64_t max_tokens = 1000000;

Fan fan(std::int64_t size) {
  return {size, Expr(size)};
}

/// `scheme_out` where the fan-out of the schemes is not the matrix' own.
Linear weight(const Parts& parts, const Place& place, std::int64_t in, std::int64_t out,
              const std::optional<Expr>& scheme_out = {}) {
  const ModelSpec& model = parts.spec();
  const LayerSpec& spec = place.spec;
  WeightRequest request;
  request.role = place.is_head ? "head" : "linear";
  request.in = fan(in);
  request.out = fan(out);
  request.gain = spec.gain.value_or(role_gain(model, request.role, place.in_branch));
  request.variance =
      spec.std ? pow(Expr(Rational::shortest(*spec.std)), 2)
               : scheme_variance(model, request.role, Expr(in), scheme_out.value_or(Expr(out)));
  request.distribution = spec.distribution.value_or(model.init.distribution);
  request.bias = spec.bias.value_or(model.bias && !place.is_head);
  request.in_branch = place.in_branch;
  Linear layer = make_linear(model, request, parts.values());
  layer.path = place.path;
  layer.weight_norm = spec.weight_norm;
  return layer;
}

std::string activation_of(const Parts& parts, const LayerSpec& spec) {
  return spec.activation.empty() ? parts.spec().activation : spec.activation;
}

Layer linear(const Parts& parts, const Place& place, Shape& shape) {
  const Linear layer = weight(parts, place, shape.features, place.spec.width);
  shape.features = place.spec.width;
  return {layer};
}

Layer gated(const Parts& parts, const Place& place, Shape& shape) {
  const Linear both = weight(parts, place, shape.features, place.spec.width);
  Linear gate = at(both, place.path + ".gate");
  shape.features = place.spec.width;
  return {Gated{place.path, activation_of(parts, place.spec), std::move(gate),
                at(both, place.path + ".in")}};
}

Layer attention(const Parts& parts, const Place& place, Shape& shape) {
  const LayerSpec& spec = place.spec;
  const std::int64_t kv_heads = spec.kv_heads == 0 ? spec.heads : spec.kv_heads;
  if (const auto problem = heads_problem(spec.heads, kv_heads, shape.features))
    throw Error(ErrorKind::input, problem->message + " at " + place.path, spec.where,
                problem->hint);
  Attention layer;
  layer.path = place.path;
  layer.heads = spec.heads;
  layer.kv_heads = kv_heads;
  layer.head_width = shape.features / spec.heads;
  layer.causal = spec.causal && !spec.memory;
  layer.over_memory = spec.memory;
  layer.qk_norm = spec.qk_norm;
  layer.residual_attention = spec.residual_attention;
  layer.dropout = spec.dropout;
  const Expr scale = spec.scale.value_or(parts.spec().attention_scale);
  Bindings values = parts.values();
  values["width"] = static_cast<double>(shape.features);
  values["head_width"] = static_cast<double>(layer.head_width);
  layer.scale = formula_value(scale, values, "scale");
  if (!(std::isfinite(layer.scale) && layer.scale > 0))
    throw layer_error(spec, place.path,
                      fmt::format("scale must be finite and positive, got {}", layer.scale),
                      "for example scale = \"1/sqrt(head_width)\"");
  layer.scale_formula = scale;
  const std::int64_t kv_width = kv_heads * layer.head_width;
  Place inner = place;
  const auto part = [&](const char* suffix, std::int64_t out, bool sized) {
    // As in a transformer: lambda reaches what the size of the branch goes by.
    inner.in_branch = place.in_branch && sized;
    Linear made = weight(parts, inner, shape.features, out);
    made.in_branch = place.in_branch;
    made.path = place.path + suffix;
    return made;
  };
  layer.q = part(".q", shape.features, false);
  layer.k = part(".k", kv_width, false);
  layer.v = part(".v", kv_width, true);
  layer.o = part(".o", shape.features, true);
  if (spec.norm && *spec.norm != NormKind::none)
    layer.norm = listed_norm(parts, spec, place.path + ".mix_norm", shape);
  return {layer};
}

/// Fan-in kernel^2 in/groups, fan-out kernel^2 out/(groups stride^2):
/// docs/theory/layers.md#conv-fans.
Layer convolution(const Parts& parts, const Place& place, Shape& shape) {
  const LayerSpec& spec = place.spec;
  if (shape.height == 0)
    throw layer_error(spec, place.path, "its input is no image: " + to_string(shape),
                      "give height in [model], a divisor of sequence");
  if (shape.features % spec.groups != 0 || spec.width % spec.groups != 0)
    throw layer_error(spec, place.path,
                      fmt::format("groups must divide the channels (groups {}, channels {} to {})",
                                  spec.groups, shape.features, spec.width),
                      "use groups = 1");
  if (spec.kernel > std::min(shape.height, shape.width) + 2 * spec.padding)
    throw layer_error(spec, place.path,
                      fmt::format("the kernel of {} is larger than the image of {} with padding {}",
                                  spec.kernel, to_string(shape), spec.padding),
                      fmt::format("use padding = {}", spec.kernel / 2));
  Conv2d layer;
  layer.path = place.path;
  layer.in_channels = shape.features;
  layer.out_channels = spec.width;
  layer.kernel = spec.kernel;
  layer.stride = spec.stride;
  layer.padding = spec.padding;
  layer.groups = spec.groups;
  layer.height = shape.height;
  layer.width = shape.width;
  shape = {spec.width, layer.out_height() * layer.out_width(), layer.out_height(),
           layer.out_width()};
  if (std::max(shape.height, shape.width) > max_tokens || shape.tokens > max_tokens)
    throw layer_error(spec, place.path,
                      fmt::format("an image may have at most {} pixels", max_tokens),
                      "use less padding");
  const Expr area = Expr(spec.kernel) * Expr(spec.kernel);
  layer.weight = weight(
      parts, place, spec.kernel * spec.kernel * (layer.in_channels / spec.groups), spec.width,
      area * Expr(spec.width) / (Expr(spec.groups) * Expr(spec.stride) * Expr(spec.stride)));
  return {layer};
}

Layer embedding(const Parts& parts, const Place& place, Shape& shape) {
  const LayerSpec& spec = place.spec;
  const ModelSpec::Input& input = parts.spec().input;
  shape.features = spec.width;
  return {Embedding{place.path, spec.vocab, spec.width, spec.std.value_or(std::sqrt(input.second)),
                    std::sqrt(input.positions)}};
}

}  // namespace

std::string to_string(const Shape& shape) {
  if (shape.height > 0)
    return fmt::format("{} features at {} x {}", shape.features, shape.height, shape.width);
  return fmt::format("{} features at {} tokens", shape.features, shape.tokens);
}

Norm listed_norm(const Parts& parts, const LayerSpec& spec, const std::string& path,
                 const Shape& shape) {
  const ModelSpec& model = parts.spec();
  const NormKind kind = spec.norm.value_or(model.norm);
  const std::int64_t samples = kind == NormKind::layernorm      ? shape.features
                               : kind == NormKind::instancenorm ? shape.tokens
                               : kind == NormKind::batchnorm    ? shape.tokens * model.batch
                                                                : 2;
  if (samples < 2)
    throw layer_error(spec, path, to_string(kind) + " of a single number is always 0",
                      kind == NormKind::batchnorm ? "use a larger batch" : "use another norm");
  return {path, kind, shape.features, spec.eps.value_or(model.norm_eps),
          spec.affine.value_or(model.norm_affine)};
}

Layer single_layer(const Parts& parts, const Place& place, Shape& shape) {
  const LayerSpec& spec = place.spec;
  switch (spec.type) {
    case LayerSpec::Type::linear: return linear(parts, place, shape);
    case LayerSpec::Type::gated: return gated(parts, place, shape);
    case LayerSpec::Type::attention: return attention(parts, place, shape);
    case LayerSpec::Type::conv2d: return convolution(parts, place, shape);
    case LayerSpec::Type::embedding: return embedding(parts, place, shape);
    case LayerSpec::Type::activation:
      return {ActivationLayer{place.path, activation_of(parts, spec)}};
    case LayerSpec::Type::norm: return {listed_norm(parts, spec, place.path, shape)};
    case LayerSpec::Type::dropout: return {Dropout{place.path, spec.dropout}};
    case LayerSpec::Type::pool: shape = {shape.features, 1, 0, 0}; return {Pool{place.path}};
    case LayerSpec::Type::residual:
    case LayerSpec::Type::repeat: break;
  }
  throw layer_error(spec, place.path, "it contains other layers", "lay those out");
}

}  // namespace scalecalc
