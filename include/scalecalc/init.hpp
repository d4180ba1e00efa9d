#pragma once

#include <limits>
#include <string>
#include <vector>

#include "scalecalc/network.hpp"

/// How the parameters of a network start, one by one, and the scales its architecture needs.
namespace scalecalc {

enum class Start { zeros, ones, constant, normal, uniform, truncated_normal, orthogonal };
/// "zeros", "truncated_normal", ... as in JSON.
std::string to_string(Start);

/// The start of one parameter, in the order of parameters(network).
struct PlannedParameter {
  std::string path;  ///< "block[3].attn.q.weight"
  std::string role;  ///< q k v o ffn_gate ffn_in ffn_out linear head embedding norm scale
  std::int64_t rows = 0, columns = 0;  ///< fan_in and fan_out of a matrix; 1 and n of a vector
  bool is_matrix = true;
  Start start = Start::zeros;
  double mean = 0;  ///< of the entries: the constant, 1 for ones
  double std = 0;   ///< of the entries as they are drawn, truncation included
  /// No entry is larger: sqrt(3) std of a uniform, 2 of the untruncated std of a truncated normal.
  double bound = std::numeric_limits<double>::infinity();
  double untruncated_std = 0;  ///< of the normal that is truncated; else std
  double gain = 1;             ///< in front of the scheme's std
  std::string fan_rule;        ///< variance before the gain, "1/fan_in"; empty of no matrix
  std::string formula;         ///< std in N, lambda, width, ffn, ...; "0" of constants
};

/// A factor of the forward pass that no parameter holds.
struct PlannedScale {
  std::string what;     ///< skip, branch, attention, norm, output (of a linear map: NTK)
  std::string pattern;  ///< "block[*].attn": all of these
  double value = 1;
  std::string formula;
};

struct InitPlan {
  Network network;
  std::vector<PlannedParameter> parameters;
  std::vector<PlannedScale> scales;  ///< those that are not 1, and every attention's
};
/// Throws Error(input) as build_network does.
InitPlan init_plan(const ModelSpec& spec);

}  // namespace scalecalc
