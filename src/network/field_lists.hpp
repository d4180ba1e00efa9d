#pragma once

#include <vector>

#include "network/field.hpp"

/// What the list of fields is put together from, in the order of a model file.
namespace scalecalc {

inline constexpr unsigned transformer = 1U << static_cast<unsigned>(ModelSpec::Kind::transformer);
inline constexpr unsigned mlp = 1U << static_cast<unsigned>(ModelSpec::Kind::mlp);
inline constexpr unsigned layers = 1U << static_cast<unsigned>(ModelSpec::Kind::layers);
inline constexpr unsigned all = transformer | mlp | layers;

std::vector<ModelField> init_fields();
/// Of all roles, in the order of their names.
std::vector<ModelField> gain_fields();
std::vector<ModelField> data_fields();
ModelField modulation_field();
/// What modulation is by.
std::vector<ModelField> condition_fields();

}  // namespace scalecalc
