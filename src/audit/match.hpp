#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scalecalc/audit.hpp"
#include "scalecalc/named_parameters.hpp"
#include "weights/safetensors.hpp"

namespace scalecalc::audit_room {

/// A tensor of the file that stands for no parameter of the model.
struct Leftover {
  std::size_t tensor = 0;  ///< index in the file
  std::string why;
  bool known = false;              ///< a buffer, or what the model leaves out: no fault
  std::optional<double> constant;  ///< what it must be to change nothing: 1 of a gain, 0 of a bias
  std::string pattern, path;       ///< empty when unknown
};

struct Match {
  Naming naming;
  NamedParameters named;
  std::vector<std::optional<std::size_t>> tensor_of;  ///< of named.tensors, indices in the file
  std::vector<Leftover> leftovers;
  std::size_t matched = 0;  ///< tensors of the model that are in the file
  std::size_t fitting = 0;  ///< those of the shape that is due
};

/// Pairs the tensors of a file with those of the model, with or without prefixes, under the naming
/// that is asked for or else the one that fits best; of equals, the model's own. Throws
/// Error(input) when nothing fits.
Match match_tensors(const weights::Reader& reader, const ModelSpec& spec, const Network& network,
                    const std::string& names);

}  // namespace scalecalc::audit_room
