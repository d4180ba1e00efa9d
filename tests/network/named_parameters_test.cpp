#include "scalecalc/named_parameters.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "scalecalc/error.hpp"

using namespace scalecalc;

namespace {

ModelSpec small(const char* preset_name) {
  ModelSpec spec = find_model(preset_name);
  spec.layers = 2;
  spec.width = 64;
  spec.heads = 4;
  if (spec.kv_heads > 0) spec.kv_heads = 2;
  spec.ffn = 96;
  spec.vocab = 50;
  spec.sequence = 8;
  return spec;
}

const NamedTensor& find(const NamedParameters& named, const std::string& name) {
  for (const NamedTensor& tensor : named.tensors)
    if (tensor.name == name) return tensor;
  FAIL("no tensor is called " << name);
  return named.tensors.front();
}

using Shape = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("every parameter of a model has a place under its naming") {
  const std::vector<std::pair<const char*, const char*>> pairs = {{"gpt2", "hf-gpt2"},
                                                                  {"gpt2", "nanogpt"},
                                                                  {"bert-base", "hf-bert"},
                                                                  {"llama", "hf-llama"},
                                                                  {"t5-base-encoder", "hf-t5"},
                                                                  {"vit-b", "hf-vit"},
                                                                  {"vit-b", "hf-vit-v5"},
                                                                  {"vit-b", "timm-vit"},
                                                                  {"vit-b", "torchvision-vit"},
                                                                  {"pre-ln-12", "torch-encoder"},
                                                                  {"deepnet-decoder", "torchscale"},
                                                                  {"bert-base", "scalecalc"},
                                                                  {"bert-base", "torch"},
                                                                  {"resnet-v1", "torch"}};
  for (const auto& [preset_name, naming] : pairs) {
    CAPTURE(preset_name);
    CAPTURE(naming);
    const Network network = build_network(find_model(preset_name));
    const NamedParameters named = name_parameters(network, find_naming(naming));
    CHECK(named.unnamed.empty());
    std::multiset<std::size_t> parts;
    const std::vector<ParameterInfo> infos = parameters(network);
    for (const NamedTensor& tensor : named.tensors) {
      std::int64_t stored = 1, counted = 0;
      for (const std::int64_t size : tensor.shape) stored *= size;
      for (const std::size_t part : tensor.parts) {
        parts.insert(part);
        counted += infos[part].rows * infos[part].columns;
      }
      CHECK(stored == counted);
    }
    CHECK(parts.size() == infos.size());
    CHECK(std::set<std::size_t>(parts.begin(), parts.end()).size() == infos.size());
  }
}

TEST_CASE("GPT-2 packs q, k and v along the outputs, stored as its Conv1D has it") {
  const Network network = build_network(small("gpt2"));
  const NamedParameters hugging = name_parameters(network, find_naming("hf-gpt2"));
  const NamedTensor& packed = find(hugging, "h.1.attn.c_attn.weight");
  CHECK(packed.shape == Shape{64, 192});
  CHECK(packed.axis == 1);
  CHECK_FALSE(packed.transposed);
  const std::vector<ParameterInfo> infos = parameters(network);
  REQUIRE(packed.parts.size() == 3);
  CHECK(infos[packed.parts[2]].path == "block[1].attn.v.weight");
  CHECK(find(hugging, "lm_head.weight").tied_to == "wte.weight");
  CHECK(find(hugging, "lm_head.weight").shape == Shape{50, 64});

  const NamedParameters nano = name_parameters(network, find_naming("nanogpt"));
  CHECK(find(nano, "h.1.attn.c_attn.weight").shape == Shape{192, 64});
  CHECK(find(nano, "h.1.attn.c_attn.weight").axis == 0);
  CHECK(find(nano, "h.0.attn.c_attn.bias").shape == Shape{192});
}

TEST_CASE("a tensor holds its parts in rounds: those of a head of keys after those of another") {
  ModelSpec spec = small("llama");
  const Network network = build_network(spec);
  Naming naming = find_naming("hf-llama");
  NamePattern pattern{"qkv", {"block[{i}].attn.q.weight", "block[{i}].attn.k.weight"}};
  pattern.name = "{i}.qkv";
  pattern.rounds = NamePattern::per_key_head;
  naming.patterns.insert(naming.patterns.begin(), pattern);
  CHECK(find(name_parameters(network, naming), "1.qkv").rounds == 2);
  naming.patterns.front().rounds = 4;
  CHECK(find(name_parameters(network, naming), "1.qkv").rounds == 4);
  naming.patterns.front().rounds = 5;
  CHECK_THROWS_WITH_AS(
      name_parameters(network, naming),
      doctest::Contains("in 5 rounds, and 'block[0].attn.q.weight' has 64 columns"), Error);
  CHECK_THROWS_WITH_AS(asked_naming(spec = ModelSpec(), "hf"),
                       doctest::Contains("this model has none"), Error);
  CHECK(asked_naming(spec, "torch") == "torch");
}

TEST_CASE("a tensor holds its parts in another order than layers have them") {
  const Network network = build_network(small("llama"));
  Naming naming = find_naming("hf-llama");
  naming.patterns.insert(naming.patterns.begin(),
                         {"{i}.vk", {"block[{i}].attn.v.weight", "block[{i}].attn.k.weight"}});
  const NamedParameters named = name_parameters(network, naming);
  const std::vector<ParameterInfo> infos = parameters(network);
  const NamedTensor& packed = find(named, "1.vk");
  REQUIRE(packed.parts.size() == 2);
  CHECK(infos[packed.parts[0]].path == "block[1].attn.v.weight");
  CHECK(infos[packed.parts[1]].path == "block[1].attn.k.weight");
  for (const NamedTensor& tensor : named.tensors)
    if (tensor.name != packed.name)
      for (const std::size_t part : tensor.parts)
        CHECK(std::find(packed.parts.begin(), packed.parts.end(), part) == packed.parts.end());
}

TEST_CASE("T5's gated layer has other names than its plain one") {
  ModelSpec spec = small("t5-base-encoder");
  const NamedParameters plain = name_parameters(build_network(spec), find_naming("hf-t5"));
  find(plain, "encoder.block.1.layer.1.DenseReluDense.wi.weight");
  spec.gated = true;
  const NamedParameters gated = name_parameters(build_network(spec), find_naming("hf-t5"));
  find(gated, "encoder.block.1.layer.1.DenseReluDense.wi_0.weight");
  find(gated, "encoder.block.1.layer.1.DenseReluDense.wi_1.weight");
}

TEST_CASE("convolutions are stored with their kernels") {
  const Network network = build_network(find_model("resnet-v1"));
  const NamedParameters torch = name_parameters(network, find_naming("torch"));
  const NamedParameters flax = name_parameters(network, find_naming("flax"));
  const auto four = [](const NamedTensor& tensor) { return tensor.shape.size() == 4; };
  const auto in_torch = std::find_if(torch.tensors.begin(), torch.tensors.end(), four);
  const auto in_flax = std::find_if(flax.tensors.begin(), flax.tensors.end(), four);
  REQUIRE(in_torch != torch.tensors.end());
  REQUIRE(in_flax != flax.tensors.end());
  const Shape t = in_torch->shape, f = in_flax->shape;
  CHECK(f == Shape{t[2], t[3], t[1], t[0]});
}

TEST_CASE("a model file names its tensors itself") {
  const std::string text = R"([model]
kind = "transformer"
layers = 2
width = 64
placement = "pre"
[names]
"layers.{i}.wqkv.weight" = "block[{i}].attn.q.weight + block[{i}].attn.k.weight + block[{i}].attn.v.weight"
"layers.{i}.wo.weight" = "block[{i}].attn.o.weight"
)";
  const ModelSpec spec = parse_model(text, "own.toml");
  const NamedParameters named = name_parameters(build_network(spec), naming_of(spec, "torch"));
  CHECK(find(named, "layers.1.wqkv.weight").shape == Shape{192, 64});
  CHECK(find(named, "layers.0.wo.weight").transposed);
  find(named, "block.1.ffn.in.weight");  // the rest by the naming

