#pragma once

#include "network/values.hpp"
#include "scalecalc/model_fields.hpp"

/// The parts of a model file that are no fields of one value, read and written.
namespace scalecalc {

/// A model file while it is read: what was given, and where.
struct Reading {
  ModelSpec spec;
  GivenFields given;
};

void read_names(Reading& model, const TomlEntry& section);
/// Empty where the model has none.
std::string write_names(const ModelSpec& spec);

LayerSpec read_layer(const TomlElement& element, int nesting);
/// [[heading]] and its keys, with what it contains below.
std::string write_layer(const LayerSpec& layer, const std::string& heading);

}  // namespace scalecalc
