#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "export/literals.hpp"
#include "export/settings.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/report.hpp"

namespace scalecalc::export_room {
namespace {

using Json = nlohmann::ordered_json;

/// A configuration, and what the model's own code draws with it.
struct Family {
  Json config;
  OwnRule own;
  DropoutPlaces dropout = {};  ///< what its one rate stands for
  bool unscaled_attention = false;
  bool has_head_width = false;
  bool is_rotary = false;          ///< its queries and keys always turn, all of a head
  bool has_relative_bias = false;  ///< its scores may have learnt biases
};

/// The activation as transformers calls it.
std::string activation_name(const std::string& activation) {
  if (activation == "gelu_tanh") return "gelu_new";
  return activation;
}

Family gpt2(const NamedPlan& plan) {
  const ModelSpec& spec = plan.spec;
  const double std = common_std(plan), blocks = static_cast<double>(spec.layers);
  return {{{"model_type", "gpt2"},
           {"architectures", {"GPT2LMHeadModel"}},
           {"n_layer", spec.layers},
           {"n_embd", spec.width},
           {"n_head", spec.heads},
           {"n_inner", spec.ffn},
           {"n_positions", spec.sequence},
           {"vocab_size", spec.vocab},
           {"activation_function", activation_name(spec.activation)},
           {"resid_pdrop", spec.dropout_place.branch ? spec.dropout : 0.0},
           {"embd_pdrop", spec.dropout_place.input ? spec.dropout : 0.0},
           {"attn_pdrop", spec.attention_dropout},
           {"layer_norm_epsilon", spec.norm_eps},
           {"tie_word_embeddings", spec.tie_head},
           {"initializer_range", std}},
          [std, blocks](const PlannedParameter& parameter) {
            const bool ends = parameter.role == "o" || parameter.role == "ffn_out";
            if (!parameter.is_matrix) return OwnStart{};
            return OwnStart{ends ? std / std::sqrt(2 * blocks) : std, false};
          },
          {.input = spec.dropout_place.input, .branch = spec.dropout_place.branch}};
}

/// bert, llama, vit: one std for every matrix.
OwnRule one_std(double std, bool is_truncated) {
  return [std, is_truncated](const PlannedParameter& parameter) {
    return OwnStart{parameter.is_matrix ? std : 0, is_truncated};
  };
}

Json common(const ModelSpec& spec, const char* type, const char* architecture, double std) {
  return {{"model_type", type},
          {"architectures", {architecture}},
          {"num_hidden_layers", spec.layers},
          {"hidden_size", spec.width},
          {"num_attention_heads", spec.heads},
          {"intermediate_size", spec.ffn},
          {"hidden_act", activation_name(spec.activation)},
          {"initializer_range", std}};
}

Family bert(const NamedPlan& plan) {
  const ModelSpec& spec = plan.spec;
  Json config = common(spec, "bert", "BertForMaskedLM", common_std(plan));
  config["max_position_embeddings"] = spec.sequence;
  config["vocab_size"] = spec.vocab;
  config["layer_norm_eps"] = spec.norm_eps;
  config["hidden_dropout_prob"] = spec.dropout;
  config["attention_probs_dropout_prob"] = spec.attention_dropout;
  config["tie_word_embeddings"] = spec.tie_head;
  return {config, one_std(common_std(plan), false), {.input = true}};
}

Family llama(const NamedPlan& plan) {
  const ModelSpec& spec = plan.spec;
  Json config = common(spec, "llama", "LlamaForCausalLM", common_std(plan));
  config["num_key_value_heads"] = spec.kv_heads > 0 ? spec.kv_heads : spec.heads;
  if (spec.head_width != 0) config["head_dim"] = spec.head_width;
  config["max_position_embeddings"] = spec.sequence;
  config["vocab_size"] = spec.vocab;
  config["rms_norm_eps"] = spec.norm_eps;
  config["attention_bias"] = biases_of(spec).o;
  config["mlp_bias"] = biases_of(spec).ffn;
  config["tie_word_embeddings"] = spec.tie_head;
  if (spec.rotary_base != 0) config["rope_theta"] = spec.rotary_base;
  if (spec.rotary.scaling != RotaryScaling::none)
    config["rope_parameters"] = Json::parse(rope_parameters(spec));
  // Its code takes these for the tokens of the first training.
  if (spec.rotary.scaling == RotaryScaling::dynamic)
    config["max_position_embeddings"] = spec.rotary.original;
  return {config, one_std(common_std(plan), false), {.branch = false}, false, true, true};
}

Family vit(const NamedPlan& plan) {
  const ModelSpec& spec = plan.spec;
  Json config = common(spec, "vit", "ViTForImageClassification", common_std(plan));
  config["layer_norm_eps"] = spec.norm_eps;
  config["hidden_dropout_prob"] = spec.dropout;
  config["attention_probs_dropout_prob"] = spec.attention_dropout;
  config["qkv_bias"] = biases_of(spec).qkv;
  return {config, one_std(common_std(plan), true), {.input = true}};
}

/// Its code: q (d d_kv)^-1/2, k, v and wi d^-1/2, o and wo their fan-in^-1/2, embedding and an
/// untied head 1, each times initializer_factor.
Family t5(const NamedPlan& plan) {
  const ModelSpec& spec = plan.spec;
  const auto width = static_cast<double>(spec.width);
  const auto of_head = static_cast<double>(head_width(spec));
  const auto ffn = static_cast<double>(spec.ffn);
  Json config = {
      {"model_type", "t5"},
      {"architectures", {"T5ForConditionalGeneration"}},
      {"num_layers", spec.layers},
      {"d_model", spec.width},
      {"d_kv", head_width(spec)},
      {"num_heads", spec.heads},
      {"d_ff", spec.ffn},
      {"vocab_size", spec.vocab},
      {"feed_forward_proj", (spec.gated ? "gated-" : "") + activation_name(spec.activation)},
      {"dropout_rate", spec.dropout},
      {"layer_norm_epsilon", spec.norm_eps},
      {"tie_word_embeddings", spec.tie_head},
      {"initializer_factor", 1.0}};
  if (spec.relative_buckets != 0) {
    config["relative_attention_num_buckets"] = spec.relative_buckets;
    config["relative_attention_max_distance"] = spec.relative_distance;
  }
  const OwnRule own = [width, of_head, ffn](const PlannedParameter& parameter) {
    if (!parameter.is_matrix) return OwnStart{};
    const std::string& role = parameter.role;
    if (parameter.path.ends_with(".relative_bias")) return OwnStart{1 / std::sqrt(width), false};
    if (role == "embedding" || role == "head") return OwnStart{1, false};
    if (role == "q") return OwnStart{1 / std::sqrt(width * of_head), false};
    return OwnStart{1 / std::sqrt(role == "ffn_out" ? ffn : width), false};
  };
  Family family{config, own, {.input = true, .activation = true}, true, true};
  family.has_relative_bias = true;
  return family;
}

Family family_of(const NamedPlan& plan) {
  const std::string& naming = plan.naming.name;
  if (naming == "hf-gpt2") return gpt2(plan);
  if (naming == "hf-bert") return bert(plan);
  if (naming == "hf-llama") return llama(plan);
  if (naming == "hf-vit" || naming == "hf-vit-v5") return vit(plan);
  if (naming == "hf-t5" || naming == "hf-t5-decoder") return t5(plan);
  throw Error(ErrorKind::usage, "hf needs to know which model's configuration to write",
              "--target hf", "say so by --names hf-gpt2, hf-bert, hf-llama, hf-t5 or hf-vit");
}

/// Where each of those models has its norms.
Placement placement_of(const std::string& naming) {
  return naming == "hf-bert" ? Placement::post : Placement::pre;
}

/// What the configuration does not say of rotary positions.
std::vector<std::string> rotary_differences(const ModelSpec& spec, bool is_rotary) {
  if (is_rotary && spec.rotary_base == 0)
    return {"rotary_base: its queries and keys turn by their positions, this model's do not"};
  if (!is_rotary && spec.rotary_base != 0)
    return {fmt::format("rotary_base: it has no rotary positions, this model turns by base {}",
                        spec.rotary_base)};
  if (is_rotary && spec.rotary_local_base != 0)
    return {
        fmt::format("rotary_local_base: it turns alike in all blocks, this model by base {} in "
                    "those with a window",
                    spec.rotary_local_base)};
  if (is_rotary && spec.rotary_fraction != 1)
    return {fmt::format("rotary_fraction: it turns all of a head, this model {} of it",
                        spec.rotary_fraction)};
  return {};
}

}  // namespace

std::string hf_text(const NamedPlan& plan) {
  require_transformer(plan, "hf");
  Family family = family_of(plan);
  std::vector<std::string> lines = differences(plan, family.own);
  const Placement placement = placement_of(plan.naming.name);
  if (plan.spec.placement != placement)
    lines.push_back("placement: its layer is " + to_string(placement) + ", this model is " +
                    to_string(plan.spec.placement));
  if (plan.spec.head_width != 0 && !family.has_head_width)
    lines.push_back(fmt::format("head_width: its heads share out the width, these are {} wide",
                                plan.spec.head_width));
  const bool reads_images = plan.naming.name.starts_with("hf-vit");
  for (const auto& part : {rotary_differences(plan.spec, family.is_rotary),
                           part_differences(plan.spec, reads_images, family.has_relative_bias),
                           dropout_differences(plan.spec, family.dropout),
                           foreign_scales(plan, family.unscaled_attention)})
    lines.insert(lines.end(), part.begin(), part.end());
  family.config["_scalecalc"] = {{"version", report::version()},
                                 {"model", comment_text(plan.model)},
                                 {"not_expressed", lines}};
  return family.config.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace scalecalc::export_room
