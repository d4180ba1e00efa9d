#pragma once

#include <algorithm>
#include <string>

#include "scalecalc/train.hpp"

namespace scalecalc::train_room {

/// Whether a run of fewer steps is the beginning of a longer one: no schedule and no ramp of the
/// branches knows where it ends.
inline bool is_open_ended(const OptimizerOptions& optimizer, const std::string& group) {
  const auto ends = [](const Schedule& schedule) {
    return schedule.kind == Schedule::Kind::linear || schedule.kind == Schedule::Kind::cosine;
  };
  return !ends(optimizer.schedule) && !train_group(group).ramp &&
         std::ranges::none_of(optimizer.rest, ends, &OptimizerOptions::schedule);
}

}  // namespace scalecalc::train_room
