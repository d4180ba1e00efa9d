#pragma once

#include <map>

#include "network/values.hpp"

/// The keys of a model file, section by section, each declared once for reading and for writing.
namespace scalecalc {

/// A model file while it is read: what was given, and where.
struct Reading {
  ModelSpec spec;
  std::map<std::string, TomlEntry> given;  ///< by the field's name in validate()

  bool has(const std::string& field) const { return given.count(field) > 0; }
};

unsigned kind_bit(ModelSpec::Kind kind);
const std::vector<std::string>& kind_names();
/// Throws Error(input) with the nearest name.
ModelSpec::Kind kind_from(const TomlEntry& entry);

struct Section {
  std::string name;
  unsigned kinds;
  const std::vector<Key<ModelSpec>>& (*keys)();
};
/// model, input, memory, loss. [init] has keys that look at each other: model_init.cpp.
const std::vector<Section>& plain_sections();

void read_init(Reading& model, const TomlEntry& section);
std::string write_init(const ModelSpec& spec);
void read_names(Reading& model, const TomlEntry& section);
/// Empty where the model has none.
std::string write_names(const ModelSpec& spec);

LayerSpec read_layer(const TomlElement& element, int nesting);
/// [[heading]] and its keys, with what it contains below.
std::string write_layer(const LayerSpec& layer, const std::string& heading);

}  // namespace scalecalc
