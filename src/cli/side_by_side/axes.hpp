#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/context.hpp"
#include "cli/side_by_side/lines.hpp"

/// Lists of values: the runs that they ask for.
namespace scalecalc::cli {

class Command;

/// Of a command whose options take lists (Options::axis).
struct Lists {
  /// Options that belong to one run: with a list they are refused.
  std::vector<std::string> alone = {};
  std::vector<Part> parts = {};  ///< of its results, compared beside their scalars
  std::size_t least = 1;         ///< combinations that there must be
};

/// The parts between the commas that stand in no brackets: "max(g,0),adam" has two.
std::vector<std::string> split_list(const std::string& text);

/// Runs the command as it is; where a list is given, once for every combination of values, and
/// prints what they give side by side. Returns the greatest of their codes. Throws Error(usage) for
/// an entry that is empty or comes twice, for too many combinations and for options that belong to
/// one run; an error of a run names its combination.
int run_combinations(const Command& command, const Lists& lists, Context& context,
                     const std::function<int()>& run);

}  // namespace scalecalc::cli
