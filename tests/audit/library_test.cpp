#include <doctest/doctest.h>

#include "scalecalc/audit.hpp"
#include "scalecalc/error.hpp"
#include "support.hpp"

namespace scalecalc {
namespace {

LibraryModel model_of(const std::string& type) {
  return parse_config(R"({"model_type": ")" + type +
                          R"(", "vocab_size": 150, "hidden_size": 32, "num_hidden_layers": 3,
                              "num_attention_heads": 4, "num_key_value_heads": 2,
                              "intermediate_size": 96, "max_position_embeddings": 24})",
                      type);
}

Audit audit_of(const Weights& weights, const LibraryModel& model) {
  const WeightsFolder folder;
  store(weights, folder.file());
  return audit(folder.file(), model);
}

bool names_only(const Audit& found, const std::string& name) {
  std::vector<std::string> faults;
  for (const AuditedParameter& parameter : found.parameters)
    if (parameter.fault != Fault::none) faults.push_back(parameter.name);
  return !found.passed && faults == std::vector<std::string>{name};
}

}  // namespace

TEST_CASE("what a library draws passes by its own rules, under any prefix") {
  for (const char* type : {"llama", "qwen2", "gpt_neox", "bert", "opt", "gemma"}) {
    const LibraryModel model = model_of(type);
    CAPTURE(type);
    for (const char* prefix : {"", "module.", "_orig_mod."}) {
      CAPTURE(prefix);
      const Audit found = audit_of(drawn(model, 5, prefix), model);
      CHECK(findings_of(found) == "");
      CHECK(found.passed);
      CHECK(found.naming == model.class_name);
      CHECK(found.parameters.size() == model.tensors.size());
    }
  }
}

TEST_CASE("one tensor that is drawn otherwise is named") {
  const LibraryModel model = model_of("llama");
  for (const LibraryTensor& tensor : model.tensors) {
    CAPTURE(tensor.name);
    Weights weights = drawn(model, 6);
    std::vector<float>& values = tensor_of(weights, tensor.name).values;
    for (float& value : values) value = static_cast<float>(1.41 * value + 0.01);
    CHECK(names_only(audit_of(weights, model), tensor.name));
    values.assign(values.size(), 0.5f);
    CHECK(names_only(audit_of(weights, model), tensor.name));
    values[0] = std::numeric_limits<float>::quiet_NaN();
    CHECK(names_only(audit_of(weights, model), tensor.name));
  }
}

TEST_CASE("the rule that was applied is said") {
  const LibraryModel model = model_of("llama");
  Weights weights = drawn(model, 7);
  const std::string name = "model.layers.1.mlp.down_proj.weight";
  for (float& value : tensor_of(weights, name).values) value *= std::sqrt(1 / 96.0f) / 0.02f;
  const Audit found = audit_of(weights, model);
  CHECK(found.findings.at(0).verdict ==
        "1/sqrt(fan_in) = 0.102062, but normal(initializer_range) = 0.02 was due: LeCun");
}

TEST_CASE("another initializer_range than the one that was taken is one conclusion") {
  LibraryModel made = model_of("qwen2");
  const LibraryModel taken = made;
  for (LibraryTensor& tensor : made.tensors) tensor.std *= 2.5;
  const Audit found = audit_of(drawn(made, 7), taken);
  REQUIRE(found.conclusions.size() == 1);
  CAPTURE(found.conclusions.front());
  CHECK(found.conclusions.front().starts_with(
      "all 23 tensors that are due normal(initializer_range) have the std 0.05: "));
}

TEST_CASE("several models: the one by whose rules the fewest tensors are wrong is taken") {
  std::vector<LibraryModel> named = {model_of("llama"), model_of("gemma")};
  named[1].tensors = named[0].tensors;
  for (LibraryTensor& tensor : named[1].tensors)
    if (tensor.mean == 1) tensor.mean = 0;
  const WeightsFolder folder;
  for (const std::size_t right : {0u, 1u}) {
    store(drawn(named[right], 7), folder.file());
    std::vector<LibraryModel> order = named;
    const Audit found = audit(folder.file(), order);
    CHECK(found.passed);
    CHECK(order.front().architecture == named[right].architecture);
    CHECK(found.values == audit(folder.file(), named[right]).values);
  }
}

