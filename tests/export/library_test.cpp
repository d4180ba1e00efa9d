#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "export/rules.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/export.hpp"
#include "temporary_folder.hpp"
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
  const weights::Reader file(path);
  for (const weights::Tensor& tensor : file.tensors()) {
    if (tensor.name != name) continue;
    std::vector<double> values(static_cast<std::size_t>(tensor.elements));
    file.read(tensor, 0, tensor.elements, values.data());
    return values;
  }
  FAIL("no tensor " << name);
  return {};
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
