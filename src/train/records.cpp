#include "train/records.hpp"

#include <fmt/format.h>

#include <limits>

namespace scalecalc::train_room {
namespace {

double number(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

LayerNorms norms_from(const Json& json) {
  LayerNorms norms;
  norms.total = number(json.at("total"));
  for (const auto& [name, value] : json.at("layers").items()) {
    norms.layers.push_back(name);
    norms.norms.push_back(number(value));
  }
  return norms;
}

}  // namespace

std::string placement_of(const std::string& group) {
  return group.substr(0, group.find('@'));
}

std::string run_name(const TrainRun& run) {
  return fmt::format("{}-{}-seed{}", run.group, run.layers, run.seed);
}

Json to_json(const LayerNorms& norms) {
  Json layers = Json::object();
  for (std::size_t i = 0; i < norms.layers.size(); ++i) layers[norms.layers[i]] = norms.norms[i];
  return {{"total", norms.total}, {"layers", layers}};
}

Json to_json(const TrainPrediction& prediction) {
  Json json;
  if (!prediction.why_none.empty()) {
    json["why_none"] = prediction.why_none;
  } else {
    json["gradient"] = to_json(prediction.gradient);
    json["loss_change"] = prediction.loss_change;
  }
  return json;
}

Json to_json(const TrainRecord& record) {
  return {{"step", record.step},
          {"loss", record.loss},
          {"gradient", to_json(record.gradient)},
          {"update_ratio", record.update_ratio},
          {"validation_loss", record.validation_loss}};
}

TrainPrediction prediction_from(const Json& json) {
  TrainPrediction prediction;
  if (json.contains("why_none")) {
    prediction.why_none = json.at("why_none").get<std::string>();
  } else {
    prediction.gradient = norms_from(json.at("gradient"));
    prediction.loss_change = number(json.at("loss_change"));
  }
  return prediction;
}

TrainRecord record_from(const Json& json) {
  TrainRecord record;
  record.step = json.at("step").get<std::int64_t>();
  record.loss = number(json.at("loss"));
  record.gradient = norms_from(json.at("gradient"));
  record.update_ratio = number(json.at("update_ratio"));
  record.validation_loss = number(json.at("validation_loss"));
  return record;
}

}  // namespace scalecalc::train_room
