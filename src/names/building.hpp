#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "scalecalc/names.hpp"

/// What tables of names are made of.
namespace scalecalc::names {

using Patterns = std::vector<NamePattern>;

template <class T>
void append(std::vector<T>& to, std::type_identity_t<std::vector<T>> more) {
  for (T& each : more) to.push_back(std::move(each));
}

/// weight and bias of a linear map, or of a packed one.
inline void linear(Patterns& to, const std::string& name, const std::vector<std::string>& paths,
                   const char* weight = ".weight", const char* bias = ".bias") {
  NamePattern weights{name + weight, {}}, biases{name + bias, {}};
  for (const std::string& path : paths) {
    weights.paths.push_back(path + ".weight");
    biases.paths.push_back(path + ".bias");
  }
  to.push_back(std::move(weights));
  to.push_back(std::move(biases));
}

inline void norm(Patterns& to, const std::string& name, const std::string& path) {
  append(to, {{name + ".weight", {path + ".gain"}}, {name + ".bias", {path + ".shift"}}});
}

/// The map and the norm in front of the head of a masked language model, and the head's bias.
inline void masked_head(Patterns& to, const std::string& map, const std::string& of_norm,
                        const std::string& bias) {
  linear(to, map, {"transform"});
  norm(to, of_norm, "transform.norm");
  append(to, {{bias, {"head.bias"}}});
}

/// A path inside a block.
inline std::string in_block(const std::string& path) {
  return "block[{i}]." + path;
}
inline std::vector<std::string> packed() {
  return {in_block("attn.q"), in_block("attn.k"), in_block("attn.v")};
}

}  // namespace scalecalc::names
