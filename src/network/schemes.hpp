#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scalecalc/network.hpp"

/// How weights start: a scheme gives each role a standard deviation, a gain multiplies it.
namespace scalecalc {

/// The named schemes of a model file, without "std" and "weight_variance", which carry a number.
const std::vector<std::string>& scheme_names();
/// Whether the scheme is defined by the parts of a transformer.
bool is_transformer_scheme(const std::string& scheme);

/// Roles whose gain a model of this kind may set.
const std::vector<std::string>& gain_roles(ModelSpec::Kind kind);
/// The gain of a role that the model does not set, a formula in lambda.
Expr default_gain(const std::string& role, bool in_branch);

/// Standard deviation of one weight before its gain.
double scheme_std(const ModelSpec& spec, const std::string& role, std::int64_t fan_in,
                  std::int64_t fan_out);

}  // namespace scalecalc
