#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// What a line of another framework really draws: distribution, standard deviation, bounds, fans
/// and truncation, derived from the framework's own rule. Source: docs/theory/gains.md#conventions.
namespace scalecalc {

struct ConventionRequest {
  /// One call, as it stands in a program: "torch.nn.init.kaiming_uniform_(w, a=sqrt(5))". It is
  /// parsed, never run.
  std::string line;
  /// Of the weights, in the framework's own layout. May be left out where the line gives it.
  std::vector<std::int64_t> shape;
  /// What the weights belong to: linear, conv, transposed, depthwise, qkv, attention,
  /// attention-out, embedding; empty: what the line or the shape says.
  std::string layer;
  std::int64_t groups = 1;  ///< of a convolution
  std::int64_t stride = 1;  ///< of a convolution, the same in every direction
  /// pytorch, timm, jax, flax, keras, mlx, megatron, transformers, numpy; empty: what the line
  /// says.
  std::string framework;
};

/// How a truncated normal was cut.
struct ConventionTruncation {
  double low = 0, high = 0;  ///< in standard deviations of the normal before the cut
  double parent_std = 0;     ///< standard deviation before the cut
  double std_ratio = 1;      ///< after over before: 0.8796256610342398 for two of them
  bool corrected = false;    ///< whether the line divides by that ratio
};

/// One tensor that the line fills.
struct ConventionParameter {
  std::string name;                 ///< "weight", "bias", "in_proj_weight"
  std::vector<std::int64_t> shape;  ///< empty when it was not needed
  /// normal, uniform, truncated_normal, orthogonal, sparse, identity, dirac, constant,
  /// complex_normal, complex_uniform, complex_truncated_normal
  std::string distribution;
  double mean = 0, std = 0, variance = 0;
  double second = 0;                                ///< mean^2 + variance
  std::optional<std::pair<double, double>> bounds;  ///< none: not bounded (complex: the modulus)
  std::string formula;                              ///< of std, in fan_in and fan_out
  std::string low_formula, high_formula;            ///< of the bounds; empty without them
  std::optional<double> fan_in, fan_out;            ///< as the framework counts them
  std::optional<double> true_fan_in, true_fan_out;  ///< terms of one output, of one gradient
  std::optional<double> std_true_fan;               ///< the same rule on the true fans
  std::optional<double> output_second;              ///< of one output, for inputs of second 1
  std::optional<ConventionTruncation> truncation;
};

struct Convention {
  std::string framework;  ///< "pytorch"
  std::string function;   ///< "torch.nn.init.kaiming_uniform_"
  std::string layer;      ///< how the weights were taken; empty when nothing depends on it
  std::string layout;     ///< "(out, in, kernel...)"; empty without a shape
  std::vector<ConventionParameter> parameters;  ///< the weights first
  std::vector<std::string> notes;
};

/// Throws Error(input) for a line that cannot be read, an unknown function (with the nearest), an
/// argument or a shape that does not fit, and Error(usage) where a shape is needed and missing.
Convention convention(const ConventionRequest& request);

/// The names of ConventionRequest::layer and ::framework.
const std::vector<std::string>& convention_layers();
const std::vector<std::string>& convention_frameworks();

/// A line of the catalogue: one for every convention that is known, two where a use is a trap.
struct ConventionExample {
  std::string topic;  ///< "default layers", "fans", "truncation", ...
  ConventionRequest request;
};
const std::vector<ConventionExample>& convention_examples();

}  // namespace scalecalc
