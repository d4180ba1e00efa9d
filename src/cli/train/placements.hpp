#pragma once

#include <string>
#include <vector>

#include "scalecalc/train.hpp"

/// What --placements and --dropout-place name.
namespace scalecalc::cli {

/// Those of `scalecalc list groups`.
std::vector<std::string> group_names();
/// "none,post,pre@input". Throws Error(input) for one that is unknown or given twice.
std::vector<std::string> parse_placements(const std::string& text);
/// Every placement with dropout at each of the places.
std::vector<std::string> with_places(const std::vector<std::string>& placements,
                                     const std::string& text);
/// The first that places its norms as the model does.
std::string group_of(const ModelSpec& model);

}  // namespace scalecalc::cli
