#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scalecalc/model_fields.hpp"

/// Every field of every kind of model with a value that is not its default: what files, options and
/// claims are tried with.
namespace scalecalc::test {

struct FieldCase {
  const ModelField* field = nullptr;
  ModelSpec base;    ///< valid, and still valid with the value
  FieldValue value;  ///< of the field's type
};

/// A name without quotes, a formula as it is printed.
inline std::string plain_text(const FieldValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* number = std::get_if<double>(&value))
    return to_string(Expr(Rational::shortest(*number)));
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return to_string(std::get<Expr>(value));
}

/// Whether its text is numbers, of which a wrong one has no nearest name.
inline bool is_of_numbers(const ModelField& field) {
  return field.name == "rotary_short" || field.name == "rotary_long" ||
         field.name == "memory_conv_strides";
}

/// Whether it says something of the frames that an encoder reads.
inline bool is_of_frames(const ModelField& field) {
  return field.name == "memory_features" || field.name == "memory_sinusoids" ||
         field.name.starts_with("memory_conv_");
}

/// Whether it says something of tokens alone.
inline bool is_of_tokens(const ModelField& field) {
  return field.section == "input" &&
         (field.key == "zipf" || field.key == "positions" || field.key == "segments" ||
          field.key == "multiplier" || field.key == "embedding_width");
}

/// A layer that reads what a list leaves to the model; nothing: linear and attention do, or the
/// model.
inline std::optional<LayerSpec> reader_of(const ModelField& field) {
  LayerSpec layer;
  if (field.name == "layers") {
    layer.width = 8;
    layer.gain = 1 / Expr::symbol("N");
  } else if (field.name == "alpha") {
    layer.type = LayerSpec::Type::residual;
    layer.skip = Expr::symbol("alpha");
    layer.layers.emplace_back();
    layer.layers.front().width = 8;
  } else if (field.name == "activation") {
    layer.type = LayerSpec::Type::activation;
  } else if (field.name.starts_with("norm") || field.name == "gain_offset") {
    layer.type = LayerSpec::Type::norm;
  } else {
    return {};
  }
  return layer;
}

/// The scaling that reads a key of rotary positions, with what else it asks for.
inline void set_rotary(const std::string& name, ModelSpec& spec) {
  using Scaling = RotaryScaling;
  static const std::map<std::string, Scaling> scalings = {
      {"rotary_factor", Scaling::linear},  {"rotary_original", Scaling::dynamic},
      {"rotary_low", Scaling::llama3},     {"rotary_high", Scaling::llama3},
      {"rotary_truncate", Scaling::yarn},  {"rotary_attention", Scaling::yarn},
      {"rotary_short", Scaling::longrope}, {"rotary_long", Scaling::longrope}};
  if (name == "rotary_local_base") {
    spec.causal = true;
    spec.window = 2;
  }
  const auto found = scalings.find(name);
  if (found == scalings.end()) return;
  spec.head_width = 2;
  spec.rotary.scaling = found->second;
  if (found->second != Scaling::linear) spec.rotary.original = 16;
  if (name == "rotary_high") spec.rotary.low = 0.125;
  if (found->second == Scaling::longrope)
    spec.rotary.short_factors = spec.rotary.long_factors = "2";
}

