#include <utility>

#include "names/library_building.hpp"

/// Names of transformers' models of two stacks, whose decoder attends to the encoder's output.
namespace scalecalc::names {
namespace {

/// Puts a table of one stack beside those of the model; the encoder's paths begin with encoder.
void add_stack(Naming& naming, Patterns stack, bool is_encoder) {
  for (NamePattern& pattern : stack)
    for (std::string& path : pattern.paths)
      if (is_encoder) path.insert(0, "encoder.");
  append(naming.patterns, std::move(stack));
}

/// One tensor is the embedding of both stacks and the head's matrix; it is called so, and as a part
/// of each stack.
void share_embedding(Naming& naming) {
  append(naming.patterns, {{"shared.weight", {"embedding.weight"}},
                           {"encoder.embed_tokens.weight", {"encoder.embedding.weight"}},
                           {"lm_head.weight", {"head.weight"}}});
  for (const char* again : {"encoder.embed_tokens.weight", "lm_head.weight"})
    naming.tied.push_back({again, "shared.weight"});
  naming.extras.push_back({"decoder.embed_tokens.weight", "the shared embedding again"});
}

/// A T5 stack: self-attention, cross-attention when the model has it, feed-forward.
void t5_block(Patterns& all, const std::string& stack, const char* ffn, bool cross) {
  const std::string layer = stack + ".block.{i}.layer.";
  for (const char* role : {"q", "k", "v", "o"}) {
    all.push_back({layer + "0.SelfAttention." + role + ".weight",
                   {in_block(std::string("attn.") + role + ".weight")}});
    if (cross)
      all.push_back({layer + "1.EncDecAttention." + role + ".weight",
                     {in_block(std::string("cross.") + role + ".weight")}});
  }
  all.push_back({stack + ".block.{i}.layer.0.SelfAttention.relative_attention_bias.weight",
                 {in_block("attn.relative_bias")}});
  norm(all, layer + "0.layer_norm", in_block("attn.norm"));
  if (cross) norm(all, layer + "1.layer_norm", in_block("cross.norm"));
  const std::string dense = layer + ffn;
  const std::string gate = in_block("ffn.gate.weight"), in = in_block("ffn.in.weight");
  append(all, {{dense + ".DenseReluDense.wi_0.weight", {gate}},
               {dense + ".DenseReluDense.wi_1.weight", {in}, gate},
               {dense + ".DenseReluDense.wi.weight", {in}},
               {dense + ".DenseReluDense.wo.weight", {in_block("ffn.out.weight")}}});
  norm(all, dense + ".layer_norm", in_block("ffn.norm"));
  norm(all, stack + ".final_layer_norm", "final_norm");
}

Patterns bart_stack(const std::string& stack, bool attends) {
  Naming one =
      library("", "", {},
              {stack + ".layers.{i}.",
               {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.out_proj"},
               {"fc1", "fc2"},
               "self_attn_layer_norm",
               "final_layer_norm"});
  norm(one.patterns, stack + ".layernorm_embedding", "input.norm");
  if (!attends) return one.patterns;
  const std::string layer = stack + ".layers.{i}.encoder_attn";
  for (const auto& [name, role] : {std::pair("q", "q"), {"k", "k"}, {"v", "v"}, {"out", "o"}})
    linear(one.patterns, layer + "." + name + "_proj", {in_block(std::string("cross.") + role)});
  norm(one.patterns, layer + "_layer_norm", in_block("cross.norm"));
  return one.patterns;
}

Naming bart(const char* name) {
  Naming naming{
      name, "Hugging Face BartForConditionalGeneration", Layout::out_in, {"model."}, {}, {}, {}};
  share_embedding(naming);
  add_stack(naming, bart_stack("encoder", false), true);
  add_stack(naming, bart_stack("decoder", true), false);
  for (const char* stack : {"encoder", "decoder"})
    naming.extras.push_back({std::string(stack) + ".embed_positions.weight",
                             "positions, with two rows before the first"});
  naming.extras.push_back({"final_logits_bias", "the head's bias, not trained"});
  return naming;
}

/// The encoder's convolutions and the positions of each stack have names of their own.
Naming whisper(const char* name) {
  Naming naming{
      name, "Hugging Face WhisperForConditionalGeneration", Layout::out_in, {"model."}, {}, {}, {}};
  linear(naming.patterns, "encoder.conv1", {"encoder.conv[0]"});
  linear(naming.patterns, "encoder.conv2", {"encoder.conv[1]"});
  for (const bool is_encoder : {true, false}) {
    const std::string stack = is_encoder ? "encoder" : "decoder";
    Patterns patterns = bart_stack(stack, !is_encoder);
    norm(patterns, stack + ".layer_norm", "final_norm");
    add_stack(naming, std::move(patterns), is_encoder);
  }
  append(naming.patterns, {{"decoder.embed_tokens.weight", {"embedding.weight"}},
                           {"decoder.embed_positions.weight", {"embedding.position"}},
                           {"proj_out.weight", {"head.weight"}}});
  naming.tied = {{"proj_out.weight", "decoder.embed_tokens.weight"}};
  naming.extras = {{"encoder.embed_positions.weight", "fixed sines and cosines"}};
  return naming;
}

Naming t5(const char* name) {
  Naming naming{
      name, "Hugging Face T5ForConditionalGeneration", Layout::out_in, {"transformer."}, {}, {},
      {}};
  share_embedding(naming);
  for (const bool is_encoder : {true, false}) {
    const std::string stack = is_encoder ? "encoder" : "decoder";
    Patterns patterns;
    t5_block(patterns, stack, is_encoder ? "1" : "2", !is_encoder);
    add_stack(naming, std::move(patterns), is_encoder);
    naming.extras.push_back(
        {stack + ".block.{i}.layer.0.SelfAttention.relative_attention_bias.weight",
         "relative position biases"});
  }
  return naming;
}

}  // namespace

Naming t5_stack(const char* name, const char* title, const std::string& stack, bool cross) {
  Naming naming{name, title, Layout::out_in, {}, {}, {}, {}};
  naming.patterns.push_back({"shared.weight", {"embedding.weight"}});
  t5_block(naming.patterns, stack, cross ? "2" : "1", cross);
  naming.patterns.push_back({"lm_head.weight", {"head.weight"}});
  naming.tied = {{"lm_head.weight", "shared.weight"}};
  naming.extras = {{"encoder.embed_tokens.weight", "the shared embedding again"},
                   {"decoder.embed_tokens.weight", "the shared embedding again"},
                   {stack + ".block.{i}.layer.0.SelfAttention.relative_attention_bias.weight",
                    "relative position biases"},
                   {cross ? "encoder.*" : "decoder.*", "the other stack"}};
  return naming;
}

std::vector<NamingTable> encoder_decoder_tables() {
  return {{"hf-bart", bart}, {"hf-whisper", whisper}, {"hf-t5-encoder-decoder", t5}};
}

}  // namespace scalecalc::names
