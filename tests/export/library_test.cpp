#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "export/rules.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/export.hpp"
#include "temporary_folder.hpp"
#include "tensor_values.hpp"
#include "tolerance.hpp"
#include "weights/safetensors.hpp"

using namespace scalecalc;
using namespace scalecalc::export_room;

namespace {

const char* const t5 = R"({"model_type": "t5", "vocab_size": 40, "d_model": 16, "d_kv": 4,
                           "d_ff": 24, "num_layers": 3, "num_heads": 4})";
const char* const llama = R"({"model_type": "llama", "vocab_size": 50, "hidden_size": 16,
                              "intermediate_size": 24, "num_hidden_layers": 2,
                              "num_attention_heads": 4, "head_dim": 8, "pad_token_id": 3,
                              "max_position_embeddings": 32})";

/// A root, a gain, a ratio: of what a std is made.
constexpr double kOperations = 16;

LibraryPlan plan_of(const char* config) {
  return *library_plan(parse_config(config, "config.json"), "config.json");
}

const Rule& find_rule(const std::vector<Rule>& rules, const std::string& pattern) {
  const auto found = std::find_if(rules.begin(), rules.end(),
                                  [&](const Rule& rule) { return rule.first.pattern == pattern; });
  if (found == rules.end()) FAIL("no rule " << pattern);
  return *found;
}

std::vector<double> values_of(const std::string& path, const std::string& name) {
  return test::tensor_values(weights::Reader(path), name);
}

}  // namespace

TEST_CASE("numbers that differ between names are indices, others stay") {
  const std::vector<Rule> rules = rules_of(code_plan(plan_of(t5)));
  const Rule& q = find_rule(rules, "encoder.block.{i}.layer.0.SelfAttention.q.weight");
  CHECK(q.tensors == 3);
  CHECK(q.indices.empty());
  CHECK(find_rule(rules, "decoder.block.{i}.layer.{j}.layer_norm.weight").tensors == 9);
  CHECK(find_rule(rules, "shared.weight").tensors == 1);
  CHECK(find_rule(rules, "lm_head.weight").first.may_be_absent);  // another name of shared.weight
}

TEST_CASE("names begin with the module that holds more than half of the tensors") {
  CHECK(code_plan(plan_of(llama)).own_prefix == "model.");
  const std::string bare = R"({"model_type": "gpt2", "architectures": ["GPT2Model"],
                               "n_layer": 3, "n_embd": 8, "n_head": 2})";
  CHECK(code_plan(plan_of(bare.c_str())).own_prefix == "h.");
}

TEST_CASE("a library's tensors are filled as it draws them") {
  const std::vector<Rule> rules = rules_of(code_plan(plan_of(llama)));
  const Rule& embedding = find_rule(rules, "model.embed_tokens.weight");
  CHECK(embedding.first.zero_row == 3);
  CHECK(embedding.first.fills.front().numbers == std::vector<double>{0, 0.02});
  CHECK(find_rule(rules, "model.norm.weight").first.fills.front().numbers ==
        std::vector<double>{1});
}

TEST_CASE("weights of a library have its constants, its zero rows and a seed's draws") {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "w.safetensors", other = folder / "v.safetensors";
  write_weights(plan_of(llama), path, {1, 1, "f32"});
  CHECK(values_of(path, "model.norm.weight") == std::vector<double>(16, 1.0));
  const std::vector<double> embedding = values_of(path, "model.embed_tokens.weight");
  for (std::size_t i = 0; i < embedding.size(); ++i) CHECK((embedding[i] == 0) == (i / 16 == 3));
  const std::string name = "model.layers.1.mlp.up_proj.weight";
  write_weights(plan_of(llama), other, {1, 1, "f32"});
  CHECK(values_of(path, name) == values_of(other, name));
  write_weights(plan_of(llama), other, {2, 1, "f32"});
  CHECK(values_of(path, name) != values_of(other, name));
  CHECK(values_of(path, name) != values_of(path, "model.layers.0.mlp.up_proj.weight"));
}

