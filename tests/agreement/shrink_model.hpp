#pragma once

#include <functional>

#include "scalecalc/network.hpp"

namespace scalecalc::random_models {

/// The model with everything switched off that `fails` does not need: simpler models are tried one
/// change at a time, and kept while they are valid and still fail, until none is left.
ModelSpec shrink(ModelSpec spec, const std::function<bool(const ModelSpec&)>& fails);

}  // namespace scalecalc::random_models
