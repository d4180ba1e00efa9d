#include <nlohmann/json.hpp>
#include <sstream>

#include "export/settings.hpp"
#include "scalecalc/model_fields.hpp"

namespace scalecalc::export_room {
namespace {

using Json = nlohmann::ordered_json;

Json numbers_of(const std::string& text) {
  Json numbers = Json::array();
  std::istringstream words(text);
  for (double number = 0; words >> number;) numbers.push_back(number);
  return numbers;
}

}  // namespace

std::string scaling_name(const ModelSpec& spec) {
  return std::get<std::string>(model_field("rotary_scaling", spec.kind, "").get(spec));
}

std::string rope_parameters(const ModelSpec& spec) {
  const RotaryStretch& stretch = spec.rotary;
  Json made = {{"rope_type", scaling_name(spec)}, {"rope_theta", spec.rotary_base}};
  const auto add_length = [&] { made["original_max_position_embeddings"] = stretch.original; };
  made["factor"] = stretch.factor;
  switch (stretch.scaling) {
    case RotaryScaling::none: return {};
    case RotaryScaling::linear:
    case RotaryScaling::dynamic: break;
    case RotaryScaling::llama3:
      made["low_freq_factor"] = stretch.low == 0 ? 1.0 : stretch.low;
      made["high_freq_factor"] = stretch.high == 0 ? 4.0 : stretch.high;
      add_length();
      break;
    case RotaryScaling::yarn:
      if (stretch.low != 0) made["beta_slow"] = stretch.low;
      if (stretch.high != 0) made["beta_fast"] = stretch.high;
      made["truncate"] = stretch.truncate;
      add_length();
      break;
    case RotaryScaling::longrope:
      made["short_factor"] = numbers_of(stretch.short_factors);
      made["long_factor"] = numbers_of(stretch.long_factors);
      add_length();
      break;
  }
  if (stretch.attention != 0) made["attention_factor"] = stretch.attention;
  return made.dump();
}

}  // namespace scalecalc::export_room
