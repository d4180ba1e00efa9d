#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "scalecalc/network.hpp"

/// What is true of a [[layer]] without its neighbours.
namespace scalecalc {

constexpr int max_nesting = 32;

std::string to_string(LayerSpec::Type type);
const std::vector<std::string>& layer_type_names();
/// Throws Error(input) with the nearest name.
LayerSpec::Type layer_type_from(const std::string& name, const std::string& where);

/// The names of a list's layers, as parts of paths: the given ones, else type[index among the same
/// type].
std::vector<std::string> path_names(const std::vector<LayerSpec>& layers);

/// Whether one of these layers, or of those that they contain, passes the test.
template <class Test>
bool any_layer(const std::vector<LayerSpec>& layers, const Test& test) {
  return std::any_of(layers.begin(), layers.end(), [&](const LayerSpec& layer) {
    return test(layer) || any_layer(layer.layers, test) || any_layer(layer.shortcut, test);
  });
}

/// Throws Error(input) for what is wrong with a layer whatever comes before it.
void check_layer_specs(const ModelSpec& spec);

/// "[conv2d] stage[0].conv: WHAT", at the layer's position.
Error layer_error(const LayerSpec& layer, const std::string& path, const std::string& what,
                  const std::string& hint);
/// "KEY is missing; for example KEY = EXAMPLE".
Error missing_key(const LayerSpec& layer, const std::string& path, const char* key,
                  const char* example);

}  // namespace scalecalc
