#pragma once

#include <string>
#include <vector>

#include "scalecalc/network.hpp"

/// How weights start: a scheme gives each role a variance, a gain multiplies its root.
namespace scalecalc {

/// The named schemes of a model file, without "std" and "weight_variance", which carry a number.
const std::vector<std::string>& scheme_names();
/// Whether the scheme is defined by the parts of a transformer.
bool is_transformer_scheme(const std::string& scheme);

/// Roles whose gain a model of this kind may set.
const std::vector<std::string>& gain_roles(ModelSpec::Kind kind);

/// Residual branches of one block: attention, ffn, and a decoder's cross-attention.
std::int64_t sublayers(const ModelSpec& spec);

/// A size, and how formulas call it.
struct Fan {
  std::int64_t size = 0;
  Expr symbol;
};

/// Variance of one weight before its gain.
Expr scheme_variance(const ModelSpec& spec, const std::string& role, const Expr& fan_in,
                     const Expr& fan_out);
/// The gain of a role, a formula in N and lambda: the model's own, or lambda for what ends up in
/// the size of a branch; times what the placement asks (fixup).
Expr role_gain(const ModelSpec& spec, const std::string& role, bool in_branch);

/// What a weight matrix takes from its model unless it says otherwise.
struct WeightRequest {
  std::string role;
  Fan in, out;
  /// Fan-out of the schemes where it is not the matrix' own (a convolution's).
  std::optional<Expr> scheme_out;
  Expr gain = 1, variance = 1;  ///< before the gain
  Distribution distribution = Distribution::normal;
  bool bias = false;
  bool in_branch = false;
};
/// Evaluated at `values`, without a path.
Linear make_linear(const ModelSpec& spec, const WeightRequest& request, const Bindings& values);

}  // namespace scalecalc
