#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "../temporary_folder.hpp"
#include "scalecalc/architectures.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/named_parameters.hpp"

/// Narrow embeddings, frames in front of an encoder, and configs that hold several models.
namespace scalecalc {
namespace {

constexpr const char* kSizes =
    R"("hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, )"
    R"("intermediate_size": 96, )";

LibraryModel of(const std::string& type, const std::string& keys, const std::string& tower = "") {
  return parse_config("{" + keys + "\"model_type\": \"" + type + "\"}", "config.json", tower);
}

template <class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.what();
  }
  return "";
}

/// Every tensor of the library that stands for parameters of the program, and those that none does.
void check_names(const LibraryModel& model, const std::vector<std::string>& unnamed) {
  REQUIRE(model.spec);
  const Network network = build_network(*model.spec);
  const NamedParameters named = name_parameters(network, naming_of(*model.spec, "scalecalc"));
  const std::vector<ParameterInfo> all = parameters(network);
  std::vector<std::string> found;
  for (const std::size_t index : named.unnamed) found.push_back(all[index].path);
  CHECK(found == unnamed);
}

bool has(const std::vector<std::string>& remarks, const std::string& begin) {
  return std::any_of(remarks.begin(), remarks.end(),
                     [&](const std::string& remark) { return remark.starts_with(begin); });
}

constexpr const char* kTextTower = R"("text_config": {"hidden_size": 32, "num_attention_heads": 4,
    "num_hidden_layers": 1, "vocab_size": 50}, )";
constexpr const char* kVisionTower = R"("vision_config": {"hidden_size": 48,
    "num_attention_heads": 4, "num_hidden_layers": 3, "image_size": 32, "patch_size": 8}, )";

}  // namespace

TEST_CASE("ELECTRA's narrow embedding has a map behind it, and its generator one back") {
  const std::string narrow = std::string(kSizes) + R"("embedding_size": 16, )";
  const LibraryModel generator =
      of("electra", narrow + R"("architectures": ["ElectraForMaskedLM"], )");
  REQUIRE(generator.spec);
  CHECK(generator.spec->input.embedding_width == 16);
  CHECK(generator.spec->tie_head);
  CHECK(generator.spec->head_transform);
  CHECK(generator.remarks.empty());
  check_names(generator, {});
  const LibraryModel bare = of("electra", narrow + R"("architectures": ["ElectraModel"], )");
  CHECK_FALSE(bare.spec->tie_head);
  CHECK(has(bare.remarks, "the head is one matrix of all words"));
  check_names(bare, {});  // of the generator's name
  const LibraryModel wide = of("electra", std::string(kSizes) + R"("embedding_size": 64, )");
  CHECK(wide.spec->input.embedding_width == 0);
}

TEST_CASE("Whisper's encoder reads frames, and its keys have no biases") {
  const std::string sizes =
      R"("d_model": 64, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
         "encoder_layers": 2, "decoder_layers": 3, "encoder_ffn_dim": 96, "vocab_size": 50,
         "pad_token_id": 0, "num_mel_bins": 10, "max_source_positions": 20, "max_target_positions": 12, )";
  const LibraryModel model = of("whisper", sizes + R"("decoder_ffn_dim": 96, )");
  REQUIRE(model.spec);
  const ModelSpec& spec = *model.spec;
  CHECK(spec.encoder_decoder);
  CHECK(spec.memory.features == 10);
  CHECK(spec.memory.sinusoids);
  CHECK(build_network(spec).memory_sequence == 40);
  CHECK(decoder_depth(spec) == 3);
  CHECK(biases_of(spec).qkv);
  CHECK_FALSE(biases_of(spec).k);
  check_names(model, {});
  for (const auto& [keys, why] :
       {std::pair{R"("decoder_ffn_dim": 80, )", "the ffn of its stacks have other widths"},
        {R"("decoder_ffn_dim": 96, "architectures": ["WhisperForCausalLM"], )",
         "the decoder alone has cross-attention that nothing feeds"}}) {
    const LibraryModel other = of("whisper", sizes + keys);
    CHECK_FALSE(other.spec);
    CHECK(other.why_no_spec == why);
  }
}

TEST_CASE("a pair of towers is described tower by tower") {
  for (const char* type : {"clip", "siglip"}) {
    CAPTURE(type);
    const std::string keys = std::string(kTextTower) + kVisionTower + R"("projection_dim": 24, )";
    const LibraryModel pair = of(type, keys);
    CHECK_FALSE(pair.spec);
    CHECK(pair.towers == std::vector<std::string>{"text", "vision"});
    const LibraryModel text = of(type, keys, "text"), vision = of(type, keys, "vision");
    CHECK(text.architecture == std::string(type) + "_text_model");
    CHECK(vision.architecture == std::string(type) + "_vision_model");
    CHECK(text.source == "config.json#text");
    REQUIRE(text.spec);
    REQUIRE(vision.spec);
    CHECK(text.spec->width == 32);
    CHECK(vision.spec->layers == 3);
    const bool is_clip = std::string_view(type) == "clip";
    CHECK(text.spec->vocab == 50);
    CHECK(text.spec->causal == is_clip);
    CHECK(text.spec->pool == Pooling::last_token);
    CHECK(text.spec->head_classes == (is_clip ? 24 : 32));
    CHECK(text.spec->head_bias == !is_clip);
    CHECK(has(text.remarks, "the loss is that of classes here"));
    check_names(text, {});
    // What the pair has of the tower starts as the tower alone does.
    for (const LibraryTensor& tensor : text.tensors) {
      if (tensor.name.starts_with("text_projection")) continue;
      const auto found = std::find_if(
          pair.tensors.begin(), pair.tensors.end(),
          [&](const LibraryTensor& other) { return other.name == "text_model." + tensor.name; });
      CAPTURE(tensor.name);
      REQUIRE(found != pair.tensors.end());
      CHECK(found->shape == tensor.shape);
      CHECK(found->std == tensor.std);
    }
  }
}

