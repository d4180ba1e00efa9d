#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <set>

#include "architectures/describe.hpp"
#include "compare.hpp"

namespace scalecalc::architectures {
namespace {

std::vector<std::filesystem::path> models() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(SCALECALC_MODELS_DIR))
    files.push_back(entry.path());
  return files;
}

nlohmann::json read(const std::filesystem::path& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

}  // namespace

TEST_CASE("every tensor of every model that the library makes has our name, shape and moments") {
  for (const std::filesystem::path& path : models()) {
    CAPTURE(path.filename().string());
    const nlohmann::json theirs = read(path);
    const LibraryModel ours = parse_config(theirs.at("config").dump(), "config.json");
    for (const std::string& line : differences(ours, theirs)) FAIL_CHECK(line);
  }
}

// Norms of q and k over all heads at once are no matrices of ours, and tables of biases none of a
// block; a tower of images beside a model of texts is another model.
TEST_CASE("the blocks of a model in our words have as many weights as the library's") {
  for (const std::filesystem::path& path : models()) {
    CAPTURE(path.filename().string());
    const LibraryModel model = parse_config(read(path).at("config").dump(), "config.json");
    if (!model.spec || model.spec->kind != ModelSpec::Kind::transformer) continue;
    std::int64_t theirs = 0, ours = 0;
    for (const LibraryTensor& tensor : model.tensors)
      if (tensor.shape.size() >= 2 &&
          (name_pattern(tensor.name) != tensor.name ||
           tensor.name.starts_with("encoder.layers.encoder_layer_")) &&
          tensor.name.find("norm") == std::string::npos &&
          tensor.name.find("vision_tower.") == std::string::npos &&
          tensor.name.find("relative_attention_bias") == std::string::npos)
        theirs += std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::int64_t{1},
                                  std::multiplies<>());
    for (const ParameterInfo& info : parameters(build_network(*model.spec)))
      if ((info.in_branch || info.role == "router") && info.is_matrix)
        ours += info.rows * info.columns;
    CHECK(ours == theirs);
  }
}

TEST_CASE("parallel blocks are known from the config") {
  const auto spec_of = [](const std::string& type, const std::string& more) {
    const std::string text = R"({"model_type": ")" + type + R"(", "hidden_size": 64,
        "num_hidden_layers": 1, "num_attention_heads": 4)" +
                             more + "}";
    const LibraryModel model = parse_config(text, "config.json");
    REQUIRE(model.spec);
    return *model.spec;
  };
  for (const char* type : {"gptj", "codegen", "phi", "cohere"}) {
    CHECK(spec_of(type, "").parallel);
    CHECK_FALSE(spec_of(type, "").branch_norms);
  }
  CHECK(spec_of("gpt_neox", "").branch_norms);
  CHECK_FALSE(spec_of("gpt_neox", R"(, "use_parallel_residual": false)").parallel);
  const ModelSpec falcon = spec_of("falcon", "");
  CHECK(falcon.parallel);
  CHECK_FALSE(falcon.branch_norms);
  CHECK(falcon.kv_heads == 1);
  const ModelSpec second =
      spec_of("falcon", R"(, "new_decoder_architecture": true, "num_kv_heads": 2)");
  CHECK(second.branch_norms);
  CHECK(second.kv_heads == 2);
  CHECK_FALSE(spec_of("falcon", R"(, "new_decoder_architecture": true,
                                   "num_ln_in_parallel_attn": 1)")
                  .branch_norms);
  CHECK_FALSE(spec_of("falcon", R"(, "parallel_attn": false)").parallel);
  CHECK(spec_of("phi", R"(, "head_dim": 8)").head_width == 8);
  CHECK(spec_of("phi", R"(, "head_dim": 16)").head_width == 0);
}

TEST_CASE("every architecture has models to compare with") {
  std::set<std::string> compared;
  for (const std::filesystem::path& path : models())
    compared.insert(read(path).at("config").at("model_type").get<std::string>());
  for (const KnownArchitecture& architecture : known_architectures()) {
    CAPTURE(architecture.model_type);
    CHECK(compared.count(architecture.model_type) == 1);
  }
}

}  // namespace scalecalc::architectures
