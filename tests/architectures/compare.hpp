#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scalecalc/architectures.hpp"

namespace scalecalc::architectures {

/// A file of models/ (make_models.py) beside what the data say of its config: a line for each
/// tensor that one of the two alone has, another shape, and moments further apart than sampling
/// explains.
std::vector<std::string> differences(const LibraryModel& ours, const nlohmann::json& theirs);

}  // namespace scalecalc::architectures
