#pragma once

#include <map>
#include <string>
#include <vector>

#include "scalecalc/network.hpp"
#include "scalecalc/optimizers.hpp"

/// Learning rates and eps of single parameters.
namespace scalecalc::cli {

/// --lr-of and --eps-of, each PATH=X, where [*] in a path stands for any number: of several that
/// name a parameter the last holds. Theirs take the place of `lr` and of the rule's eps, as factors
/// of `options`, whose rates are set too. Returns each parameter's learning rate by its path.
/// Throws Error(input) for a path that the network has not, a value out of range, and an eps where
/// the rule has none.
std::map<std::string, double> set_rates(const Network& network, double lr,
                                        const std::vector<std::string>& lr_of,
                                        const std::vector<std::string>& eps_of,
                                        OptimizerOptions& options);

}  // namespace scalecalc::cli
