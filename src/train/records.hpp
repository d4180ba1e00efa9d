#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "scalecalc/train.hpp"

/// Lines of a run's log: {"configuration": ...}, {"prediction": ...}, {"step": ...} for each
/// record, {"verdict": ...} at the end. Numbers read back as the same bits; those that are not
/// finite are null, and NaN when read.
namespace scalecalc::train_room {

using Json = nlohmann::ordered_json;

/// "post-8-seed0": what the files of a run are called.
std::string run_name(const TrainRun& run);

/// "pre" of "pre@input+branch": which of train_groups() a group is.
std::string placement_of(const std::string& group);

Json to_json(const LayerNorms& norms);
Json to_json(const TrainPrediction& prediction);
Json to_json(const TrainRecord& record);
/// Throw nlohmann's exception for another object.
TrainPrediction prediction_from(const Json& json);
TrainRecord record_from(const Json& json);

}  // namespace scalecalc::train_room
