#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "architectures/describe.hpp"
#include "network/layer_spec.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/named_parameters.hpp"

namespace scalecalc::architectures {
namespace {

/// The models/ whose description is a list of layers.
std::vector<LibraryModel> listed_models() {
  std::vector<LibraryModel> models;
  for (const auto& entry : std::filesystem::directory_iterator(SCALECALC_MODELS_DIR)) {
    std::ifstream file(entry.path());
    const nlohmann::json config = nlohmann::json::parse(file).at("config");
    LibraryModel model = parse_config(config.dump(), entry.path().filename().string());
    if (model.spec && model.spec->kind == ModelSpec::Kind::layers)
      models.push_back(std::move(model));
  }
  return models;
}

LibraryModel model_of(const std::string& type, const std::string& keys) {
  return parse_config(R"({"model_type": ")" + type + "\"" + (keys.empty() ? "" : ", ") + keys + "}",
                      "config.json");
}

/// Why there is no such model, of those that have tensors; else why the config is refused.
std::string refusal(const std::string& type, const std::string& keys) {
  try {
    const LibraryModel model = model_of(type, keys);
    return model.spec ? "" : model.why_no_spec;
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.what();
  }
}

/// One by one, "conv2d 64 7/2" and the like, what a residual holds in brackets.
std::string words(const std::vector<LayerSpec>& layers) {
  std::string text;
  for (const LayerSpec& layer : layers) {
    text += (text.empty() ? "" : " ") + to_string(layer.type);
    if (layer.type == LayerSpec::Type::conv2d)
      text += ":" + std::to_string(layer.width) + "/" + std::to_string(layer.stride);
    if (layer.type == LayerSpec::Type::linear) text += ":" + std::to_string(layer.width);
    if (layer.type == LayerSpec::Type::repeat) text += ":" + to_string(layer.times);
    if (!layer.layers.empty()) text += "(" + words(layer.layers) + ")";
    if (!layer.shortcut.empty()) text += "[" + words(layer.shortcut) + "]";
  }
  return text;
}

/// A family of one list, "model".
Family family_of(const std::string& layers) {
  return parse_family(
      "library = \"x\"\nclasses = [\"A\"]\n[config]\nsizes = [4, 4, 6]\nn = 3\n"
      "[draws]\nlinear = \"normal(1), zeros()\"\n"
      "[modules.A]\n\"l.{i:sizes}.m\" = \"linear(n, 4)\"\n"
      "[model.model]\nkind = \"'layers'\"\nfeatures = \"n\"\n[layers]\n" +
          layers,
      "x");
}
std::string problem_of(const std::string& layers, const std::string& config = "{}") {
  try {
    const LibraryModel model =
        architectures::model_of(family_of(layers), nlohmann::json::parse(config), "c.json");
    return model.spec ? "" : model.why_no_spec;
  } catch (const Error& error) {
    return error.what();
  }
}

/// A scale of features that is stored (features, 1, 1) is a vector here.
std::vector<std::int64_t> without_ones(std::vector<std::int64_t> shape) {
  if (shape.size() == 3 && shape[1] == 1 && shape[2] == 1) shape.resize(1);
  return shape;
}

bool says(const std::string& line, const std::string& part) {
  CAPTURE(line);
  return line.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("every tensor of a list of layers has the library's name, shape and std") {
  std::set<std::string> seen;
  for (const LibraryModel& model : listed_models()) {
    CAPTURE(model.source);
    seen.insert(model.architecture);
    const Network network = build_network(*model.spec);
    const std::vector<ParameterInfo> all = parameters(network);
    const NamedParameters named = name_parameters(network, naming_of(*model.spec, "torch"));
    std::map<std::string, const NamedTensor*> ours;
    for (const NamedTensor& tensor : named.tensors) ours.emplace(tensor.name, &tensor);
    std::size_t found = 0, left_out = 0;
    for (const LibraryTensor& tensor : model.tensors) {
      CAPTURE(tensor.name);
      const auto at = ours.find(tensor.name);
      if (at == ours.end()) {  // the shift of a norm that is a scale of its branch
        CHECK(tensor.name.ends_with(".bias"));
        ++left_out;
        continue;
      }
      ++found;
      const ParameterInfo& info = all[at->second->parts.front()];
      CHECK(at->second->shape == without_ones(tensor.shape));
      if (info.distribution)
        CHECK(info.std == doctest::Approx(tensor.std).epsilon(1e-12));  // a product of roundings
      else
        CHECK(info.constant == tensor.mean);
    }
    // A head of ours stands behind a model without one.
    const bool has_head =
        model.class_name.find("Classification") != std::string::npos ||
        model.class_name == "ResNet" ||
        (model.class_name == "ConvNeXt" && model.source != "timm_convnext-2-ConvNeXt.json");
    CHECK(found + (has_head ? 0 : 1) == named.tensors.size());
    CHECK((left_out > 0) == (model.architecture == "timm_resnet" ||
                             model.source == "torchvision_resnet-1-ResNet.json"));
    // Written and read again it is the same model.
    const std::string text = model_text(*model.spec);
    CHECK(model_text(parse_model(text, "written")) == text);
  }
  CHECK(seen == std::set<std::string>{"convnext", "resnet", "timm_convnext", "timm_resnet",
                                      "torchvision_convnext", "torchvision_resnet"});
}

TEST_CASE("a ResNet's stages are its first layer and repeats of the others") {
  const LibraryModel model =
      model_of("resnet", R"("depths": [3, 1, 4], "hidden_sizes": [16, 32, 64], "num_labels": 7,
                           "embedding_size": 16, "layer_type": "basic", "hidden_act": "gelu",
                           "architectures": ["ResNetForImageClassification"])");
  REQUIRE(model.spec);
  const auto branch = [](int channels, int stride) {
    const std::string c = std::to_string(channels);
    return "residual(conv2d:" + c + "/" + std::to_string(stride) + " norm activation conv2d:" + c +
           "/1 norm)";
  };
  CHECK(words(model.spec->layer_list) == "conv2d:16/2 norm activation max_pool repeat:3(" +
                                             branch(16, 1) + " activation) " + branch(32, 2) +
                                             "[conv2d:32/2 norm] activation " + branch(64, 2) +
                                             "[conv2d:64/2 norm] activation repeat:3(" +
                                             branch(64, 1) + " activation) pool linear:7");
  CHECK(model.spec->activation == "gelu");
  CHECK(model.spec->sequence == 224 * 224);
  // Copies whose number is that of the tensor are one pattern, others stand alone.
  std::map<std::string, std::string> names;
  for (const NamePattern& pattern : model.spec->names.patterns)
    names[pattern.paths.front()] = pattern.name;
  CHECK(names.at("repeat[0][{i}].residual[0].conv2d[1].weight") ==
        "resnet.encoder.stages.0.layers.{i}.layer.1.convolution.weight");
  CHECK(names.at("repeat[1][0].residual[0].norm[0].gain") ==
        "resnet.encoder.stages.2.layers.1.layer.0.normalization.weight");
  CHECK(names.at("head.bias") == "classifier.1.bias");
}

TEST_CASE("strides of a ResNet stand where the config says") {
  const auto first = [](const std::string& keys) {
    const LibraryModel model =
        model_of("resnet", R"("depths": [1], "hidden_sizes": [64], "embedding_size": 64)" + keys);
    REQUIRE(model.spec);
    return words({model.spec->layer_list[4]});
  };
  CHECK(first("") ==
        "residual(conv2d:16/1 norm activation conv2d:16/1 norm activation conv2d:64/1 norm)");
  CHECK(first(R"(, "downsample_in_first_stage": true)") ==
        "residual(conv2d:16/1 norm activation conv2d:16/2 norm activation conv2d:64/1 norm)"
        "[conv2d:64/2 norm]");
  CHECK(first(R"(, "downsample_in_first_stage": true, "downsample_in_bottleneck": true)") ==
        "residual(conv2d:16/2 norm activation conv2d:16/1 norm activation conv2d:64/1 norm)"
        "[conv2d:64/2 norm]");
}

TEST_CASE("a ConvNeXt's branches are depthwise, normed and scaled") {
  const std::string sizes = R"("depths": [2, 1], "hidden_sizes": [16, 32], "num_stages": 2,
                               "image_size": [32, 64])";
  const LibraryModel model = model_of("convnext", sizes);
  REQUIRE(model.spec);
  const auto branch = [](int channels) {
    const std::string c = std::to_string(channels);
    return "residual(conv2d:" + c + "/1 norm linear:" + std::to_string(4 * channels) +
           " activation linear:" + c + ")";
  };
  CHECK(words(model.spec->layer_list) == "conv2d:16/4 norm repeat:2(" + branch(16) +
                                             ") norm conv2d:32/2 " + branch(32) +
                                             " pool norm linear:2");
  CHECK(model.spec->height == 32);
  CHECK(model.spec->sequence == 32 * 64);
  const LayerSpec& residual = model.spec->layer_list[2].layers[0];
  CHECK(to_string(residual.branch) == "0.000001");
  CHECK(residual.trainable);
  CHECK(residual.width == 16);
  CHECK(residual.layers[0].groups == 16);
  CHECK(residual.layers[0].padding == 3);
  CHECK(model.spec->layer_list[7].eps == 1e-12);
  const LibraryModel plain = model_of("convnext", sizes + R"(, "layer_scale_init_value": 0)");
  REQUIRE(plain.spec);
  CHECK_FALSE(plain.spec->layer_list[2].layers[0].trainable);
  CHECK(plain.remarks.size() == 1);  // of pixels
}

// torch.linspace(0, rate, blocks), of which the library makes none where it is 0.
TEST_CASE("a ConvNeXt loses its last blocks' branches most often") {
  struct Case {
    const char *type, *widths, *rate;
  };
  for (const Case& of : {Case{"convnext", "hidden_sizes", "drop_path_rate"},
                         {"timm_convnext", "dims", "drop_path_rate"},
                         {"torchvision_convnext", "dims", "stochastic_depth_prob"}}) {
    CAPTURE(of.type);
    const auto rates = [&](const std::string& depths) {
      const LibraryModel model =
          model_of(of.type, "\"depths\": " + depths + ", \"" + of.widths +
                                "\": [8, 16, 24, 32], \"" + of.rate + "\": 0.3");
      REQUIRE(model.spec);
      std::vector<double> found;
      for (const LayerSpec& layer : model.spec->layer_list) {
        const bool repeats = layer.type == LayerSpec::Type::repeat;
        const LayerSpec& block = repeats ? layer.layers[0] : layer;
        if (block.type != LayerSpec::Type::residual) continue;
        const LayerSpec& last = block.layers.back();
        const bool drops = last.type == LayerSpec::Type::dropout;
        CHECK(last.per_sample == drops);
        found.push_back(drops ? last.dropout : 0);
      }
      return found;
    };
    const std::vector<double> due = {0, 0.06, 0.12, 0.18, 0.24, 0.3};
    const std::vector<double> found = rates("[2, 1, 2, 1]");
    REQUIRE(found.size() == due.size());
    for (std::size_t i = 0; i < due.size(); ++i) CHECK(found[i] == doctest::Approx(due[i]));
  }
}

TEST_CASE("stages that contradict each other or that no list has are one line") {
  struct Case {
    const char *type, *keys, *line;
  };
  for (const Case& of : {
           Case{"resnet", R"("depths": [1, 2, 3], "hidden_sizes": [8, 8])",
                "hidden_sizes has fewer entries than depths"},
           {"resnet", R"("depths": [1], "hidden_sizes": [8, 8])",
            "hidden_sizes has more entries than depths"},
           {"resnet", R"("depths": [-1], "hidden_sizes": [8])", "is -1"},
           {"resnet", R"("depths": [1.5], "hidden_sizes": [8])", "is 1.5"},
           {"resnet", R"("depths": ["x"], "hidden_sizes": [8])", "is \"x\""},
           {"resnet", R"("depths": 3, "hidden_sizes": [8])", "what is no list"},
           {"resnet", R"("depths": [], "hidden_sizes": [])", "entry -1 of a list of 0"},
           {"resnet", R"("depths": [1000000000], "hidden_sizes": [8])", "million tensors"},
           {"resnet", R"("depths": [60000], "hidden_sizes": [8])", "more than 100000 layers"},
           {"resnet", R"("depths": [1], "hidden_sizes": [100000000])", "width must be"},
           {"resnet", R"("depths": [1], "hidden_sizes": [-8])", "is -8"},
           {"resnet", R"("depths": [1], "hidden_sizes": [8], "hidden_act": "none such")",
            "unknown symbol 'none'"},
           {"resnet", R"("depths": [1], "hidden_sizes": [8], "hidden_act": 3)", "activation"},
           {"resnet", R"("depths": [1, 1, 1, 1, 1, 1, 1, 1, 1], "hidden_sizes":
                         [8, 8, 8, 8, 8, 8, 8, 8, 8])",
            "batchnorm of a single number"},
           {"resnet", R"("num_labels": 0)", "width is missing"},
           {"convnext", R"("num_stages": 3, "depths": [1, 1], "hidden_sizes": [8, 8])",
            "num_stages is more than"},
           {"convnext", R"("num_stages": 1, "depths": [1, 1], "hidden_sizes": [8, 8])",
            "hidden_sizes has more entries than num_stages"},
           {"convnext", R"("patch_size": [2, 4])", "differs between rows and columns"},
           {"convnext", R"("image_size": 0)", "sequence"},
           {"convnext", R"("image_size": 8)", "kernel"},
           {"convnext", R"("layer_scale_init_value": "x")", "is \"x\""},
           {"convnext", R"("hidden_sizes": [8, 8, 8, 0])", "groups do not divide"},
           {"timm_resnet", R"("layers": [1, 1, 1])", "fewer entries than four"},
           {"timm_resnet", R"("layers": [1, 1, 1, 1, 1])", "more entries than four"},
       }) {
    CAPTURE(of.type);
    CAPTURE(of.keys);
    const std::string line = refusal(of.type, of.keys);
    CHECK(says(line, of.line));
    CHECK(line.find('\n') == std::string::npos);
  }
}

