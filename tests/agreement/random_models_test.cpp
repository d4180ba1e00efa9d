#include "random_models.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

namespace scalecalc::random_models {
namespace {

constexpr std::uint64_t seed = 20;

std::string listed(const ModelSpec& spec) {
  std::string text;
  for (const ParameterInfo& info : parameters(build_network(spec)))
    text += info.path + " " + std::to_string(info.rows) + " " + std::to_string(info.columns) + " " +
            std::to_string(info.std) + " " + std::to_string(info.constant) + "\n";
  return text;
}

TEST_CASE("draws are those of every machine") {
  Draws draw(1, 2);
  CHECK(draw.below(1000) == 52);
  CHECK(draw.below(1000) == 435);
  CHECK(draw.between(-5, 5) == 2);
  CHECK(model_text(random_model(seed, 7)) == model_text(random_model(seed, 7)));
  CHECK(model_text(random_model(seed, 7)) != model_text(random_model(seed, 8)));
}

TEST_CASE("every model is valid, and its file reads back to the same network") {
  for (std::uint64_t index = 0; index < 500; ++index) {
    CAPTURE(index);
    const ModelSpec spec = random_model(seed, index);
    validate(spec);
    const std::string text = model_text(spec);
    CAPTURE(text);
    const ModelSpec again = parse_model(text, "random.toml");
    CHECK(model_text(again) == text);
    CHECK(listed(again) == listed(spec));
  }
}

void collect(const std::vector<LayerSpec>& layers, std::set<std::string>& seen) {
  for (const LayerSpec& layer : layers) {
    seen.insert("layer " + std::to_string(static_cast<int>(layer.type)));
    if (layer.norm) seen.insert("norm " + to_string(*layer.norm));
    collect(layer.layers, seen);
    collect(layer.shortcut, seen);
  }
}

TEST_CASE("nothing of the registry is left out") {
  std::set<std::string> seen;
  for (std::uint64_t index = 0; index < 1500; ++index) {
    const ModelSpec spec = random_model(seed, index);
    const std::string kind = to_string(spec.kind);
    seen.insert(kind);
    seen.insert("batch " + std::to_string(spec.batch));
    seen.insert("scheme " + spec.init.scheme);
    seen.insert("distribution " + to_string(spec.init.distribution));
    if (spec.kind != ModelSpec::Kind::layers) {
      seen.insert(kind + " " + to_string(spec.placement));
      seen.insert("norm " + to_string(spec.norm));
    }
    if (spec.kind == ModelSpec::Kind::transformer) {
      seen.insert("sequence " + std::to_string(spec.sequence));
      if (spec.heads == 1) seen.insert("one head");
      if (spec.heads == spec.width) seen.insert("heads of one feature");
      if (spec.width % 2 == 1) seen.insert("odd width");
      if (spec.head_width != 0) seen.insert("head_width");
      if (spec.rotary_base != 0)
        seen.insert("rotary scaling " + std::to_string(static_cast<int>(spec.rotary.scaling)));
      if (spec.rotary_local_base != 0) seen.insert("rotary_local_base");
      if (spec.parallel) seen.insert("parallel " + to_string(spec.placement));
      if (spec.encoder_decoder) seen.insert("two stacks " + to_string(spec.placement));
      if (spec.branch_norms) seen.insert("branch_norms " + to_string(spec.placement));
    }
    collect(spec.layer_list, seen);
  }
  std::vector<std::string> wanted = {"batch 1",     "batch 2",
                                     "batch 4",     "sequence 2",
                                     "sequence 48", "one head",
                                     "odd width",   "heads of one feature",
                                     "scheme std",  "scheme weight_variance"};
  for (const char* scheme : {"lecun", "xavier", "he", "gpt2", "bert", "t5"})
    wanted.push_back(std::string("scheme ") + scheme);
  for (const std::string& placement : placement_names()) {
    wanted.push_back("transformer " + placement);
    wanted.push_back("parallel " + placement);
    wanted.push_back("two stacks " + placement);
    if (placement != "sub-ln" && placement != "fixup") wanted.push_back("mlp " + placement);
  }
  wanted.push_back("head_width");
  wanted.push_back("rotary_local_base");
  for (int scaling = 0; scaling <= static_cast<int>(RotaryScaling::longrope); ++scaling)
    wanted.push_back("rotary scaling " + std::to_string(scaling));
  for (const char* placement : {"pre", "res-post", "sandwich", "sub-ln", "ngpt"})
    wanted.push_back(std::string("branch_norms ") + placement);
  for (const char* norm : {"layernorm", "rmsnorm", "scalenorm", "batchnorm", "instancenorm"})
    wanted.push_back(std::string("norm ") + norm);
  for (const char* distribution : {"normal", "uniform", "truncated_normal", "orthogonal"})
    wanted.push_back("distribution " + to_string(distribution_from(distribution)));
  for (int type = 0; type <= static_cast<int>(LayerSpec::Type::encoder); ++type)
    wanted.push_back("layer " + std::to_string(type));
  for (const std::string& one : wanted) {
    CAPTURE(one);
    CHECK(seen.contains(one));
  }
}

}  // namespace
}  // namespace scalecalc::random_models
