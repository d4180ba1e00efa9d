#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "network/layer_spec.hpp"
#include "network/layers/kinds.hpp"
#include "network/rotary.hpp"

namespace scalecalc {
namespace attention_layer {

template <class Value>
LayerKey rotary_key(const char* name, Value RotaryStretch::*member) {
  return key<LayerSpec>(
      name, 0, [member](auto& spec) -> auto& { return spec.rotary.*member; });
}

std::vector<LayerKey> keys() {
  return joined({norm_keys(),
                 {layer_key("heads", &LayerSpec::heads),
                  layer_key("kv_heads", &LayerSpec::kv_heads),
                  layer_key("head_width", &LayerSpec::head_width),
                  layer_key("causal", &LayerSpec::causal),
                  layer_key("qk_norm", &LayerSpec::qk_norm),
                  layer_key("qk_norm_all", &LayerSpec::qk_norm_all),
                  layer_key("rotary_base", &LayerSpec::rotary_base),
                  layer_key("rotary_fraction", &LayerSpec::rotary_fraction),
                  rotary_key("rotary_scaling", &RotaryStretch::scaling),
                  rotary_key("rotary_factor", &RotaryStretch::factor),
                  rotary_key("rotary_original", &RotaryStretch::original),
                  rotary_key("rotary_low", &RotaryStretch::low),
                  rotary_key("rotary_high", &RotaryStretch::high),
                  rotary_key("rotary_truncate", &RotaryStretch::truncate),
                  rotary_key("rotary_attention", &RotaryStretch::attention),
                  rotary_key("rotary_short", &RotaryStretch::short_factors),
                  rotary_key("rotary_long", &RotaryStretch::long_factors),
                  layer_key("alibi", &LayerSpec::alibi),
                  layer_key("window", &LayerSpec::window),
                  layer_key("softcap", &LayerSpec::softcap),
                  layer_key("residual_attention", &LayerSpec::residual_attention),
                  layer_key("memory", &LayerSpec::memory),
                  layer_key("dropout", &LayerSpec::dropout),
                  layer_formula("scale", &LayerSpec::scale, {"N", "width", "head_width"}),
                  layer_key("q_std", &LayerSpec::q_std),
                  layer_key("k_std", &LayerSpec::k_std),
                  layer_key("v_std", &LayerSpec::v_std),
                  layer_key("o_std", &LayerSpec::o_std)},
                 weight_keys()});
}

void check(const LayerSpec& spec, const std::string& path, const ModelSpec&) {
  check_rate(spec, path);
  if (spec.qk_norm_all && !spec.qk_norm)
    throw layer_error(spec, path,
                      "qk_norm_all says what norms of q and k are over, and there are none",
                      "use qk_norm = true, or leave qk_norm_all out");
  if (spec.residual_attention && spec.memory)
    throw layer_error(spec, path, "residual_attention adds scores between tokens, not of a memory",
                      "leave out residual_attention or memory");
  if (spec.rotary_base != 0 && spec.memory)
    throw layer_error(spec, path, "rotary positions are between tokens, not those of a memory",
                      "leave out rotary_base or memory");
}

/// The sizes and switches, without weights or scale.
Attention plain_attention(const ModelSpec& model, const Place& place, const Shape& shape) {
  const LayerSpec& spec = place.spec;
  const std::int64_t kv_heads = spec.kv_heads == 0 ? spec.heads : spec.kv_heads;
  if (const auto problem = heads_problem({shape.features, spec.heads, kv_heads, spec.head_width}))
    throw Error(ErrorKind::input, problem->message + " at " + place.path, spec.where,
                problem->hint);
  const std::int64_t head_width =
      spec.head_width != 0 ? spec.head_width : shape.features / spec.heads;
  const ScoreBiases biases{spec.alibi, spec.causal && !spec.memory, spec.rotary_base != 0,
                           spec.residual_attention};
  if (const auto problem = alibi_problem(biases))
    throw layer_error(spec, place.path, problem->message, problem->hint);
  if (const auto problem =
          window_problem({spec.window, spec.causal && !spec.memory, spec.residual_attention}))
    throw layer_error(spec, place.path, problem->message, problem->hint);
  const RotarySizes turned{spec.rotary_base, spec.rotary_fraction, head_width, shape.tokens,
                           spec.rotary};
  if (const auto problem = rotary_problem(turned))
    throw layer_error(spec, place.path, problem->message, problem->hint);
  Attention layer;
  layer.path = place.path;
  layer.heads = spec.heads;
  layer.kv_heads = kv_heads;
  layer.head_width = head_width;
  layer.rotary = rotary(turned);
  layer.alibi = spec.alibi;
  layer.window = spec.window;
  layer.softcap = spec.softcap;
  layer.causal = spec.causal && !spec.memory;
  layer.over_memory = spec.memory;
  layer.qk_norm = spec.qk_norm;
  layer.qk_norm_all = spec.qk_norm_all;
  if (spec.qk_norm) layer.qk_norm_eps = spec.eps.value_or(model.norm_eps);
  layer.residual_attention = spec.residual_attention;
  layer.dropout = spec.dropout;
  return layer;
}

void set_scale(Attention& layer, const Parts& parts, const Place& place, const Shape& shape) {
  const Expr scale = place.spec.scale.value_or(parts.spec().attention_scale);
  Bindings values = parts.values();
  values["width"] = static_cast<double>(shape.features);
  values["head_width"] = static_cast<double>(layer.head_width);
  layer.scale = formula_value(scale, values, "scale");
  if (!(std::isfinite(layer.scale) && layer.scale > 0))
    throw layer_error(place.spec, place.path,
                      fmt::format("scale must be finite and positive, got {}", layer.scale),
                      "for example scale = \"1/sqrt(head_width)\"");
  layer.scale_formula = scale;
}

void set_weights(Attention& layer, const Parts& parts, const Place& place, const Shape& shape) {
  const std::int64_t width = layer.heads * layer.head_width,
                     kv_width = layer.kv_heads * layer.head_width;
  const auto part = [&](const char* suffix, std::int64_t in, std::int64_t out, bool sized,
                        const std::optional<double>& std) {
    LayerSpec own = place.spec;
    if (std) own.std = std;
    // As in a transformer: lambda reaches what the size of the branch goes by.
    Linear made = listed_weight(parts, {own, place.path, place.in_branch && sized}, in, out);
    made.in_branch = place.in_branch;
    made.path = place.path + suffix;
    return made;
  };
  layer.q = part(".q", shape.features, width, false, place.spec.q_std);
  layer.k = part(".k", shape.features, kv_width, false, place.spec.k_std);
  layer.v = part(".v", shape.features, kv_width, true, place.spec.v_std);
  layer.o = part(".o", width, shape.features, true, place.spec.o_std);
}

std::string to_string(const AttentionScores& scores) {
  return fmt::format("{} heads, {} tokens{}", scores.heads, scores.tokens,
                     scores.causal ? ", causal" : "");
}

void check_softcap(const Attention& layer, const Place& place) {
  const CappedScores scores{layer.softcap, layer.residual_attention, layer.k.bias,
                            layer.window > 0 || layer.alibi != 0};
  if (const auto problem = softcap_problem("softcap", scores))
    throw layer_error(place.spec, place.path, problem->message, problem->hint);
}

/// Scores are added to scores of as many heads and tokens.
void check_scores(const Attention& layer, const Place& place, std::int64_t tokens,
                  AttentionsBefore& before) {
  if (!layer.residual_attention) return;
  const AttentionScores own{layer.heads, tokens, layer.causal};
  if (before.scores && !(*before.scores == own))
    throw layer_error(place.spec, place.path,
                      fmt::format("residual_attention adds the scores of {}, which are of {}, "
                                  "and these are of {}",
                                  before.scored_by, to_string(*before.scores), to_string(own)),
                      "make heads, causal and the number of tokens equal");
  before.scores = own;
  before.scored_by = place.path;
}

/// All cross-attention reads the same memory, as wide as the stream where it is read.
void check_memory(const Attention& layer, AttentionsBefore& before) {
  if (!layer.over_memory) return;
  if (before.memory_width != 0 && before.memory_width != layer.k.fan_in)
    throw Error(ErrorKind::input,
                fmt::format("[attention] {}: the memory cannot have {} features here and {} "
                            "before",
                            layer.path, layer.k.fan_in, before.memory_width),
                {}, "use one width wherever memory = true");
  before.memory_width = layer.k.fan_in;
  before.memory_is_read = true;
}

void lay_out(ListLayout& layout, const Place& place, Shape& shape, std::vector<Layer>& out) {
  const Parts& parts = layout.parts();
  Attention layer = plain_attention(parts.spec(), place, shape);
  set_scale(layer, parts, place, shape);
  set_weights(layer, parts, place, shape);
  check_softcap(layer, place);
  if (place.spec.norm && *place.spec.norm != NormKind::none)
    layer.norm = listed_norm(parts, place.spec, place.path + ".mix_norm",
                             {.features = layer.q.fan_out, .tokens = shape.tokens});
  check_scores(layer, place, shape.tokens, layout.attentions);
  check_memory(layer, layout.attentions);
  layout.emit({std::move(layer)}, out);
}

}  // namespace attention_layer

constinit const LayerKind attention_kind = {.name = "attention",
                                            .keys = attention_layer::keys,
                                            .check = attention_layer::check,
                                            .lay_out = attention_layer::lay_out,
                                            .parts = {"q", "k", "v", "o", "mix", "mix_norm"}};

std::vector<double> alibi_slopes(std::int64_t heads) {
  std::int64_t power = 1;
  while (2 * power <= heads) power *= 2;
  std::vector<double> slopes;
  for (std::int64_t h = 0; h < heads; ++h) {
    // -log2 of the slope, in steps of 8/power; between two of them behind the last.
    const double step =
        h < power ? static_cast<double>(h + 1) : static_cast<double>(h - power) + 0.5;
    slopes.push_back(std::exp2(-8 * step / static_cast<double>(power)));
  }
  return slopes;
}

std::int64_t relative_bucket(const RelativeBias& bias, bool causal, std::int64_t offset) {
  const std::int64_t buckets = causal ? bias.buckets : bias.buckets / 2;
  const std::int64_t first = !causal && offset > 0 ? buckets : 0, exact = buckets / 2;
  const std::int64_t distance = causal ? std::max<std::int64_t>(-offset, 0) : std::abs(offset);
  if (distance < exact) return first + distance;
  const auto ratio = static_cast<float>(distance) / static_cast<float>(exact);
  const auto most =
      static_cast<float>(std::log(static_cast<double>(bias.distance) / static_cast<double>(exact)));
  const float wider = std::log(ratio) / most * static_cast<float>(buckets - exact);
  return first + std::min(exact + static_cast<std::int64_t>(wider), buckets - 1);
}

void visit_parts(const Attention& layer, PartVisitor& visitor) {
  visitor.member(layer.q);
  visitor.member(layer.k);
  visitor.member(layer.v);
  if (layer.relative.is_own) {
    ParameterInfo info;
    info.role = "embedding";
    info.rows = layer.relative.buckets;
    info.columns = layer.heads;
    info.distribution = Distribution::normal;
    info.std = layer.relative.std;
    visitor.parameter(layer.path, Attention::relative_index, ".relative_bias", info);
  }
  if (layer.norm) visitor.member(*layer.norm);
  visitor.member(layer.o);
}

}  // namespace scalecalc