TEST_CASE("the texts of a list mean what they say") {
  const auto words_of = [](const std::string& layers, const std::string& config = "{}") {
    const LibraryModel model =
        architectures::model_of(family_of(layers), nlohmann::json::parse(config), "c.json");
    CAPTURE(model.why_no_spec);
    REQUIRE(model.spec);
    return words(model.spec->layer_list);
  };
  CHECK(words_of("model = [\"linear(width = w) for w in sizes\"]") ==
        "repeat:2(linear:4) linear:6");
  CHECK(words_of("model = [\"linear(width = i + 1) for i in n if i != 1\"]") ==
        "linear:1 linear:3");
  CHECK(words_of("model = [\"linear(width = 2) if n > 3\", \"linear(width = 3) if n == 3\"]") ==
        "linear:3");
  CHECK(words_of("model = [\"two(n)\", \"linear(width = 1)\"]\n"
                 "\"two(w)\" = [\"linear(width = w)\", \"activation(activation = 'relu')\"]") ==
        "linear:3 activation linear:1");
  CHECK(words_of("model = [\"residual(layers = one(n), shortcut = one(n) if n > 2 else None)\", "
                 "\"linear(width = 1)\"]\n\"one(w)\" = [\"linear(width = w)\"]") ==
        "residual(linear:3)[linear:3] linear:1");
  // Bias and std are those of the tensor, where the name is one.
  const LibraryModel named = architectures::model_of(
      family_of("model = [\"linear(width = w) @ 'l.{w}.m' for w in sizes\", "
                "\"linear(width = 2) @ 'none'\"]"),
      nlohmann::json::parse(R"({"sizes": [4], "n": 4})"), "c.json");
  REQUIRE(named.spec);
  CHECK(named.spec->layer_list[0].std == 1);
  CHECK(named.spec->layer_list[0].bias == true);
  CHECK_FALSE(named.spec->layer_list[1].std);
  REQUIRE(named.spec->names.patterns.size() == 2);
  CHECK(named.spec->names.patterns[0].name == "l.4.m.weight");
}