  const ModelSpec again = parse_model(model_text(spec), "again.toml");
  REQUIRE(again.names.patterns.size() == 2);
  CHECK(again.names.patterns[0].paths == spec.names.patterns[0].paths);
}

TEST_CASE("a model file says which tensors are others, and which are none of its") {
  const std::string text = R"([model]
kind = "transformer"
layers = 1
width = 64
[input]
kind = "tokens"
[names]
"tok.weight" = "embedding.weight"
"out.weight" = "head.weight"
ignored = ["rope.*", "mask"]
tied = { "out.weight" = "tok.weight" }
)";
  const ModelSpec spec = parse_model(text, "own.toml");
  const Naming naming = naming_of(spec, "torch");
  CHECK(find(name_parameters(build_network(spec), naming), "out.weight").tied_to == "tok.weight");
  const auto what = [&](const std::string& name) {
    for (const ExtraTensor& extra : naming.extras)
      if (match_pattern(extra.pattern, name)) return extra.what;
    return std::string();
  };
  CHECK(what("rope.freqs") == "ignored by [names]");
  CHECK(what("mask") == "ignored by [names]");
  CHECK(what("out.weight") == "the same tensor as tok.weight");
  CHECK(what("masks").empty());
  const ModelSpec again = parse_model(model_text(spec), "again.toml");
  CHECK(model_text(again) == model_text(spec));
  CHECK(again.names.ignored == spec.names.ignored);
  REQUIRE(again.names.tied.size() == 1);
  CHECK(again.names.tied[0].to == "tok.weight");
  // Without a pattern of its own too.
  const ModelSpec alone =
      parse_model("[model]\nkind = \"transformer\"\n[names]\nignored = [\"*\"]\n", "alone.toml");
  CHECK(naming_of(alone, "hf-gpt2").extras.back().pattern == "*");
  CHECK(parse_model(model_text(alone), "again.toml").names.ignored == alone.names.ignored);
}

