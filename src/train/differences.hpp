#pragma once

#include <string>
#include <utility>
#include <vector>

#include "scalecalc/train.hpp"

namespace scalecalc::train_room {

/// Every key in which a group's model file, as model_text() writes it, is not as the first one's.
/// `models`: names and texts.
std::vector<GroupDifference> model_differences(
    const std::vector<std::pair<std::string, std::string>>& models);

}  // namespace scalecalc::train_room
