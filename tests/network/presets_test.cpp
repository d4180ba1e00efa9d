#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "scalecalc/network.hpp"

using namespace scalecalc;

namespace {

std::int64_t parameters_of(const std::string& name) {
  return parameter_count(build_network(find_model(name)));
}

}  // namespace

TEST_CASE("each file of tables/presets is in the program as it is") {
  const std::filesystem::path folder = std::filesystem::path(SCALECALC_TABLES_DIR) / "presets";
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const Preset& found = preset(entry.path().stem().string());
    CHECK(found.toml == text);
    CHECK(text.starts_with("# " + found.title + "\n"));
    ++files;
  }
  CHECK(presets().size() == files);
  CHECK(files == 30);
}

TEST_CASE("every preset is laid out") {
  for (const Preset& preset : presets()) {
    CAPTURE(preset.name);
    CHECK_NOTHROW(build_network(find_model(preset.name)));
  }
}

// What was published, and what these models have beside it or lack.
TEST_CASE("presets have the published sizes") {
  // 124439808 with the head tied to the embedding.
  CHECK(parameters_of("gpt2") == 124439808 + 50257 * 768);
  CHECK(parameters_of("pythia") == 162322944);
  // 6050882784, less the biases of ffn and head.
  CHECK(parameters_of("gptj") == 6050882784 - 28 * (16384 + 4096) - 50400);
  // 1100048384, and a shift beside the gain of each of 45 norms.
  CHECK(parameters_of("llama") == 1100048384 + 45 * 2048);
  // 468.2 million are published.
  CHECK(parameters_of("ngpt") == 24 * (4 * 1024 * 1024 + 3 * 1024 * 4096) + 2 * 32000 * 1024);
  // 222903552, with three tables in the place of a shared one, and a shift beside the gain of each
  // of 25 and 37 norms.
  CHECK(parameters_of("t5-base") == 222903552 + 2 * 32128 * 768 + 62 * 768);
  // 86567656, less the patch embedding (768 x 769), positions, class token, and the head's bias.
  CHECK(parameters_of("vit-b") == 86567656 - 768 * 769 - 197 * 768 - 768 - 1000);
  // He et al. 2015 say 0.27 million.
  CHECK(parameters_of("resnet-v1") / 10000 == 27);
  CHECK(parameters_of("resnet-v2") / 10000 == 27);
}

TEST_CASE("the residual nets are 20 layers deep, and as deep as asked") {
  for (const char* name : {"resnet-v1", "resnet-v2"}) {
    ModelSpec spec = find_model(name);
    const auto main_path = [&] {
      int count = 0;
      for (const ParameterInfo& info : parameters(build_network(spec)))
        if (info.is_matrix && info.path.find("shortcut") == std::string::npos) ++count;
      return count;
    };
    CHECK(main_path() == 20);
    spec.layers = 18;
    CHECK(main_path() == 110);
  }
}

TEST_CASE("a model is a preset's name or a path") {
  CHECK(find_model("bert-base").width == 768);
  const auto message = [](const std::string& name) {
    try {
      find_model(name);
    } catch (const Error& error) {
      CHECK(error.exit_code() == 2);
      return error.message() + " | " + error.hint();
    }
    return std::string("no error");
  };
  CHECK(message("bert-bse").find("did you mean 'bert-base'") != std::string::npos);
  CHECK(message("no/such").starts_with("no such model file"));
  CHECK(message("model.toml").starts_with("no such model file"));
  CHECK(message("").starts_with("no such model file"));
  CHECK_THROWS_AS(preset("gpt3"), Error);
}
