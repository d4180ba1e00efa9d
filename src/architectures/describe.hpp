#pragma once

#include "architectures/family.hpp"
#include "scalecalc/architectures.hpp"

namespace scalecalc::architectures {

/// Fills in the spec, or why there is none (an activation that the program does not know), and the
/// remarks.
void describe(const Family& family, const Lookup& config, LibraryModel& model);

/// What a config describes by the data of its family. `name` is for messages. Throws Error(input).
LibraryModel model_of(const Family& family, Value config, const std::string& name);

}  // namespace scalecalc::architectures
