#pragma once

#include <vector>

#include "scalecalc/names.hpp"

namespace scalecalc::names {

/// The namings of known models, each from the code of that model; and of our own paths.
const std::vector<Naming>& naming_tables();
/// Of those: models of transformers whose parts are called as in no other.
std::vector<Naming> library_tables();

}  // namespace scalecalc::names