TEST_CASE("names that could carry code are refused where they stand") {
  const auto refused = [](const std::string& line, const std::string& message) {
    const std::string text = "[model]\nkind = \"transformer\"\n[names]\n" + line + "\n";
    try {
      parse_model(text, "bad.toml");
      FAIL("accepted: " << line);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::input);
      CHECK(std::string(error.what()).find(message) != std::string::npos);
      CHECK(error.where().find("bad.toml:4:") == 0);
    }
  };
  refused(R"("a\"; import os; \"" = "block[{i}].attn.q.weight")", "cannot name a parameter");
  refused(R"("a\nb" = "block[{i}].attn.q.weight")", "cannot name a parameter");
  refused(R"("" = "block[{i}].attn.q.weight")", "cannot name a parameter");
  refused(R"("a" = "block['x']")", "cannot name a parameter");
  refused(R"("{k}" = "block[{i}].attn.q.weight")", "cannot name a parameter");
  refused(R"(layout = "out,out")", "unknown layout");
  refused(R"("a" = 3)", "a string");
  refused(R"(ignored = "rope.*")", "ignored must be a list of names, got a string");
  refused(R"(ignored = ["a*b"])", "cannot name a parameter");
  refused(R"(ignored = [3])", "a string");
  refused(R"(tied = "a")", "a table");
  refused(R"(tied = { "a" = "a" })", "'a' is tied to itself");
  refused(R"(tied = { "a" = "b\"c" })", "cannot name a parameter");
}

TEST_CASE("two parameters cannot share a name, nor unlike ones a tensor") {
  ModelSpec spec = small("pre-ln-12");
  spec.names.patterns = {{"x", {"block[{i}].attn.q.weight"}}};
  CHECK_THROWS_AS(name_parameters(build_network(spec), naming_of(spec, "torch")), Error);
  spec.names.patterns = {{"x.{i}", {"block[{i}].attn.q.weight", "block[{i}].ffn.out.weight"}}};
  CHECK_THROWS_AS(name_parameters(build_network(spec), naming_of(spec, "torch")), Error);
  spec.names.patterns = {{"x.{i}", {"block[{i}].attn.z.weight"}}};  // names nothing
  CHECK_THROWS_AS(name_parameters(build_network(spec), naming_of(spec, "torch")), Error);
  spec.names.patterns = {{"x.{i}", {"block[{i}].attn.q.weight", "block[{i}].attn.z.weight"}}};
  CHECK_THROWS_AS(name_parameters(build_network(spec), naming_of(spec, "torch")), Error);
}
