#pragma once

#include "architectures/family.hpp"
#include "scalecalc/architectures.hpp"

namespace scalecalc::architectures {

/// Fills in the spec, or why there is none (an activation that the program does not know), and the
/// remarks.
void describe(const Family& family, const Lookup& config, LibraryModel& model);

/// The config inside the config that a tower is of, with the keys that it is handed.
Value config_of(const Tower& tower, const Lookup& config);

/// A config that tensors tell, which say nothing of heads: where those that the library takes do
/// not divide the width, heads of 64 features, as most models have them.
Value with_fitting_heads(const Family& family, Value config);

/// The config with what the library takes for keys that are absent. Throws Error(input).
Value completed(const Defaults& defaults, Value config);
/// The keys of a config, which must outlive it, as names.
Lookup keys_of(const Value& config);

/// What a config describes by the data of its family. `name` is for messages. Throws Error(input),
/// `strict`: for what the library refuses too.
LibraryModel model_of(const Family& family, Value config, const std::string& name,
                      bool strict = true);

}  // namespace scalecalc::architectures
