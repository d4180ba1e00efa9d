#pragma once

#include <string>
#include <vector>

#include "architectures/family.hpp"
#include "scalecalc/architectures.hpp"

namespace scalecalc::architectures {

/// The tensors of a class, in the order in which the library makes them. `config` is complete.
/// Throws Error(input): sizes that are no whole numbers, or more than a million tensors; where it
/// `is_strict`, a padding index that is no row of its embedding, which else pads nothing, as where
/// the index is the library's own and the embedding that of a file.
std::vector<LibraryTensor> expand(const Family& family, const std::string& class_name,
                                  const Value& config, bool is_strict = true);

}  // namespace scalecalc::architectures