TEST_CASE("libraries with the same names and shapes are told apart by the constants of the file") {
  const auto resnet = [](const std::string& library) {
    return parse_config(
        "{\"model_type\": \"" + library + R"(_resnet", "block": "basic", "layers": [1, 1, 1, 1]})",
        library);
  };
  const WeightsFolder folder;
  for (const char* library : {"timm", "torchvision"})
    for (const char* prefix : {"", "module."}) {
      CAPTURE(library);
      CAPTURE(prefix);
      Weights weights = drawn(resnet(library), 7, prefix);
      store(weights, folder.file());
      CHECK(recognise_weights(folder.file()).front().architecture ==
            std::string(library) + "_resnet");
      // Trained gains tell nothing: the order is that of names and shapes.
      for (auto& [name, tensor] : weights)
        for (float& value : tensor.values)
          value += 0.001f * static_cast<float>(&value - tensor.values.data());
      store(weights, folder.file());
      CHECK(recognise_weights(folder.file()).front().architecture == "timm_resnet");
    }
}

TEST_CASE("the cut of trunc_normal_, which it draws once in 2^24, is no fault, and more of it is") {
  const LibraryModel model = parse_config(R"({"model_type": "timm_vit", "depth": 1, "num_heads": 4,
      "embed_dim": 128, "img_size": 32, "num_classes": 9})",
                                          "timm_vit");
  const std::string name = "blocks.0.mlp.fc1.weight";
  Weights weights = drawn(model, 7);
  std::vector<float>& values = tensor_of(weights, name).values;
  values[100] = -2;
  const Audit once = audit_of(weights, model);
  CHECK(findings_of(once) == "");
  REQUIRE(once.remarks.size() == 1);
  CHECK(once.remarks.front().find("1 value is -2") != std::string::npos);
  values[101] = values[102] = -2;
  CHECK(audit_of(weights, model).passed);
  // 65536/2^24 of them are due, and four are more than 3 + 5 sqrt(0.004).
  values[103] = -2;
  CHECK(names_only(audit_of(weights, model), name));
  for (const std::size_t at : {100u, 101u, 102u, 103u}) values[at] = 0;
  values[100] = 2;  // the upper cut is never drawn
  CHECK(names_only(audit_of(weights, model), name));
}

TEST_CASE("a block that is copied is not drawn by itself") {
  const LibraryModel model = model_of("llama");
  Weights weights = drawn(model, 8);
  tensor_of(weights, "model.layers.2.mlp.up_proj.weight") =
      tensor_of(weights, "model.layers.0.mlp.up_proj.weight");
  const Audit found = audit_of(weights, model);
  CHECK(names_only(found, "model.layers.2.mlp.up_proj.weight"));
  CHECK(found.findings.at(0).fault == Fault::copied);
}

TEST_CASE("tensors that are missing, left over or of another shape are named") {
  const LibraryModel model = model_of("llama");
  Weights weights = drawn(model, 9);
  weights.erase(weights.begin() + 3);
  weights.emplace_back("model.layers.0.extra.weight", StoredTensor{{4}, {1, 2, 3, 4}});
  std::swap(tensor_of(weights, "lm_head.weight").shape[0],
            tensor_of(weights, "lm_head.weight").shape[1]);
  const Audit found = audit_of(weights, model);
  std::map<Fault, int> faults;
  for (const AuditedParameter& parameter : found.parameters) ++faults[parameter.fault];
  CHECK(faults[Fault::missing] == 1);
  CHECK(faults[Fault::unexpected] == 1);
  CHECK(faults[Fault::wrong_shape] == 1);
  CHECK_THROWS_AS(audit_of({{"x", StoredTensor{{1}, {1}}}}, model), Error);
}

}  // namespace scalecalc
