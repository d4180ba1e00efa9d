#include <utility>

#include "names/library_building.hpp"
#include "names/tables.hpp"

/// Names of transformers' models whose parts are called as in no other.
namespace scalecalc::names {
namespace {

/// As LLaMA's but for norms, whose gain is 1 + weight.
Naming gemma(const char* name) {
  Naming naming =
      library(name, "Hugging Face Gemma, Gemma 2, Gemma 3", {"model.", "language_model."},
              {"layers.{i}.",
               {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj"},
               {"mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"},
               nullptr,
               nullptr});
  tied_head(naming, "embed_tokens.weight");
  const char* const gain = "a gain of 1 + weight, which starts at zero";
  naming.extras = {{"vision_tower.*", "the tower of images"},
                   {"multi_modal_projector.*", "the map from images to words"},
                   {"norm.weight", gain},
                   {"layers.{i}.self_attn.q_norm.weight", gain},
                   {"layers.{i}.self_attn.k_norm.weight", gain}};
  for (const char* part : {"input", "post_attention", "pre_feedforward", "post_feedforward"})
    naming.extras.push_back({std::string("layers.{i}.") + part + "_layernorm.weight", gain});
  return naming;
}

Naming olmo2(const char* name) {
  Naming naming =
      library(name, "Hugging Face Olmo2ForCausalLM", {"model."},
              {"layers.{i}.",
               {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj"},
               {"mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"},
               "post_attention_layernorm",
               "post_feedforward_layernorm"});
  tied_head(naming, "embed_tokens.weight");
  norm(naming.patterns, "norm", "final_norm");
  naming.extras = {{"layers.{i}.self_attn.q_norm.weight", "the gain of q's norm"},
                   {"layers.{i}.self_attn.k_norm.weight", "the gain of k's norm"}};
  return naming;
}

Naming phi3(const char* name) {
  Naming naming{name, "Hugging Face Phi3ForCausalLM", Layout::out_in, {"model."}, {}, {}, {}};
  const std::string layer = "layers.{i}.";
  linear(naming.patterns, layer + "self_attn.qkv_proj", packed());
  linear(naming.patterns, layer + "self_attn.o_proj", {in_block("attn.o")});
  linear(naming.patterns, layer + "mlp.gate_up_proj", {in_block("ffn.gate"), in_block("ffn.in")});
  linear(naming.patterns, layer + "mlp.down_proj", {in_block("ffn.out")});
  norm(naming.patterns, layer + "input_layernorm", in_block("attn.norm"));
  norm(naming.patterns, layer + "post_attention_layernorm", in_block("ffn.norm"));
  norm(naming.patterns, "norm", "final_norm");
  tied_head(naming, "embed_tokens.weight");
  return naming;
}

Naming opt(const char* name) {
  Naming naming =
      library(name, "Hugging Face OPTForCausalLM", {"model.", "decoder."},
              {"layers.{i}.",
               {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.out_proj"},
               {"fc1", "fc2"},
               "self_attn_layer_norm",
               "final_layer_norm"});
  tied_head(naming, "embed_tokens.weight");
  norm(naming.patterns, "final_layer_norm", "final_norm");
  naming.extras = {{"embed_positions.weight", "positions, with two rows before the first"},
                   {"project_in.weight", "the map from the embedding's width"},
                   {"project_out.weight", "the map to the embedding's width"}};
  return naming;
}

Naming bloom(const char* name) {
  Naming naming = library(name, "Hugging Face BloomForCausalLM", {"transformer."},
                          {"h.{i}.",
                           {nullptr, nullptr, nullptr, "self_attention.dense"},
                           {"mlp.dense_h_to_4h", "mlp.dense_4h_to_h"},
                           "input_layernorm",
                           "post_attention_layernorm"});
  tied_head(naming, "word_embeddings.weight");
  norm(naming.patterns, "ln_f", "final_norm");
  packed_in_rounds(naming, "h.{i}.self_attention.query_key_value", NamePattern::per_key_head);
  norm(naming.patterns, "word_embeddings_layernorm", "input.norm");
  return naming;
}

Naming mpt(const char* name) {
  Naming naming = library(name, "Hugging Face MptForCausalLM", {"transformer."},
                          {"blocks.{i}.",
                           {nullptr, nullptr, nullptr, "attn.out_proj"},
                           {"ffn.up_proj", "ffn.down_proj"},
                           "norm_1",
                           "norm_2"});
  linear(naming.patterns, "blocks.{i}.attn.Wqkv", packed());
  norm(naming.patterns, "norm_f", "final_norm");
  tied_head(naming, "wte.weight");
  leave_out(naming, "");  // it has no biases, and its norms no shifts
  return naming;
}

Naming gpt_neo(const char* name) {
  Naming naming = library(name, "Hugging Face GPTNeoForCausalLM", {"transformer."},
                          {"h.{i}.",
                           {"attn.attention.q_proj", "attn.attention.k_proj",
                            "attn.attention.v_proj", "attn.attention.out_proj"},
                           {"mlp.c_fc", "mlp.c_proj"},
                           "ln_1",
                           "ln_2"});
  tied_head(naming, "wte.weight");
  append(naming.patterns, {{"wpe.weight", {"embedding.position"}}});
  norm(naming.patterns, "ln_f", "final_norm");
  for (const char* map : {"q_proj", "k_proj", "v_proj"}) leave_out(naming, map);
  return naming;
}

Naming distilbert(const char* name) {
  Naming naming =
      library(name, "Hugging Face DistilBertForMaskedLM", {"distilbert."},
              {"transformer.layer.{i}.",
               {"attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin"},
               {"ffn.lin1", "ffn.lin2"},
               "sa_layer_norm",
               "output_layer_norm"});
  append(naming.patterns, {{"embeddings.word_embeddings.weight", {"embedding.weight"}},
                           {"embeddings.position_embeddings.weight", {"embedding.position"}},
                           {"vocab_projector.weight", {"head.weight"}}});
  masked_head(naming.patterns, "vocab_transform", "vocab_layer_norm", "vocab_projector.bias");
  norm(naming.patterns, "embeddings.LayerNorm", "input.norm");
  naming.tied = {{"vocab_projector.weight", "embeddings.word_embeddings.weight"}};
  naming.extras = {{"vocab_transform.*", "the head of the masked language model"},
                   {"vocab_layer_norm.*", "the head of the masked language model"},
                   {"vocab_projector.bias", "the head's bias"}};
  return naming;
}

Naming deberta(const char* name) {
  Naming naming = library(name, "Hugging Face DebertaV2ForMaskedLM", {"deberta."},
                          {"encoder.layer.{i}.",
                           {"attention.self.query_proj", "attention.self.key_proj",
                            "attention.self.value_proj", "attention.output.dense"},
                           {"intermediate.dense", "output.dense"},
                           "attention.output.LayerNorm",
                           "output.LayerNorm"});
  append(naming.patterns, {{"embeddings.word_embeddings.weight", {"embedding.weight"}},
                           {"embeddings.position_embeddings.weight", {"embedding.position"}},
                           {"embeddings.token_type_embeddings.weight", {"embedding.segment"}},
                           {"cls.predictions.decoder.weight", {"head.weight"}}});
  masked_head(naming.patterns, "cls.predictions.transform.dense",
              "cls.predictions.transform.LayerNorm", "cls.predictions.bias");
  norm(naming.patterns, "embeddings.LayerNorm", "input.norm");
  naming.tied = {{"cls.predictions.decoder.weight", "embeddings.word_embeddings.weight"}};
  naming.extras = {{"embeddings.token_type_embeddings.weight", "segment embeddings"},
                   {"encoder.rel_embeddings.weight", "relative positions"},
                   {"encoder.LayerNorm.*", "the norm of relative positions"},
                   {"cls.*", "the head of the masked language model"}};
  return naming;
}

Naming dinov2(const char* name) {
  Naming naming =
      library(name, "Hugging Face DINOv2, modules since transformers 5", {"dinov2."},
              {"encoder.layer.{i}.",
               {"attention.q_proj", "attention.k_proj", "attention.v_proj", "attention.o_proj"},
               {"mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"},
               "norm1",
               "norm2"});
  // Without gates the two maps are called otherwise.
  Patterns& all = naming.patterns;
  for (const auto& [map, path] : {std::pair{"fc1", "ffn.in"}, {"fc2", "ffn.out"}})
    for (const char* kind : {".weight", ".bias"})
      all.push_back({std::string("encoder.layer.{i}.mlp.") + map + kind,
                     {in_block(std::string(path) + kind)}});
  linear(all, "embeddings.patch_embeddings.projection", {"patch"});
  append(all, {{"embeddings.cls_token", {"embedding.class"}},
               {"embeddings.position_embeddings", {"embedding.position"}}});
  for (NamePattern& pattern : all)
    if (pattern.name.find("_proj") != std::string::npos &&
        pattern.name.find("mlp.") != std::string::npos)
      pattern.beside = in_block("ffn.gate.weight");
  norm(all, "layernorm", "final_norm");
  append(all, {{"encoder.layer.{i}.layer_scale1.lambda1", {in_block("attn.scale")}},
               {"encoder.layer.{i}.layer_scale2.lambda1", {in_block("ffn.scale")}}});
  append(all, {{"classifier.weight", {"head.weight"}}, {"classifier.bias", {"head.bias"}}});
  naming.extras = {{"embeddings.*", "patches, positions and the class token"},
                   {"encoder.layer.{i}.layer_scale{j}.lambda1", "the branch's own scale"},
                   {"classifier.bias", "the head's bias"}};
  return naming;
}

/// The towers of CLIP and SigLIP that look at images; alone they have no prefix.
Naming vision_tower(const char* name) {
  Naming naming =
      library(name, "Hugging Face CLIPVisionModel, SiglipVisionModel", {"vision_model."},
              {"encoder.layers.{i}.",
               {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.out_proj"},
               {"mlp.fc1", "mlp.fc2"},
               "layer_norm1",
               "layer_norm2"});
  Patterns& all = naming.patterns;
  linear(all, "embeddings.patch_embedding", {"patch"});
  append(all, {{"embeddings.class_embedding", {"embedding.class"}},
               {"embeddings.position_embedding.weight", {"embedding.position"}}});
  norm(all, "pre_layrnorm", "input.norm");
  norm(all, "post_layernorm", "final_norm");
  naming.extras = {{"head.*", "the attention that pools, left out of the model"}};
  return naming;
}

/// The towers of CLIP and SigLIP that read texts. `head`: the map into the space of texts and
/// images.
Naming text_tower(const char* name, const char* title, const char* head) {
  Naming naming =
      library(name, title, {"text_model."},
              {"encoder.layers.{i}.",
               {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.out_proj"},
               {"mlp.fc1", "mlp.fc2"},
               "layer_norm1",
               "layer_norm2"});
  append(naming.patterns, {{"embeddings.token_embedding.weight", {"embedding.weight"}},
                           {"embeddings.position_embedding.weight", {"embedding.position"}}});
  norm(naming.patterns, "final_layer_norm", "final_norm");
  linear(naming.patterns, head, {"head"});
  naming.extras = {{"embeddings.position_ids", "positions, a buffer"}};
  return naming;
}

/// As BERT's but for the narrow embedding's map and the generator's head.
Naming electra(const char* name) {
  Naming naming = library(name, "Hugging Face ElectraForMaskedLM", {"electra."},
                          {"encoder.layer.{i}.",
                           {"attention.self.query", "attention.self.key", "attention.self.value",
                            "attention.output.dense"},
                           {"intermediate.dense", "output.dense"},
                           "attention.output.LayerNorm",
                           "output.LayerNorm"});
  Patterns& all = naming.patterns;
  append(all, {{"embeddings.word_embeddings.weight", {"embedding.weight"}},
               {"embeddings.position_embeddings.weight", {"embedding.position"}},
               {"embeddings.token_type_embeddings.weight", {"embedding.segment"}},
               {"generator_lm_head.weight", {"head.weight"}}});
  norm(all, "embeddings.LayerNorm", "input.norm");
  linear(all, "embeddings_project", {"embedding.map"});
  masked_head(all, "generator_predictions.dense", "generator_predictions.LayerNorm",
              "generator_lm_head.bias");
  naming.tied = {{"generator_lm_head.weight", "embeddings.word_embeddings.weight"}};
  naming.extras = {{"embeddings.position_ids", "positions, a buffer"},
                   {"embeddings.token_type_ids", "segments, a buffer"},
                   {"discriminator_predictions.*", "the discriminator's head"}};
  return naming;
}

}  // namespace

std::vector<NamingTable> library_tables() {
  std::vector<NamingTable> all = {
      {"hf-gemma", gemma},
      {"hf-olmo2", olmo2},
      {"hf-phi3", phi3},
      {"hf-opt", opt},
      {"hf-bloom", bloom},
      {"hf-mpt", mpt},
      {"hf-gpt-neo", gpt_neo},
      {"hf-distilbert", distilbert},
      {"hf-deberta-v2", deberta},
      {"hf-dinov2", dinov2},
      {"hf-clip-vision", vision_tower},
      {"hf-clip-text",
       [](const char* name) {
         return text_tower(name, "Hugging Face CLIPTextModel", "text_projection");
       }},
      {"hf-siglip-text",
       [](const char* name) { return text_tower(name, "Hugging Face SiglipTextModel", "head"); }},
      {"hf-electra", electra}};
  append(all, parallel_tables());
  append(all, image_tables());
  append(all, encoder_decoder_tables());
  return all;
}

}  // namespace scalecalc::names
