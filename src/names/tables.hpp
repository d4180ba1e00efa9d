#pragma once

#include <vector>

#include "scalecalc/names.hpp"

namespace scalecalc::names {

/// A naming and how it is made, which takes a hundred strings: few of those listed are looked at.
struct NamingTable {
  const char* name;
  Naming (*make)(const char* name);
};

/// The namings of known models, each from the code of that model; and of our own paths.
const std::vector<NamingTable>& naming_tables();
/// Of those: models of transformers whose parts are called as in no other.
std::vector<NamingTable> library_tables();

}  // namespace scalecalc::names
