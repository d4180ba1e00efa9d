#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "architectures/expression.hpp"

/// The data of one architecture (tables/architectures/*.toml, docs/adding-an-architecture.md).
namespace scalecalc::architectures {

/// "layers.{l:num_hidden_layers}.": texts, and loops or names that are written out between them.
struct PathPart {
  std::string text;
  std::string variable;              ///< empty: a text alone
  std::optional<Expression> values;  ///< of a loop: a count, or a list
};

/// What a module holds at a path: the first of the alternatives whose condition holds.
struct Entry {
  std::vector<PathPart> path;
  std::vector<EntryText> alternatives;
};

struct Module {
  std::vector<std::string> arguments;
  std::vector<Entry> entries;
};

/// A place in a list of layers, its name taken apart.
struct ListedLayer {
  LayerText text;
  std::vector<PathPart> name;
};

/// Layers that stand behind each other.
struct LayerTexts {
  std::vector<std::string> arguments;
  std::vector<ListedLayer> layers;
};

/// A key of a config and what the library takes where it is absent.
struct Default {
  std::string key;
  Value value;
  std::optional<Expression> expression;  ///< from "= ...": of other keys; taken for None too
};
/// Of a config: its keys, and those of the configs inside it.
struct Defaults {
  Defaults();  // where the class is complete: clang 14 asks for that
  std::vector<Default> keys;
  std::vector<std::pair<std::string, Defaults>> inner;
};

/// A remark or a refusal, and when.
struct Conditional {
  Expression condition;
  std::string text;
};

/// A model inside the model that reads none of the others: another family's, of a config inside
/// this one, to which some keys of this one are handed over.
struct Tower {
  std::string name, model_type, config;
  std::vector<std::string> handed;
};

/// Other rules for the same tensors.
struct Variant {
  std::string name, title;
  std::vector<std::pair<std::string, Expression>> draws;  ///< by the end of the tensor's name
};

struct Family {
  std::string model_type, title, library;
  std::vector<std::string> classes;
  Defaults defaults;
  std::map<std::string, std::string> aliases;  ///< other spelling -> key
  std::map<std::string, Module> modules;
  std::map<std::string, std::vector<Expression>> draws;  ///< by kind: of the weight, of the bias
  /// Of a model file, by section and key; none: the program has no such model, `why_no_model`.
  std::vector<std::pair<std::string, Expression>> model;
  std::string why_no_model;
  /// Of a model that is a list of layers: "model", and what it is made of.
  std::map<std::string, LayerTexts> lists;
  /// Configs that the library refuses; what the model leaves out; those that no model describes.
  std::vector<Conditional> refusals, remarks, undescribed;
  std::vector<Variant> variants;
  /// Where there is no model, and no reason for that, the first is what the program has of it.
  std::vector<Tower> towers;
};

/// Throws Error(input) for data that break the rules above.
Family parse_family(std::string_view toml, const std::string& name);

/// Throws Error(input) with the nearest name.
const Family& family(const std::string& model_type, const std::string& where);

}  // namespace scalecalc::architectures
