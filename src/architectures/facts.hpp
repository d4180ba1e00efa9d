#pragma once

#include <vector>

#include "architectures/family.hpp"
#include "architectures/outlines.hpp"

namespace scalecalc::architectures {

/// What a file says of the config that it was made by: the value of an expression of its keys.
struct Fact {
  Expression expression;
  Value value;  ///< a number, a list, or of a flag true or false
  int times = 1;
};

/// How much of a class is in the file: places of its data that are there, less those that are
/// missing.
int presence(const Family& family, const std::string& class_name, const Outlines& file);

/// Walks through the data of a class along the names of the file.
std::vector<Fact> facts_of(const Family& family, const std::string& class_name,
                           const Outlines& file);

}  // namespace scalecalc::architectures
