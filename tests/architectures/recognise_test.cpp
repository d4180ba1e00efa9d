#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "scalecalc/architectures.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc {
namespace {

std::vector<NamedShape> outlines(const LibraryModel& model, const std::string& prefix = {}) {
  std::vector<NamedShape> shapes;
  for (const LibraryTensor& tensor : model.tensors)
    shapes.push_back({prefix + tensor.name, tensor.shape});
  return shapes;
}

LibraryModel described_by(const nlohmann::json& config) {
  return parse_config(config.dump(), "config.json");
}

std::vector<nlohmann::json> kept_configs() {
  std::vector<nlohmann::json> configs;
  for (const auto& entry : std::filesystem::directory_iterator(SCALECALC_MODELS_DIR)) {
    std::ifstream file(entry.path());
    configs.push_back(nlohmann::json::parse(file).at("config"));
  }
  return configs;
}

/// Whether what was taken is what the config says.
bool took_right(const LibraryModel& found, const nlohmann::json& config) {
  return std::all_of(found.taken.begin(), found.taken.end(), [&](const std::string& taken) {
    std::string key = "/" + taken.substr(0, taken.find(" = "));
    std::replace(key.begin(), key.end(), '.', '/');
    const nlohmann::json::json_pointer at(key);
    return !config.contains(at) ||
           config.at(at) == nlohmann::json::parse(taken.substr(taken.find(" = ") + 3));
  });
}

/// Every tensor has the same name, shape and, `with_rules`, moments.
bool is_same(const LibraryModel& a, const LibraryModel& b, bool with_rules) {
  if (a.tensors.size() != b.tensors.size()) return false;
  return std::all_of(a.tensors.begin(), a.tensors.end(), [&](const LibraryTensor& one) {
    return std::any_of(b.tensors.begin(), b.tensors.end(), [&](const LibraryTensor& other) {
      return one.name == other.name && one.shape == other.shape &&
             (!with_rules || (one.mean == other.mean && one.std == other.std));
    });
  });
}

void check_recognised(const nlohmann::json& config, const std::string& prefix = {}) {
  const LibraryModel made = described_by(config);
  CAPTURE(made.class_name);
  CAPTURE(prefix);
  const std::vector<LibraryModel> found = recognise(outlines(made, prefix), "w.safetensors");
  const bool is_there = std::any_of(found.begin(), found.end(), [&](const LibraryModel& one) {
    return one.unlike.empty() && is_same(one, made, took_right(one, config));
  });
  CHECK(is_there);
}

}  // namespace

TEST_CASE("models that the library made are recognised by names and shapes") {
  for (const nlohmann::json& config : kept_configs()) check_recognised(config);
}

TEST_CASE("every class of every architecture is recognised at its default size") {
  for (const KnownArchitecture& architecture : known_architectures())
    for (const std::string& class_name : architecture.classes)
      check_recognised({{"model_type", architecture.model_type}, {"architectures", {class_name}}});
}

TEST_CASE("sizes in use are recognised") {
  const auto gpt2 = [](int width, int layers, int heads) {
    return nlohmann::json{
        {"model_type", "gpt2"}, {"n_embd", width}, {"n_layer", layers}, {"n_head", heads}};
  };
  for (const auto& config :
       {gpt2(768, 12, 12), gpt2(1024, 24, 16), gpt2(1280, 36, 20), gpt2(1600, 48, 25)}) {
    check_recognised(config);
    const auto found = recognise(outlines(described_by(config)), "w.safetensors");
    CHECK(found.front().architecture == "gpt2");
    REQUIRE(found.front().spec);
    CHECK(found.front().spec->heads == config["n_head"]);
  }
  const nlohmann::json qwen = {{"model_type", "qwen2"},    {"hidden_size", 3584},
                               {"num_hidden_layers", 28},  {"num_attention_heads", 28},
                               {"num_key_value_heads", 4}, {"intermediate_size", 18944},
                               {"vocab_size", 152064}};
  check_recognised(qwen);
  CHECK(recognise(outlines(described_by(qwen)), "w").front().architecture == "qwen2");
}

TEST_CASE("a tied tensor may stand under its second name alone") {
  int tried = 0;
  for (const KnownArchitecture& architecture : known_architectures()) {
    const LibraryModel made = described_by({{"model_type", architecture.model_type}});
    std::vector<NamedShape> shapes = outlines(made);
    bool has_tied = false;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      // Of stacks that share a table no one name is the second.
      if (made.tensors[i].tied.size() != 1) continue;
      shapes[i].name = made.tensors[i].tied.front();
      has_tied = true;
    }
    if (!has_tied || !made.spec) continue;
    CAPTURE(made.class_name);
    ++tried;
    const std::vector<LibraryModel> found = recognise(shapes, "w.safetensors");
    CHECK(std::any_of(found.begin(), found.end(), [&](const LibraryModel& one) {
      return one.unlike.empty() && is_same(one, made, false);
    }));
  }
  CHECK(tried > 10);
}

