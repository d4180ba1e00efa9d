#include "names/tables.hpp"

#include <array>

#include "names/library_building.hpp"

namespace scalecalc::names {
namespace {

/// GPT-2's parts under Hugging Face's names and nanoGPT's: Conv1D stores (in, out) and Linear, as
/// the head is in both, (out, in).
Patterns gpt2_patterns(bool conv1d) {
  Patterns all = {{"wte.weight", {"embedding.weight"}}, {"wpe.weight", {"embedding.position"}}};
  norm(all, "h.{i}.ln_1", in_block("attn.norm"));
  linear(all, "h.{i}.attn.c_attn", packed());
  linear(all, "h.{i}.attn.c_proj", {in_block("attn.o")});
  norm(all, "h.{i}.ln_2", in_block("ffn.norm"));
  linear(all, "h.{i}.mlp.c_fc", {in_block("ffn.in")});
  linear(all, "h.{i}.mlp.c_proj", {in_block("ffn.out")});
  norm(all, "ln_f", "final_norm");
  all.push_back({"lm_head.weight", {"head.weight"}, {}, conv1d});
  return all;
}

std::vector<ExtraTensor> gpt2_extras() {
  return {{"h.{i}.attn.bias", "the causal mask, a buffer"},
          {"h.{i}.attn.masked_bias", "a constant of the mask, a buffer"}};
}

Naming hf_gpt2(const char* name) {
  return {name,
          "Hugging Face GPT2LMHeadModel",
          Layout::in_out,
          {"transformer."},
          gpt2_patterns(true),
          {{"lm_head.weight", "wte.weight"}},
          gpt2_extras()};
}

Naming nanogpt(const char* name) {
  return {name,
          "nanoGPT and its forks",
          Layout::out_in,
          {"transformer.", "_orig_mod."},
          gpt2_patterns(false),
          {{"lm_head.weight", "wte.weight"}},
          gpt2_extras()};
}

Naming hf_bert(const char* name) {
  Naming naming{name,
                "Hugging Face BertForMaskedLM",
                Layout::out_in,
                {"bert.", "roberta.", "electra."},
                {},
                {},
                {}};
  Patterns& all = naming.patterns;
  append(all, {{"embeddings.word_embeddings.weight", {"embedding.weight"}},
               {"embeddings.position_embeddings.weight", {"embedding.position"}},
               {"embeddings.token_type_embeddings.weight", {"embedding.segment"}}});
  norm(all, "embeddings.LayerNorm", "input.norm");
  const std::string layer = "encoder.layer.{i}.";
  linear(all, layer + "attention.self.query", {in_block("attn.q")});
  linear(all, layer + "attention.self.key", {in_block("attn.k")});
  linear(all, layer + "attention.self.value", {in_block("attn.v")});
  linear(all, layer + "attention.output.dense", {in_block("attn.o")});
  norm(all, layer + "attention.output.LayerNorm", in_block("attn.norm"));
  linear(all, layer + "intermediate.dense", {in_block("ffn.in")});
  linear(all, layer + "output.dense", {in_block("ffn.out")});
  norm(all, layer + "output.LayerNorm", in_block("ffn.norm"));
  all.push_back({"cls.predictions.decoder.weight", {"head.weight"}});
  masked_head(all, "cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm",
              "cls.predictions.bias");
  naming.tied = {{"cls.predictions.decoder.weight", "embeddings.word_embeddings.weight"}};
  naming.extras = {{"embeddings.position_ids", "positions, a buffer"},
                   {"embeddings.token_type_ids", "segments, a buffer"},
                   {"embeddings.token_type_embeddings.weight", "segment embeddings"},
                   {"pooler.*", "the pooler"},
                   {"cls.*", "the head of the masked language model"}};
  return naming;
}

Naming hf_llama(const char* name) {
  Naming naming{name, "Hugging Face LlamaForCausalLM", Layout::out_in, {"model."}, {}, {}, {}};
  Patterns& all = naming.patterns;
  all.push_back({"embed_tokens.weight", {"embedding.weight"}});
  const std::string layer = "layers.{i}.";
  norm(all, layer + "input_layernorm", in_block("attn.norm"));
  for (const char* role : {"q", "k", "v", "o"})
    linear(all, layer + "self_attn." + role + "_proj", {in_block(std::string("attn.") + role)});
  norm(all, layer + "post_attention_layernorm", in_block("ffn.norm"));
  linear(all, layer + "mlp.gate_proj", {in_block("ffn.gate")});
  linear(all, layer + "mlp.up_proj", {in_block("ffn.in")});
  linear(all, layer + "mlp.down_proj", {in_block("ffn.out")});
  for (const auto& [part, path] :
       {std::pair{"mlp.experts.{j}.", "ffn.expert[{j}]."}, {"mlp.shared_expert.", "ffn.shared."}}) {
    linear(all, layer + part + "gate_proj", {in_block(std::string(path) + "gate")});
    linear(all, layer + part + "up_proj", {in_block(std::string(path) + "in")});
    linear(all, layer + part + "down_proj", {in_block(std::string(path) + "out")});
  }
  linear(all, layer + "mlp.gate", {in_block("ffn.router")});
  linear(all, layer + "mlp.shared_expert_gate", {in_block("ffn.shared.router")});
  norm(all, "norm", "final_norm");
  all.push_back({"lm_head.weight", {"head.weight"}});
  naming.tied = {{"lm_head.weight", "embed_tokens.weight"}};
  naming.extras = {{layer + "mlp.experts.gate_up_proj", "gate and in of all experts in one tensor"},
                   {layer + "mlp.experts.down_proj", "out of all experts in one tensor"},
                   {layer + "self_attn.rotary_emb.inv_freq", "rotary frequencies, a buffer"},
                   {"rotary_emb.inv_freq", "rotary frequencies, a buffer"}};
  return naming;
}

std::vector<ExtraTensor> vit_extras() {
  return {{"embeddings.*", "patches, positions and the class token"},
          {"pooler.*", "the pooler"},
          {"classifier.bias", "the head's bias"}};
}

/// The parts of a ViT block: `prefix` before all, the names of q, k, v, o and of the two ffn maps.
Naming vit(const char* name, const char* title, const std::string& prefix,
           const std::array<const char*, 4>& attention, const char* in, const char* out) {
  Naming naming{name, title, Layout::out_in, {"vit.", "deit."}, {}, {}, vit_extras()};
  Patterns& all = naming.patterns;
  linear(all, "embeddings.patch_embeddings.projection", {"patch"});
  append(all, {{"embeddings.cls_token", {"embedding.class"}},
               {"embeddings.position_embeddings", {"embedding.position"}}});
  norm(all, prefix + "layernorm_before", in_block("attn.norm"));
  const char* const roles[] = {"attn.q", "attn.k", "attn.v", "attn.o"};
  for (std::size_t i = 0; i < attention.size(); ++i)
    linear(all, prefix + attention[i], {in_block(roles[i])});
  norm(all, prefix + "layernorm_after", in_block("ffn.norm"));
  linear(all, prefix + in, {in_block("ffn.in")});
  linear(all, prefix + out, {in_block("ffn.out")});
  norm(all, "layernorm", "final_norm");
  append(all, {{"classifier.weight", {"head.weight"}}, {"classifier.bias", {"head.bias"}}});
  return naming;
}

Naming hf_vit(const char* name) {
  return vit(name, "Hugging Face ViT's files", "encoder.layer.{i}.",
             {"attention.attention.query", "attention.attention.key", "attention.attention.value",
              "attention.output.dense"},
             "intermediate.dense", "output.dense");
}

Naming hf_vit_v5(const char* name) {
  return vit(name, "Hugging Face ViT, modules since transformers 5", "layers.{i}.",
             {"attention.q_proj", "attention.k_proj", "attention.v_proj", "attention.o_proj"},
             "mlp.fc1", "mlp.fc2");
}

/// torch.nn.TransformerEncoder with or without the modules around it.
Naming torch_encoder(const char* name) {
  Naming naming{name,
                "torch.nn.TransformerEncoder",
                Layout::out_in,
                {"encoder.", "transformer_encoder.", "module."},
                {},
                {},
                {}};
  Patterns& all = naming.patterns;
  append(all,
         {{"embedding.weight", {"embedding.weight"}}, {"position.weight", {"embedding.position"}}});
  norm(all, "input_norm", "input.norm");
  const std::string layer = "layers.{i}.";
  linear(all, layer + "self_attn.in_proj", packed(), "_weight", "_bias");
  linear(all, layer + "self_attn.out_proj", {in_block("attn.o")});
  norm(all, layer + "norm1", in_block("attn.norm"));
  linear(all, layer + "linear1", {in_block("ffn.in")});
  linear(all, layer + "linear2", {in_block("ffn.out")});
  norm(all, layer + "norm2", in_block("ffn.norm"));
  norm(all, "norm", "final_norm");
  all.push_back({"head.weight", {"head.weight"}});
  return naming;
}

Naming torchscale(const char* name) {
  Naming naming{
      name, "torchscale's Encoder and Decoder", Layout::out_in, {"encoder.", "decoder."}, {}, {},
      {}};
  Patterns& all = naming.patterns;
  append(all, {{"embed_tokens.weight", {"embedding.weight"}},
               {"embed_positions.weight", {"embedding.position"}}});
  norm(all, "layernorm_embedding", "input.norm");
  const std::string layer = "layers.{i}.";
  const auto attention = [&](const std::string& module, const std::string& path) {
    for (const char* role : {"q", "k", "v"})
      linear(all, layer + module + "." + role + "_proj", {in_block(path + "." + role)});
    linear(all, layer + module + ".out_proj", {in_block(path + ".o")});
    norm(all, layer + module + ".inner_attn_ln", in_block(path + ".mix_norm"));
    norm(all, layer + module + "_layer_norm", in_block(path + ".norm"));
  };
  attention("self_attn", "attn");
  attention("encoder_attn", "cross");
  linear(all, layer + "ffn.fc1", {in_block("ffn.in")});
  norm(all, layer + "ffn.ffn_layernorm", in_block("ffn.act_norm"));
  linear(all, layer + "ffn.fc2", {in_block("ffn.out")});
  norm(all, layer + "final_layer_norm", in_block("ffn.norm"));
  norm(all, "layer_norm", "final_norm");
  all.push_back({"output_projection.weight", {"head.weight"}});
  naming.tied = {{"output_projection.weight", "embed_tokens.weight"}};
  return naming;
}

Naming ours(const char* name, const char* title, Layout layout) {
  return {name, title, layout, {}, {}, {}, {}};
}

}  // namespace

const std::vector<NamingTable>& naming_tables() {
  static const std::vector<NamingTable> all = [] {
    std::vector<NamingTable> tables = {
        {"scalecalc",
         [](const char* name) { return ours(name, "the paths of this program", Layout::in_out); }},
        {"torch",
         [](const char* name) {
           return ours(name, "the paths as names of PyTorch modules", Layout::out_in);
         }},
        {"flax",
         [](const char* name) {
           return ours(name, "the paths as a tree of Flax parameters", Layout::in_out);
         }},
        {"keras",
         [](const char* name) {
           return ours(name, "the paths as those of Keras variables", Layout::in_out);
         }},
        {"torch-encoder", torch_encoder},
        {"hf-gpt2", hf_gpt2},
        {"hf-bert", hf_bert},
        {"hf-llama", hf_llama},
        {"hf-t5",
         [](const char* name) {
           return t5_stack(name, "Hugging Face T5, the encoder", "encoder", false);
         }},
        {"hf-t5-decoder",
         [](const char* name) {
           return t5_stack(name, "Hugging Face T5, the decoder", "decoder", true);
         }},
        {"hf-vit", hf_vit},
        {"hf-vit-v5", hf_vit_v5},
        {"nanogpt", nanogpt},
        {"torchscale", torchscale}};
    append(tables, library_tables());
    return tables;
  }();
  return all;
}

}  // namespace scalecalc::names
