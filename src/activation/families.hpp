#pragma once

#include <string_view>
#include <vector>

#include "scalecalc/activation.hpp"

namespace scalecalc::activation_room {

/// A row of the registry from its formula in x and the names of the parameters.
ActivationInfo define(std::string name, std::string_view formula, std::string source,
                      std::vector<ActivationParameter> parameters = {},
                      std::vector<std::string> aliases = {});

using Rows = std::vector<ActivationInfo>;
void add_rectified(Rows& rows);
void add_exponential(Rows& rows);
void add_gated(Rows& rows);
void add_sigmoidal(Rows& rows);
void add_hard(Rows& rows);
void add_shrink(Rows& rows);
void add_smooth(Rows& rows);

}  // namespace scalecalc::activation_room
