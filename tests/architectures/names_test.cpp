#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "names/prefixes.hpp"
#include "scalecalc/architectures.hpp"
#include "scalecalc/named_parameters.hpp"

/// The small models of all architectures (tests/architectures/models) under the naming of their own
/// library.
namespace scalecalc {
namespace {

std::vector<LibraryModel> described_models() {
  std::vector<LibraryModel> models;
  for (const auto& entry : std::filesystem::directory_iterator(SCALECALC_MODELS_DIR)) {
    std::ifstream file(entry.path());
    LibraryModel model = parse_config(nlohmann::json::parse(file).at("config").dump(),
                                      entry.path().filename().string());
    // Lists of layers have their own names (layers_test), and no depth.
    if (model.spec && model.spec->kind != ModelSpec::Kind::layers)
      models.push_back(std::move(model));
  }
  return models;
}

/// The library's tensors by every name that the naming reads them under.
std::map<std::string, const LibraryTensor*> by_name(const LibraryModel& model,
                                                    const Naming& naming) {
  std::map<std::string, const LibraryTensor*> found;
  for (const LibraryTensor& tensor : model.tensors) {
    for (const std::string& name : names::bare_names(tensor.name, naming)) found[name] = &tensor;
    for (const std::string& tied : tensor.tied)
      for (const std::string& name : names::bare_names(tied, naming)) found[name] = &tensor;
  }
  return found;
}

bool is_extra(const std::string& name, const Naming& naming) {
  const std::vector<std::string> bare = names::bare_names(name, naming);
  return std::any_of(naming.extras.begin(), naming.extras.end(), [&](const ExtraTensor& extra) {
    return std::any_of(bare.begin(), bare.end(), [&](const std::string& one) {
      return match_pattern(extra.pattern, one).has_value();
    });
  });
}

}  // namespace

TEST_CASE(
    "every described model has the naming of its library, by which its matrices are tensors") {
  for (const LibraryModel& model : described_models()) {
    CAPTURE(model.source);
    REQUIRE_FALSE(model.spec->init.names.empty());
    CHECK(asked_naming(*model.spec, "hf") == model.spec->init.names);
    const Network network = build_network(*model.spec);
    const Naming naming = naming_of(*model.spec, "");
    const NamedParameters named = name_parameters(network, naming);
    const std::map<std::string, const LibraryTensor*> theirs = by_name(model, naming);
    std::set<std::string> used;
    for (const NamedTensor& tensor : named.tensors) {
      const auto found = theirs.find(tensor.name);
      if (found == theirs.end()) continue;
      used.insert(found->second->name);
      CAPTURE(tensor.name);
      // Tables of positions may begin with rows that stand for none, words and heads be narrower.
      if (!tensor.indices.empty()) CHECK(tensor.shape == found->second->shape);
    }
    const std::vector<ParameterInfo> infos = parameters(network);
    for (const std::size_t index : named.unnamed) {
      CAPTURE(infos[index].path);
      CHECK_FALSE(is_hidden_matrix(infos[index]));
    }
    // Nothing of a block is left over, but what the naming says of.
    for (const LibraryTensor& tensor : model.tensors) {
      if (tensor.shape.size() < 2 || name_pattern(tensor.name) == tensor.name) continue;
      CAPTURE(tensor.name);
      CHECK((used.count(tensor.name) == 1 || is_extra(tensor.name, naming)));
    }
  }
}

TEST_CASE("a config with other sizes makes the tensors of these") {
  for (const LibraryModel& model : described_models()) {
    CAPTURE(model.source);
    ModelSpec deeper = *model.spec;
    deeper.layers = model.spec->layers + 1;
    const std::optional<LibraryModel> made = resized(model, deeper);
    // A list of the kinds of layers tells of as many as it has.
    const bool has_list = model.config.find("layer_types") != std::string::npos ||
                          model.config.find("attention_types") != std::string::npos;
    REQUIRE(made.has_value() != has_list);
    if (!made) continue;
    REQUIRE(made->spec);
    CHECK(made->spec->layers == deeper.layers);
    CHECK(made->tensors.size() > model.tensors.size());
    CHECK(resized(*made, *model.spec)->tensors.size() == model.tensors.size());
  }
}

}  // namespace scalecalc
