#include <utility>

#include "cli/forecast.hpp"
#include "cli/propagate/document.hpp"

namespace scalecalc::cli {
namespace {

using report::Value;

Value signs_value(const ForecastSigns& signs) {
  Value value = Value::object();
  for (const ForecastSign& sign : forecast_sign_list()) value[sign.name] = signs.*sign.number;
  value["grows_with_gradient"] = signs.grows_with_gradient;
  if (!signs.without_step.empty()) value["without_step"] = signs.without_step;
  return value;
}

}  // namespace

Shape propagate_forecast_shape() {
  using namespace shapes;
  Keys signs;
  for (const ForecastSign& sign : forecast_sign_list())
    signs.push_back({sign.name, number().or_null(), sign.meaning});
  signs.push_back({"grows_with_gradient", truth(), "the step, as that of sgd"});
  signs.push_back(
      maybe("without_step", text(), "why the first step is not in the identity weight"));
  return object(forecast_keys() +
                Keys{{"optimizer", text(), "of the run"},
                     {"lr", number(), "at its full height"},
                     {"steps", count(), "of the run"},
                     {"warmup", count(), "of them, over which the rate grows"},
                     {"signs", object(signs), "what it is made of; null: not known"}});
}

void add_forecast(const PropagateAnswer& answer, report::Format format,
                  report::Document& document) {
  const Forecast made = forecast(*answer.signs, answer.length);
  if (format == report::Format::json) {
    Value value = forecast_value(made);
    value["optimizer"] = answer.optimizer;
    value["lr"] = answer.lr;
    value["steps"] = answer.length.steps;
    value["warmup"] = answer.length.warmup;
    value["signs"] = signs_value(*answer.signs);
    document.results["forecast"] = value;
    return;
  }
  if (format == report::Format::csv) return;
  report::Facts facts;
  facts.rows = {{"optimizer", answer.optimizer},
                {"lr", answer.lr},
                {"steps", answer.length.steps},
                {"warmup", answer.length.warmup},
                {"probability", made.probability}};
  if (made.parts.empty()) facts.rows.push_back({"why", made.reason()});
  if (!answer.signs->without_step.empty())
    facts.rows.push_back({"without the first step", answer.signs->without_step});
  document.sections.push_back({"Would it train", facts});
  if (made.parts.empty()) return;
  report::Table table{{"not lost by", "probability", "why", "a half"}, {}};
  for (const ForecastPart& part : made.parts)
    table.rows.push_back({part.name, part.probability, part.text,
                          part.change.empty() ? Value() : Value(part.change)});
  document.sections.push_back({"Why", std::move(table)});
}

}  // namespace scalecalc::cli
