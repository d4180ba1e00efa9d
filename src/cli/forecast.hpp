#pragma once

#include "cli/json_form.hpp"
#include "scalecalc/forecast.hpp"
#include "scalecalc/report.hpp"

/// Whether a run trains, in JSON; as `propagate`, `train` and `report` show it.
namespace scalecalc::cli {

report::Value forecast_value(const Forecast& forecast);
Keys forecast_keys();
Shape forecast_shape();

}  // namespace scalecalc::cli