/// A model of the kind that the field says something of.
inline ModelSpec base_for(const ModelField& field, ModelSpec::Kind kind) {
  ModelSpec spec = default_spec(kind);
  if (kind == ModelSpec::Kind::layers) {
    LayerSpec linear, attention;
    linear.width = 8;
    attention.type = LayerSpec::Type::attention;
    attention.memory = true;
    LayerSpec first = linear;
    if (field.name == "input" || is_of_tokens(field)) {
      first.type = LayerSpec::Type::embedding;
      first.vocab = 5;
    }
    spec.layer_list = {first, attention, linear};
    if (const std::optional<LayerSpec> reader = reader_of(field)) {
      spec.layer_list.insert(spec.layer_list.begin() + 1, *reader);
      spec.norm = NormKind::layernorm;
    }
  } else {
    spec.cross_attention = field.section == "memory" && !is_of_frames(field);
    spec.encoder_decoder = field.name.starts_with("decoder_") || is_of_frames(field);
    if (is_of_frames(field)) spec.input.kind = InputKind::tokens;
    if (is_of_frames(field) && field.name != "memory_features") spec.memory.features = 4;
    if (field.name.starts_with("rotary_") && field.name != "rotary_base") spec.rotary_base = 100;
    set_rotary(field.name, spec);
    if (field.name == "alibi" || field.name.starts_with("window")) spec.causal = true;
    if (field.name == "relative_buckets") spec.causal = true;
    if (field.name == "relative_distance" || field.name == "relative_std")
      spec.relative_buckets = 4;
    if (field.name == "window_pattern") spec.window = 2;
    if (field.name == "layer_scale" || field.name == "norm_scale") spec.placement = Placement::pre;
    if (field.name == "modulation" || field.section == "condition") {
      spec.placement = Placement::pre;
      if (field.section == "condition") spec.modulation = AdaptiveNorm::adaln;
    }
    if (field.name == "condition_class_std") spec.condition.classes = 4;
    if (field.name == "patch_bias") spec.input.patch = 8;
    if (field.name == "sinusoids") spec.sequence = 16;
    if (field.name == "class_std") spec.class_tokens = 1;
    if (field.name == "class_std" || field.name == "class_tokens") spec.norm_eps = 1e-6;
    for (const char* of_experts :
         {"top_k", "expert_ffn", "norm_topk_prob", "shared_ffn", "shared_gate"})
      if (field.name == of_experts) spec.experts = 4;
    if (field.name == "shared_gate") spec.shared_ffn = 8;
    if (field.name == "qk_norm_all") spec.qk_norm = true;
    if (field.name == "branch_norms") {
      spec.parallel = true;
      spec.placement = Placement::pre;
    }
  }
  if (is_of_tokens(field) || field.name == "tie_head" || field.name == "head_classes")
    spec.input.kind = InputKind::tokens;
  if (field.name == "target_second") spec.loss = Loss::mse;
  if (field.name == "bias_variance") spec.bias = true;
  if (field.name == "gain_offset") spec.norm_affine = true;
  if (field.name == "norm_alpha") spec.norm = NormKind::dyt;
  if (kind == ModelSpec::Kind::mlp && (field.name == "placement" || field.name == "ramp" ||
                                       field.name == "alpha" || field.name == "drop_path")) {
    spec.norm = NormKind::rmsnorm;
    spec.placement = Placement::post;
  }
  if (field.name == "ramp") spec.placement = Placement::branchnorm;
  return spec;
}

inline FieldValue value_for(const ModelField& field, const ModelSpec& base) {
  static const std::map<std::string, std::string> names = {
      {"activation", "relu"},       {"norm", "rmsnorm"},
      {"placement", "pre"},         {"dropout_place", "input+branch"},
      {"optimizer", "lion"},        {"scheme", "xavier"},
      {"distribution", "uniform"},  {"names", "hf-gpt2"},
      {"input", "tokens"},          {"loss", "mse"},
      {"reduction", "mean"},        {"pool", "mean"},
      {"window_pattern", "LG"},     {"rotary_scaling", "linear"},
      {"rotary_short", "1.5"},      {"rotary_long", "1.5"},
      {"memory_conv_strides", "2"}, {"modulation", "adaln-zero"}};
  const FieldValue current = field.get(base);
  switch (field.type) {
    case ModelField::Type::integer: {
      const std::int64_t size = std::get<std::int64_t>(current);
      if (field.name == "memory_conv_kernel") return size + 2;
      return size == 0 ? std::int64_t{2} : 2 * size;
    }
    case ModelField::Type::number:
      return field.name == "rotary_base" || field.name == "rotary_local_base" ? 1000.0 : 0.25;
    case ModelField::Type::flag: return !std::get<bool>(current);
    case ModelField::Type::name:
      if (field.name == "kind") return to_string(base.kind);
      if (field.name == "input" && base.kind == ModelSpec::Kind::mlp)
        return std::string("gaussian");
      return names.at(field.name);
    case ModelField::Type::formula:
    case ModelField::Type::scale: break;
  }
  return parse("(2*N)^(1/2)");
}

inline std::vector<FieldCase> field_cases() {
  std::vector<FieldCase> cases;
  for (const ModelSpec::Kind kind :
       {ModelSpec::Kind::transformer, ModelSpec::Kind::mlp, ModelSpec::Kind::layers})
    for (const ModelField& field : model_fields())
      if (field.belongs_to(kind)) {
        const ModelSpec base = base_for(field, kind);
        cases.push_back({&field, base, value_for(field, base)});
      }
  return cases;
}

}  // namespace scalecalc::test
