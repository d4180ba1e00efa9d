#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scalecalc/network.hpp"
#include "scalecalc/transfer.hpp"

/// What transfer asks of a laid-out network: every parameter with the branch that it stands in.
namespace scalecalc {

struct PlacedParameter {
  std::string path;
  ParameterInfo info;
  bool is_gain = false;           ///< of a norm, or a LayerScale: multiplies features
  bool is_closed_factor = false;  ///< the one factor of a branch that starts at 0
  bool closes_branch = false;     ///< starts at 0, at the end of a branch or as that factor
  bool in_branch = false;
  double branch = 1.0;     ///< of its branch, over what multiplies the skip
  bool is_expert = false;  ///< one of several that a router chooses from
  int matrices = 0;        ///< in series in its branch
  bool behind_stream = false;
};

struct PlacedNetwork {
  std::vector<PlacedParameter> parameters;  ///< in the order of the forward pass
  StreamNorm norm = StreamNorm::none;
  bool starts_closed = false, has_branches = false, has_tied_head = false;
  /// Features of a head and the scale of the scores, of the first attention.
  std::optional<std::int64_t> head_width;
  double attention_scale = 1.0;
  /// Of the first mixture: whether the shares of the chosen add up to 1.
  bool shares_are_normalised = true;
};

PlacedNetwork placed(const Network& network);

}  // namespace scalecalc
