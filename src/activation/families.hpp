#pragma once

#include <string>
#include <vector>

#include "scalecalc/activation.hpp"

namespace scalecalc::activation_room {

/// An activation as it is registered: its formula in x and the names of the parameters.
struct Row {
  std::string name;
  std::string formula;
  std::string source;
  std::vector<ActivationParameter> parameters = {};
  std::vector<std::string> aliases = {};
};

using Rows = std::vector<Row>;
void add_rectified(Rows& rows);
void add_exponential(Rows& rows);
void add_gated(Rows& rows);
void add_sigmoidal(Rows& rows);
void add_hard(Rows& rows);
void add_shrink(Rows& rows);
void add_smooth(Rows& rows);

}  // namespace scalecalc::activation_room
