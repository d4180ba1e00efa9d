#pragma once

#include <string>

#include "scalecalc/tuning.hpp"

namespace scalecalc::train_room {

/// Sets the number of that key in what is trained. `of_base` is the optimizer before any key was
/// set: the rates of a mixture keep their ratio there. Throws Error(input) where the optimizer, or
/// the model, has no such number.
void set_number(const std::string& key, double value, const OptimizerOptions& of_base,
                OptimizerOptions& optimizer, ModelSpec& model);

}  // namespace scalecalc::train_room