TEST_CASE("values that a library lists are listed") {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "w.safetensors";
  write_weights(plan_of(R"({"model_type": "mamba", "hidden_size": 16, "state_size": 5,
                            "num_hidden_layers": 1, "vocab_size": 20})"),
                path);
  const std::vector<double> logs = values_of(path, "backbone.layers.0.mixer.A_log");
  for (std::size_t i = 0; i < logs.size(); ++i)
    CHECK(logs[i] == static_cast<double>(std::log(static_cast<float>(i % 5 + 1))));
  // Whisper's positions: sines of all rates, then cosines; the first row is 0 and 1.
  write_weights(plan_of(R"({"model_type": "whisper", "d_model": 12, "encoder_layers": 1,
                            "decoder_layers": 1, "vocab_size": 60000})"),
                path);
  const std::vector<double> positions = values_of(path, "model.encoder.embed_positions.weight");
  for (std::size_t i = 0; i < 12; ++i) CHECK(positions[i] == (i < 6 ? 0.0 : 1.0));
  CHECK(positions[12] == static_cast<double>(std::sin(1.0F)));
  CHECK(positions[18] == static_cast<double>(std::cos(1.0F)));
}

namespace {

/// The code of a config whose spec is changed.
template <class Change>
CodePlan changed(const std::string& config, const Change& change) {
  const LibraryModel library = parse_config(config, "config.json");
  ModelSpec spec = library.spec.value();
  change(spec);
  return code_plan(library_plan(library, "config.json", &spec).value());
}

void halve_branches(ModelSpec& spec) {
  spec.lambda = Expr(Rational(1, 2));
}

}  // namespace

TEST_CASE("options change the tensors whose plan they change, by the same factor") {
  const std::vector<Rule> before = rules_of(code_plan(plan_of(llama)));
  const std::vector<Rule> after = rules_of(changed(llama, halve_branches));
  REQUIRE(before.size() == after.size());
  for (const Rule& rule : after) {
    CAPTURE(rule.first.pattern);
    const Fill old = find_rule(before, rule.first.pattern).first.fills.front();
    const Fill fill = rule.first.fills.front();
    bool in_branch = false;  // lambda is no factor of q, k and a gate
    for (const char* map : {"v_proj", "o_proj", "up_proj", "down_proj"})
      in_branch = in_branch || rule.first.pattern.find(map) != std::string::npos;
    if (in_branch)
      CHECK(fill.value == testing::rounded(old.value / 2, kOperations));
    else
      CHECK(fill == old);
    CHECK(rule.first.zero_row == find_rule(before, rule.first.pattern).first.zero_row);
  }
}

TEST_CASE("another distribution keeps the library's std, and gains of 1 + w stay zero") {
  const std::string gemma =
      R"({"model_type": "gemma", "vocab_size": 50, "hidden_size": 16, "intermediate_size": 24,
          "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2,
          "head_dim": 8, "max_position_embeddings": 32})";
  const std::vector<Rule> rules = rules_of(
      changed(gemma, [](ModelSpec& spec) { spec.init.distribution = Distribution::uniform; }));
  const Fill& q = find_rule(rules, "model.layers.0.self_attn.q_proj.weight").first.fills.front();
  CHECK(q.start == "uniform");
  CHECK(q.value == testing::rounded(0.02, kOperations));
  CHECK(q.numbers[1] == testing::rounded(0.02 * std::sqrt(3.0), kOperations));
  CHECK(find_rule(rules, "model.norm.weight").first.fills.front().value == 0);
}

TEST_CASE("parts of a packed tensor change by themselves") {
  const std::string phi =
      R"({"model_type": "phi3", "vocab_size": 50, "hidden_size": 16, "intermediate_size": 24,
          "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2,
          "pad_token_id": 0, "max_position_embeddings": 32})";
  const std::vector<Rule> rules = rules_of(changed(phi, halve_branches));
  const std::vector<Fill>& parts =
      find_rule(rules, "model.layers.0.self_attn.qkv_proj.weight").first.fills;
  REQUIRE(parts.size() == 3);
  const std::int64_t lengths[] = {16, 8, 8};
  const double std[] = {0.02, 0.02, 0.01};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(parts[i].length == lengths[i]);
    CHECK(parts[i].value == testing::rounded(std[i], kOperations));
  }
}

TEST_CASE("weights have the parts of a tensor side by side in either layout") {
  const LibraryModel library = parse_config(
      R"({"model_type": "gpt2", "vocab_size": 30, "n_embd": 16, "n_layer": 1, "n_head": 4,
          "n_positions": 8})",
      "config.json");
  ModelSpec spec = library.spec.value();
  spec.lambda = Expr(Rational(1, 1000));
  const testing::TemporaryFolder folder;
  const std::string path = folder / "w.safetensors";
  write_weights(library_plan(library, "config.json", &spec).value(), path);
  const std::vector<double> packed = values_of(path, "transformer.h.0.attn.c_attn.weight");
  double largest = 0;
  for (std::size_t i = 0; i < packed.size(); ++i) {
    if (i % 48 < 32) continue;  // columns of (in, q k v)
    largest = std::max(largest, std::fabs(packed[i]));
  }
  // 256 normal draws of std 0.00002 stay within 7 of them with probability 1 - 10^-9.
  CHECK(largest < 7 * 0.02 / 1000);
  CHECK(largest > 0);
}