TEST_CASE("data that break the rules of lists are refused in words") {
  CHECK(says(problem_of("\"linear(a)\" = []\nmodel = []"), "this is a type of layer"));
  CHECK(says(problem_of("model = [\"linear(3)\"]"), "a layer's arguments are KEY = VALUE"));
  CHECK(says(problem_of("model = [\"liner(width = 3)\"]"), "unknown layer type 'liner'"));
  CHECK(says(problem_of("model = [\"model()\"]"), "nested too deep"));
  CHECK(says(problem_of("model = [\"one()\"]\n\"one(a)\" = []"), "wrong number of arguments"));
  CHECK(says(problem_of("model = [\"linear(width = 3) @ x\"]"), "asks for a 'name'"));
  CHECK(says(problem_of("model = [\"linear(width = 3) @ '{y}'\"]"), "there is no y"));
  CHECK(says(problem_of("model = [\"linear(width = 3) for 3\"]"), "NAME in VALUES"));
  CHECK(says(problem_of("model = [\"linear(3 = width)\"]"), "asks for a key before it"));
  CHECK(says(problem_of("other = [\"linear(width = 3)\"]"), "there is no list 'model'"));
  CHECK(says(problem_of("model = 3"), "must be a list"));
}

}  // namespace scalecalc::architectures
