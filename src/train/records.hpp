#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "scalecalc/pretrained.hpp"
#include "scalecalc/train.hpp"

/// Lines of a run's log: {"configuration": ...}, {"prediction": ...} (with "start", the losses that
/// trained weights begin with), {"step": ...} for each record, {"verdict": ...} at the end. Numbers
/// read back as the same bits; those that are not finite are null, and NaN when read.
namespace scalecalc::train_room {

using Json = nlohmann::ordered_json;

/// "post-8-seed0", of a grid "pre-2-width64-lr0.001-seed0": what the files of a run are called.
std::string run_name(const TrainRun& run);

/// "pre" of "pre@input+branch": which of train_groups() a group is.
std::string placement_of(const std::string& group);

/// What all runs of an experiment have in common, of a configuration.
Json common_part(const Json& configuration);
/// That of a log; null where its first line has none. Throws Error(input) for what is no file.
Json logged_configuration(const std::string& path);
/// Which run of an experiment a configuration is, with its key: what a checkpoint is held to.
std::uint64_t run_id(const Json& configuration);
/// Throws Error(input) where the folder has a run of a grid, or this is one of a grid, and what
/// both have in common differs.
void check_others(const std::string& folder, const Json& configuration);
/// The first key whose values differ, with both.
std::string first_difference(const Json& here, const Json& there, const std::string& path = {});

/// What a text of an experiment's folder says: discarded where it is no JSON, or has brackets in
/// brackets deeper than any that is written there; those who copy, compare and print it call
/// themselves for each.
Json read_json(std::string_view text);

/// Of a configuration: the weights that a run begins with. Their bits are those of the run's
/// configuration, whose loss at the end tells machines apart that compute other numbers.
Json to_json(const PretrainedRun& run, const std::string& text);
TrainStart start_from(const Json& json);
Json losses_json(const TrainStart& start);
void take_losses(const Json& json, TrainStart& start);
Json to_json(const GridPlace& place);
Json to_json(const LayerNorms& norms);
Json to_json(const TrainPrediction& prediction);
Json to_json(const TrainRecord& record);
/// Throw nlohmann's exception for another object.
GridPlace place_from(const Json& json);
TrainPrediction prediction_from(const Json& json);
TrainRecord record_from(const Json& json);

}  // namespace scalecalc::train_room
