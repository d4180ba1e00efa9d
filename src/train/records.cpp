#include "train/records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.hpp"
#include "train/hash.hpp"
#include "train/whole_number.hpp"

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

Json read_json(std::string_view text) {
  constexpr int kDeepest = 32;
  int depth = 0;
  const auto measure = [&depth](int nested, Json::parse_event_t, Json&) {
    depth = std::max(depth, nested);
    return nested <= kDeepest;
  };
  Json json = Json::parse(text, measure, false);
  return depth > kDeepest ? Json(Json::value_t::discarded) : json;
}

std::string placement_of(const std::string& group) {
  return group.substr(0, group.find('@'));
}

std::string run_name(const TrainRun& run) {
  std::string place;
  if (run.place.width > 0) place += fmt::format("-width{}", run.place.width);
  for (const auto& [key, value] : run.place.values) place += fmt::format("-{}{}", key, value);
  return fmt::format("{}-{}{}-seed{}", run.group, run.layers, place, run.seed);
}

/// What all runs of a folder began with: they share the text, not the weights.
static Json start_text(const Json& pretrained) {
  return pretrained.is_object() ? pretrained.value("text", Json()) : Json();
}

std::uint64_t run_id(const Json& configuration) {
  const std::string text = configuration.dump();
  return hash(text.data(), text.size());
}

Json common_part(const Json& configuration) {
  Json rest = configuration;
  const bool is_grid = configuration.contains("grid");
  for (const char* key : {"layers", "seed", "model", "ramp_steps"}) rest.erase(key);
  const bool of_placements = is_grid && configuration.value("tuning", Json()).contains("of");
  if (is_grid)
    for (const char* key : {"grid", "optimizer"}) rest.erase(key);
  if (!is_grid || of_placements) rest.erase("group");
  if (rest.contains("pretrained")) rest["pretrained"] = start_text(rest.at("pretrained"));
  return rest;
}

std::string first_difference(const Json& here, const Json& there, const std::string& path) {
  for (const auto& [key, value] : here.items()) {
    const std::string name = path.empty() ? key : path + "." + key;
    if (!there.is_object() || !there.contains(key)) return name + " is new";
    if (value == there.at(key)) continue;
    if (value.is_object()) return first_difference(value, there.at(key), name);
    if (value.is_string() && value.get<std::string>().find('\n') != std::string::npos) return name;
    return fmt::format("{} is {} there and {} here", name, base::shortened(there.at(key).dump()),
                       base::shortened(value.dump()));
  }
  return "a key is missing here";
}

Json to_json(const PretrainedRun& run, const std::string& text) {
  return {{"run", run.id}, {"text", text}, {"steps", run.steps}, {"final_loss", run.final_loss}};
}

TrainStart start_from(const Json& json) {
  TrainStart start;
  start.text = json.at("text").get<std::string>();
  start.steps = whole<std::int64_t>(json.at("steps"));
  start.final_loss = number(json.at("final_loss"));
  return start;
}

Json losses_json(const TrainStart& start) {
  return {{"loss", start.loss}, {"pretraining_loss", start.pretraining_loss}};
}

void take_losses(const Json& json, TrainStart& start) {
  start.loss = number(json.at("loss"));
  start.pretraining_loss = number(json.at("pretraining_loss"));
}

Json to_json(const GridPlace& place) {
  Json values = Json::object();
  for (const auto& [key, value] : place.values) values[key] = value;
  return {{"width", place.width}, {"values", values}};
}

Json to_json(const LayerNorms& norms) {
  Json layers = Json::object();
  for (std::size_t i = 0; i < norms.layers.size(); ++i) layers[norms.layers[i]] = norms.norms[i];
  return {{"total", norms.total}, {"layers", layers}};
}

/// Numbers that are not known are left out.
static Json to_json(const ForecastSigns& signs) {
  Json json = {{"grows_with_gradient", signs.grows_with_gradient}};
  for (const ForecastSign& key : forecast_sign_list())
    if (std::isfinite(signs.*key.number)) json[key.name] = signs.*key.number;
  if (!signs.without_step.empty()) json["without_step"] = signs.without_step;
  if (!signs.why_none.empty()) json["why_none"] = signs.why_none;
  return json;
}

static ForecastSigns signs_from(const Json& json) {
  ForecastSigns signs;
  signs.grows_with_gradient = json.at("grows_with_gradient").get<bool>();
  for (const ForecastSign& key : forecast_sign_list())
    if (json.contains(key.name)) signs.*key.number = number(json.at(key.name));
  signs.without_step = json.value("without_step", std::string());
  signs.why_none = json.value("why_none", std::string());
  return signs;
}

static Json to_json(const RunLength& length) {
  return {{"steps", length.steps}, {"warmup", length.warmup}, {"full_steps", length.full_steps}};
}

static RunLength length_from(const Json& json) {
  return {whole<std::int64_t>(json.at("steps")), whole<std::int64_t>(json.at("warmup")),
          number(json.at("full_steps"))};
}

Json to_json(const TrainPrediction& prediction) {
  Json json;
  if (prediction.signs) {
    json["signs"] = to_json(*prediction.signs);
    json["length"] = to_json(prediction.length);
  }
  if (!prediction.why_none.empty()) {
    json["why_none"] = prediction.why_none;
  } else {
    json["gradient"] = to_json(prediction.gradient);
    json["loss_change"] = prediction.loss_change;
  }
  return json;
}

Json to_json(const TrainRecord& record) {
  Json json = {{"step", record.step},
               {"loss", record.loss},
               {"gradient", to_json(record.gradient)},
               {"update_ratio", record.update_ratio},
               {"validation_loss", record.validation_loss}};
  for (const auto& [path, value] : record.scales) json["scales"][path] = value;
  if (record.pretraining_loss) json["pretraining_loss"] = *record.pretraining_loss;
  return json;
}

TrainPrediction prediction_from(const Json& json) {
  TrainPrediction prediction;
  if (json.contains("why_none")) {
    prediction.why_none = json.at("why_none").get<std::string>();
  } else {
    prediction.gradient = norms_from(json.at("gradient"));
    prediction.loss_change = number(json.at("loss_change"));
  }
  // Logs of earlier versions have none.
  if (json.contains("signs")) {
    prediction.signs = signs_from(json.at("signs"));
    prediction.length = length_from(json.at("length"));
  }
  return prediction;
}

GridPlace place_from(const Json& json) {
  GridPlace place;
  place.width = whole<std::int64_t>(json.at("width"));
  for (const auto& [key, value] : json.at("values").items())
    place.values.emplace_back(key, value.get<double>());
  return place;
}

TrainRecord record_from(const Json& json) {
  TrainRecord record;
  record.step = whole<std::int64_t>(json.at("step"));
  record.loss = number(json.at("loss"));
  record.gradient = norms_from(json.at("gradient"));
  record.update_ratio = number(json.at("update_ratio"));
  record.validation_loss = number(json.at("validation_loss"));
  // Logs of earlier versions have none.
  if (json.contains("scales"))
    for (const auto& [path, value] : json.at("scales").items())
      record.scales.emplace_back(path, number(value));
  if (json.contains("pretraining_loss"))
    record.pretraining_loss = number(json.at("pretraining_loss"));
  return record;
}

}  // namespace scalecalc::train_room
