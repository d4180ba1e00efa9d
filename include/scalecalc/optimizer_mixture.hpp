#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scalecalc/network.hpp"

/// Two optimizers that share the parameters of one model.
namespace scalecalc {

/// "muon+adamw": hidden matrices follow the first, all else the second; "muon(ffn,o)+adamw": the
/// parameters of these roles follow the first.
struct OptimizerMixture {
  std::string first, second;       ///< as they are written
  std::vector<std::string> roles;  ///< of mixture_roles(); empty: hidden matrices
};
/// Whether a text can only be a name: one word, and not "g", which is the rule of sgd.
bool is_optimizer_name(std::string_view text);
/// Nothing for a text that is no mixture: a name alone, or a rule in g and theta. Throws
/// Error(input) for more than two, and for an unknown role with the nearest.
std::optional<OptimizerMixture> read_mixture(std::string_view text, const std::string& where);
/// As read_mixture() reads it.
std::string to_string(const OptimizerMixture& mixture);

/// What may stand in the brackets: embedding head q k v o ffn_gate ffn_in ffn_out linear, which are
/// matrices; bias, norm and scale, which are vectors; and attention (q k v o) and ffn (ffn_gate
/// ffn_in ffn_out).
const std::vector<std::string>& mixture_roles();
/// Whether the first optimizer steps what has this role (`is_matrix`: and is no bias of it).
bool steps_first(const std::vector<std::string>& roles, std::string_view role, bool is_matrix);
bool steps_first(const std::vector<std::string>& roles, const ParameterInfo& parameter);

}  // namespace scalecalc