TEST_CASE("prefixes of wrappers are left out") {
  for (const nlohmann::json& config : kept_configs())
    for (const char* prefix : {"module.", "module._orig_mod."}) check_recognised(config, prefix);
}

TEST_CASE("the prefix of the model inside one with a head may be left out") {
  for (const char* type : {"gpt2", "bert", "bloom", "vit"}) {
    CAPTURE(type);
    const LibraryModel made = described_by({{"model_type", type}, {"tie_word_embeddings", false}});
    std::vector<NamedShape> shapes = outlines(made);
    const std::string prefix = shapes.front().name.substr(0, shapes.front().name.find('.') + 1);
    for (NamedShape& tensor : shapes)
      if (tensor.name.starts_with(prefix)) tensor.name.erase(0, prefix.size());
    const LibraryModel found = recognise(shapes, "w.safetensors").front();
    CHECK(found.unlike.empty());
    CHECK(is_same(found, made, true));
  }
}

TEST_CASE("architectures that share names are told apart by what they have, or said to be alike") {
  const auto first = [](const std::string& type) {
    return recognise(outlines(described_by({{"model_type", type}})), "w.safetensors").front();
  };
  for (const char* type :
       {"llama", "mistral", "qwen2", "qwen3", "olmo", "olmo2", "gemma", "gemma2", "gemma3_text"}) {
    CAPTURE(type);
    CHECK(first(type).architecture == type);
  }
  const LibraryModel llama = first("llama");
  CHECK(std::count(llama.alike.begin(), llama.alike.end(), "mistral") == 1);
}

TEST_CASE("one tensor of another size is named, whichever it is") {
  const nlohmann::json config = {{"model_type", "llama"},    {"num_hidden_layers", 3},
                                 {"hidden_size", 96},        {"num_attention_heads", 6},
                                 {"intermediate_size", 200}, {"vocab_size", 150}};
  const LibraryModel made = described_by(config);
  for (std::size_t k = 0; k < made.tensors.size(); ++k) {
    if (made.tensors[k].name.find("layers.") == std::string::npos) continue;
    CAPTURE(made.tensors[k].name);
    std::vector<NamedShape> shapes = outlines(made);
    shapes[k].shape[0] += 32;
    const LibraryModel found = recognise(shapes, "w.safetensors").front();
    CHECK(found.unlike.starts_with(made.tensors[k].name + " is ("));
  }
}

TEST_CASE("what is known of no architecture is refused in words") {
  const auto refusal = [](const std::vector<NamedShape>& tensors) -> std::string {
    try {
      recognise(tensors, "w.safetensors");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::input);
      return error.what();
    }
    return "";
  };
  CHECK(refusal({}).find("no known architecture") != std::string::npos);
  CHECK(refusal({{"x", {3}}, {"y.0.weight", {3, 4}}}).find("no known") != std::string::npos);
  CHECK(refusal({{"", {}}, {".", {1}}, {"..weight", {1}}}).find("no known") != std::string::npos);
}

TEST_CASE("any file is recognised or refused in words") {
  std::mt19937_64 random(7);
  const std::vector<std::int64_t> sizes = {0, 1, 2, 3, 7, 48, 1000003, std::int64_t{1} << 62};
  for (const nlohmann::json& config : kept_configs()) {
    const std::vector<NamedShape> right = outlines(described_by(config));
    for (int trial = 0; trial < 2; ++trial) {
      std::vector<NamedShape> shapes = right;
      for (int change = 0; change < 1 + 6 * trial; ++change) {
        NamedShape& one = shapes[random() % shapes.size()];
        const NamedShape& other = right[random() % right.size()];
        switch (random() % 5) {
          case 0: one.shape.clear(); break;
          case 1: one.shape = other.shape; break;
          case 2: one.name = other.name + ".0"; break;
          case 3: one.shape.push_back(sizes[random() % sizes.size()]); break;
          case 4:
            one.shape = {sizes[random() % sizes.size()], sizes[random() % sizes.size()]};
            break;
        }
      }
      try {
        for (const LibraryModel& model : recognise(shapes, "w.safetensors"))
          CHECK(!model.tensors.empty());
      } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::input);
      }
    }
  }
}

}  // namespace scalecalc
