#include "names/library_building.hpp"

namespace scalecalc::names {
namespace {

/// The one norm of a parallel block.
void shared_norm(Naming& naming, const std::string& name) {
  norm(naming.patterns, name, in_block("norm"));
}

void head_bias(Naming& naming) {
  append(naming.patterns, {{"lm_head.bias", {"head.bias"}}});
  naming.extras.push_back({"lm_head.bias", "the head's bias"});
}

/// A round holds the queries that share a head of keys, its keys and its values: three heads where
/// each has its own, all there is where there is one.
Naming falcon(const char* name, const char* title, const char* attention_norm,
              const char* feed_forward_norm) {
  Naming naming = library(name, title, {"transformer."},
                          {"h.{i}.",
                           {nullptr, nullptr, nullptr, "self_attention.dense"},
                           {"mlp.dense_h_to_4h", "mlp.dense_4h_to_h"},
                           attention_norm,
                           feed_forward_norm});
  tied_head(naming, "word_embeddings.weight");
  packed_in_rounds(naming, "h.{i}.self_attention.query_key_value", NamePattern::per_key_head);
  shared_norm(naming, "h.{i}.input_layernorm");
  norm(naming.patterns, "ln_f", "final_norm");
  return naming;
}

Naming gpt_neox(const char* name) {
  Naming naming = library(name, "Hugging Face GPTNeoXForCausalLM", {"gpt_neox."},
                          {"layers.{i}.",
                           {nullptr, nullptr, nullptr, "attention.dense"},
                           {"mlp.dense_h_to_4h", "mlp.dense_4h_to_h"},
                           "input_layernorm",
                           "post_attention_layernorm"});
  tied_head(naming, "embed_in.weight");
  packed_in_rounds(naming, "layers.{i}.attention.query_key_value", NamePattern::per_key_head);
  norm(naming.patterns, "final_layer_norm", "final_norm");
  return naming;
}

Naming gptj(const char* name) {
  Naming naming = library(name, "Hugging Face GPTJForCausalLM", {"transformer."},
                          {"h.{i}.",
                           {"attn.q_proj", "attn.k_proj", "attn.v_proj", "attn.out_proj"},
                           {"mlp.fc_in", "mlp.fc_out"},
                           nullptr,
                           nullptr});
  tied_head(naming, "wte.weight");
  shared_norm(naming, "h.{i}.ln_1");
  norm(naming.patterns, "ln_f", "final_norm");
  head_bias(naming);
  return naming;
}

/// q, v and k as they were trained, in four parts on as many devices.
Naming codegen(const char* name) {
  Naming naming = library(name, "Hugging Face CodeGenForCausalLM", {"transformer."},
                          {"h.{i}.",
                           {nullptr, nullptr, nullptr, "attn.out_proj"},
                           {"mlp.fc_in", "mlp.fc_out"},
                           nullptr,
                           nullptr});
  tied_head(naming, "wte.weight");
  constexpr std::int64_t devices = 4;
  packed_in_rounds(naming, "h.{i}.attn.qkv_proj", devices,
                   {in_block("attn.q"), in_block("attn.v"), in_block("attn.k")});
  shared_norm(naming, "h.{i}.ln_1");
  norm(naming.patterns, "ln_f", "final_norm");
  head_bias(naming);
  return naming;
}

Naming phi(const char* name) {
  Naming naming =
      library(name, "Hugging Face PhiForCausalLM", {"model."},
              {"layers.{i}.",
               {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.dense"},
               {"mlp.fc1", "mlp.fc2"},
               nullptr,
               nullptr});
  tied_head(naming, "embed_tokens.weight");
  shared_norm(naming, "layers.{i}.input_layernorm");
  norm(naming.patterns, "final_layernorm", "final_norm");
  for (const char* part : {"q", "k"})
    naming.extras.push_back({std::string("layers.{i}.self_attn.") + part + "_layernorm.*",
                             std::string("the norm of ") + part});
  head_bias(naming);
  return naming;
}

Naming cohere(const char* name) {
  Naming naming =
      library(name, "Hugging Face CohereForCausalLM", {"model."},
              {"layers.{i}.",
               {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj"},
               {"mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"},
               nullptr,
               nullptr});
  tied_head(naming, "embed_tokens.weight");
  shared_norm(naming, "layers.{i}.input_layernorm");
  norm(naming.patterns, "norm", "final_norm");
  leave_out(naming, "norm");  // the library's norms have no shifts
  naming.extras = {{"layers.{i}.self_attn.q_norm.weight", "the gain of q's norm"},
                   {"layers.{i}.self_attn.k_norm.weight", "the gain of k's norm"}};
  return naming;
}

}  // namespace

std::vector<NamingTable> parallel_tables() {
  return {{"hf-gptj", gptj},
          {"hf-phi", phi},
          {"hf-cohere", cohere},
          {"hf-gpt-neox", gpt_neox},
          {"hf-codegen", codegen},
          {"hf-falcon",
           [](const char* name) {
             return falcon(name, "Hugging Face FalconForCausalLM", "ln_attn", "ln_mlp");
           }},
          {"hf-falcon-rw", [](const char* name) {
             return falcon(name, "Hugging Face FalconForCausalLM, one branch after the other",
                           "input_layernorm", "post_attention_layernorm");
           }}};
}

}  // namespace scalecalc::names
