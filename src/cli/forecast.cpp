#include "cli/forecast.hpp"

namespace scalecalc::cli {

using report::Value;

Value forecast_value(const Forecast& forecast) {
  Value value = Value::object();
  value["trains"] = forecast.trains();
  value["probability"] = forecast.probability;
  value["rule"] = forecast.reason();
  value["parts"] = Value::array();
  for (const ForecastPart& part : forecast.parts) {
    Value entry = Value::object();
    entry["name"] = part.name;
    entry["probability"] = part.probability;
    entry["text"] = part.text;
    entry["change"] = part.change.empty() ? Value() : Value(part.change);
    value["parts"].push_back(std::move(entry));
  }
  return value;
}

Keys forecast_keys() {
  using namespace shapes;
  const Shape part =
      object({{"name", text(), "signal, steps or step size"},
              {"probability", number(), "that the run does not fail by it"},
              {"text", text(), "what decides, in numbers"},
              {"change", text().or_null(), "what brings it to a half; null: it is more"}});
  return {{"trains", truth(), "whether the probability is a half or more"},
          {"probability", number(), "that the run converges"},
          {"rule", text(), "of the part that is least"},
          {"parts", list(part), "whose product it is; none outside the rules' range"}};
}

Shape forecast_shape() {
  return shapes::object(forecast_keys());
}

}  // namespace scalecalc::cli