TEST_CASE(
    "keys of the config follow the options; a model of other parameters is not the library's") {
  const LibraryModel library = parse_config(llama, "config.json");
  ModelSpec deeper = library.spec.value();
  deeper.layers = 3;
  const std::optional<LibraryPlan> plan = library_plan(library, "config.json", &deeper);
  REQUIRE(plan.has_value());
  CHECK(plan->library.spec->layers == 3);
  CHECK(plan->library.tensors.size() > library.tensors.size());
  ModelSpec with_biases = library.spec.value();
  with_biases.head_bias = true;
  CHECK_FALSE(library_plan(library, "config.json", &with_biases).has_value());
}

TEST_CASE("a library's model has what the options change, part by part where a tensor is packed") {
  const LibraryModel library = parse_config(
      R"({"model_type": "gpt_neox", "vocab_size": 30, "hidden_size": 16, "num_hidden_layers": 1,
          "num_attention_heads": 4, "intermediate_size": 24})",
      "config.json");
  ModelSpec spec = library.spec.value();
  spec.lambda = Expr(Rational(1, 2));
  const LibraryModel made = library_model(library_plan(library, "config.json", &spec).value());
  const auto tensor = [&](const LibraryModel& model, const std::string& name) {
    const auto found = std::find_if(model.tensors.begin(), model.tensors.end(),
                                    [&](const LibraryTensor& one) { return one.name == name; });
    REQUIRE(found != model.tensors.end());
    return *found;
  };
  const LibraryTensor packed = tensor(made, "gpt_neox.layers.0.attention.query_key_value.weight");
  REQUIRE(packed.parts.size() == 3);
  CHECK(packed.parts[0].std == 0.02);
  CHECK(packed.parts[2].name == "v");
  CHECK(packed.parts[2].std == 0.01);
  CHECK(packed.parts[2].shape == std::vector<std::int64_t>{4, 16});  // of one head
  CHECK(tensor(made, "gpt_neox.layers.0.mlp.dense_4h_to_h.weight").std == 0.01);
  for (const char* kept : {"gpt_neox.embed_in.weight", "gpt_neox.final_layer_norm.weight"})
    CHECK(tensor(made, kept).rule == tensor(library, kept).rule);
}

TEST_CASE("a matrix that has no tensor of its own cannot be changed") {
  const std::string bloom =
      R"({"model_type": "bloom", "vocab_size": 50, "hidden_size": 16, "n_layer": 1, "n_head": 4})";
  LibraryModel library = parse_config(bloom, "config.json");
  library.spec->init.names = "hf-llama";
  ModelSpec spec = library.spec.value();
  spec.init.scheme = "he";
  try {
    code_plan(library_plan(library, "config.json", &spec).value());
    FAIL("bloom calls no tensor q_proj");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("block[0].attn.q.weight") != std::string::npos);
  }
}

TEST_CASE("every matrix of a described architecture has a tensor under its library's names") {
  int described = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SCALECALC_MODELS_DIR)) {
    CAPTURE(entry.path().filename().string());
    std::ifstream file(entry.path());
    const std::string config = nlohmann::json::parse(file).at("config").dump();
    const LibraryModel library = parse_config(config, "config.json");
    if (!library.spec) continue;
    ++described;
    if (library.spec->experts > 0) {  // one tensor packs the experts of a block, which is refused
      CHECK_THROWS_AS(changed(config, [](ModelSpec& spec) { spec.init.scheme = "he"; }), Error);
      continue;
    }
    // Weights of a list have stds of their own, which no scheme changes.
    const bool is_list = library.spec->kind == ModelSpec::Kind::layers;
    const CodePlan code = changed(config, [&](ModelSpec& spec) {
      if (is_list)
        halve_branches(spec);
      else
        spec.init.scheme = "he";
    });
    for (const std::string& path : code.unnamed)
      CHECK((path.starts_with("head.") || path.starts_with("transform.")));
    const CodePlan own = code_plan(library_plan(library, "config.json").value());
    std::size_t differing = 0;
    for (std::size_t i = 0; i < own.tensors.size(); ++i)
      differing += own.tensors[i].fills != code.tensors[i].fills;
    // Of every block q, k, v, o and two maps, of which q, k and v, and a gate and its map, may be
    // one.
    CHECK(differing >= 4 * static_cast<std::size_t>(library.spec->layers));
  }
  CHECK(described > 50);
}
