#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scalecalc/names.hpp"
#include "scalecalc/network.hpp"

/// The parameters of a network as tensors of a weight file or of another framework's code.
namespace scalecalc {

/// The naming of a spec: its own patterns first, then those of spec.init.names, or of `otherwise`
/// when it names none.
Naming naming_of(const ModelSpec& spec, std::string_view otherwise);

/// The name of the naming that is asked for; "hf" is that of the library that a model comes from,
/// spec.init.names, or the spec's own patterns. Throws Error(input).
std::string asked_naming(const ModelSpec& spec, const std::string& names);

/// A stored tensor: one parameter, or several side by side along the outputs.
struct NamedTensor {
  std::string name;     ///< without the prefix
  std::string pattern;  ///< what made it: {i} stands for an index
  std::vector<std::int64_t> indices;
  std::vector<std::int64_t> shape;  ///< as stored
  int axis = 0;                     ///< along which the parts lie side by side
  bool transposed = false;          ///< stored (out, in)
  bool mirrored = false;            ///< stored (in, out/groups, taps): a transposed convolution
  std::vector<std::size_t> parts;   ///< indices into parameters(network), in order
  std::int64_t rounds = 1;          ///< in which they lie side by side (NamePattern)
  std::optional<std::string> tied_to;
};
struct NamedParameters {
  std::vector<NamedTensor> tensors;  ///< in the order of the forward pass
  std::vector<std::size_t> unnamed;  ///< parameters that the naming has no name for
};
/// Throws Error(input) when two parameters get one name, or a pattern packs what does not fit side
/// by side.
NamedParameters name_parameters(const Network& network, const Naming& naming);

/// Whether other frameworks have no such parameter: the shift of an rmsnorm or scalenorm.
bool is_ours_alone(const ModelSpec& spec, std::string_view path);

/// A matrix between features: neither embedding nor head.
bool is_hidden_matrix(const ParameterInfo& parameter);

}  // namespace scalecalc
