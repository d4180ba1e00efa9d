#include <utility>

#include "names/library_building.hpp"

/// Names of the models of images of timm and torchvision.
namespace scalecalc::names {
namespace {

void patches(Patterns& all, const char* map, const char* class_token, const char* positions) {
  linear(all, map, {"patch"});
  append(all, {{class_token, {"embedding.class"}}, {positions, {"embedding.position"}}});
}

Naming timm_vit(const char* name) {
  Naming naming = library(name, "timm VisionTransformer", {},
                          {"blocks.{i}.",
                           {nullptr, nullptr, nullptr, "attn.proj"},
                           {"mlp.fc1", "mlp.fc2"},
                           "norm1",
                           "norm2"});
  Patterns& all = naming.patterns;
  linear(all, "blocks.{i}.attn.qkv", packed());
  append(all, {{"blocks.{i}.ls1.gamma", {in_block("attn.scale")}},
               {"blocks.{i}.ls2.gamma", {in_block("ffn.scale")}}});
  patches(all, "patch_embed.proj", "cls_token", "pos_embed");
  norm(all, "norm", "final_norm");
  append(all, {{"head.weight", {"head.weight"}}, {"head.bias", {"head.bias"}}});
  naming.extras = {{"dist_token", "the token of the teacher"},
                   {"reg_token", "registers"},
                   {"head_dist.*", "the head of the teacher"}};
  return naming;
}

Naming torchvision_vit(const char* name) {
  Naming naming = library(name, "torchvision VisionTransformer", {},
                          {"encoder.layers.encoder_layer_{i}.",
                           {nullptr, nullptr, nullptr, "self_attention.out_proj"},
                           {"mlp.0", "mlp.3"},
                           "ln_1",
                           "ln_2"});
  Patterns& all = naming.patterns;
  linear(all, "encoder.layers.encoder_layer_{i}.self_attention.in_proj", packed(), "_weight",
         "_bias");
  patches(all, "conv_proj", "class_token", "encoder.pos_embedding");
  norm(all, "encoder.ln", "final_norm");
  append(all, {{"heads.head.weight", {"head.weight"}}, {"heads.head.bias", {"head.bias"}}});
  return naming;
}

}  // namespace

std::vector<NamingTable> image_tables() {
  return {{"timm-vit", timm_vit}, {"torchvision-vit", torchvision_vit}};
}

}  // namespace scalecalc::names