TEST_CASE("a tower of weights alone is that of their config") {
  for (const char* type : {"clip", "siglip"}) {
    CAPTURE(type);
    const LibraryModel pair = of(type, std::string(kTextTower) + kVisionTower);
    std::vector<NamedShape> shapes;
    for (const LibraryTensor& tensor : pair.tensors) shapes.push_back({tensor.name, tensor.shape});
    const LibraryModel found = recognise(shapes, "w.safetensors").front();
    REQUIRE(found.unlike.empty());
    CHECK(found.towers == pair.towers);
    for (const std::string& name : pair.towers) {
      CAPTURE(name);
      const LibraryModel tower = tower_of(found, name),
                         due = of(type, std::string(kTextTower) + kVisionTower, name);
      CHECK(tower.source == "w.safetensors#" + name);
      REQUIRE(tower.spec);
      CHECK(tower.spec->width == due.spec->width);
      CHECK(tower.spec->layers == due.spec->layers);
      REQUIRE(tower.tensors.size() == due.tensors.size());
      for (std::size_t i = 0; i < due.tensors.size(); ++i) {
        CHECK(tower.tensors[i].name == due.tensors[i].name);
        CHECK(tower.tensors[i].shape == due.tensors[i].shape);
      }
    }
    CHECK(refusal([&] { tower_of(found, "texts"); }).starts_with("unknown model in this config"));
  }
  // No tensor tells the heads: where the library's 12 do not divide the width they have 64
  // features.
  const LibraryModel large = of("clip", R"("vision_config": {"hidden_size": 1024,
      "num_attention_heads": 16, "intermediate_size": 64, "num_hidden_layers": 1}, )");
  std::vector<NamedShape> shapes;
  for (const LibraryTensor& tensor : large.tensors) shapes.push_back({tensor.name, tensor.shape});
  const LibraryModel vision = tower_of(recognise(shapes, "w.safetensors").front(), "vision");
  REQUIRE(vision.spec);
  CHECK(vision.spec->heads == 16);
}

TEST_CASE("of a model that reads texts and images the text's is the description") {
  const std::string keys = std::string(kTextTower) + kVisionTower + R"("architectures": null, )";
  const LibraryModel model = of("gemma3", keys);
  REQUIRE(model.spec);
  CHECK(model.spec->width == 32);
  CHECK(model.spec->tie_head);
  CHECK(has(model.remarks, "words alone are read here"));
  CHECK_FALSE(of("gemma3", keys + R"("tie_word_embeddings": false, )").spec->tie_head);
  CHECK(of("gemma3", keys, "vision").spec->layers == 3);
  ModelSpec fewer = *model.spec;
  fewer.layers = 5;
  fewer.tie_head = false;
  const std::optional<LibraryModel> other = resized(model, fewer);  // keys inside text_config
  REQUIRE(other);
  CHECK(other->spec->layers == 5);
  CHECK_FALSE(other->spec->tie_head);
  CHECK(other->tensors.size() > model.tensors.size());
}

TEST_CASE("a tower is named behind the path, where the config has it") {
  CHECK(refusal([] { of("clip", "", "texts"); }) ==
        "unknown model in this config 'texts' (config.json#texts); did you mean 'text'? known: "
        "text, vision");
  CHECK(refusal([] { of("llama", "", "text"); }) ==
        "a config of llama holds one model (config.json#text); leave #text out");
  CHECK(refusal([] {
          of("clip", R"("vision_config": {"hidden_size": 50, "num_attention_heads": 4}, )",
             "vision");
        }).starts_with("hidden_size is no multiple of num_attention_heads (config.json#vision"));
  for (const char* wrong : {"3", "[1]", "null", R"({"hidden_size": "x"})"}) {
    CAPTURE(wrong);
    const std::string line =
        refusal([&] { of("clip", R"("text_config": )" + std::string(wrong) + ", ", "text"); });
    CHECK(line.find('\n') == std::string::npos);
    CHECK(line.empty() == (wrong[0] != '{'));  // what is no config is taken for an empty one
  }
  const testing::TemporaryFolder folder;
  const std::string path = folder / "config.json";
  std::ofstream(path) << R"({"model_type": "clip"})";
  CHECK(is_config(path + "#text"));
  CHECK(is_config(folder.path.string() + "#vision"));
  CHECK(read_config(folder.path.string() + "#vision").architecture == "clip_vision_model");
  CHECK(tower_path("a/b.json#text").path == "a/b.json");
  CHECK(tower_path("a/b.json#text").tower == "text");
  CHECK(tower_path("#text").tower.empty());
  const std::string other = folder / "a#text.json";
  CHECK(tower_path(other + "#").path == other);
  std::ofstream(other) << R"({"model_type": "llama"})";
  CHECK(read_config(other).architecture == "llama");
}

}  // namespace scalecalc
