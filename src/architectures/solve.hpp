#pragma once

#include <set>
#include <string>

#include "architectures/facts.hpp"

namespace scalecalc::architectures {

/// A config that a file was made by, as far as the file tells.
struct Solution {
  Value config = Value::object();  ///< the keys that differ from what the library takes for them
  std::set<std::string> told;     ///< JSON pointers of the keys that the file tells of; beside them
  std::set<std::string> guessed;  ///< those that hang on a width that was taken
  std::size_t unsolved = 0;       ///< facts that contradict the others
};

/// Of facts about one key alone the most frequent holds. The others are solved for the keys that
/// are left, those with one unknown first. Where a product of two unknown keys is all that the file
/// tells (heads times their width) the width is taken to be 64, or else the first of other common
/// sizes with which every fact agrees.
Solution solve(const Family& family, std::vector<Fact> facts);

}  // namespace scalecalc::architectures
