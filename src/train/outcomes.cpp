#include <optional>

#include "scalecalc/train.hpp"

namespace scalecalc {

std::optional<Forecast> forecast(const TrainPrediction& prediction) {
  if (!prediction.signs) return std::nullopt;
  return forecast(*prediction.signs, prediction.length);
}

std::vector<ForecastOutcome> forecast_outcomes(const std::vector<TrainRun>& runs) {
  std::vector<ForecastOutcome> outcomes;
  for (const TrainRun& run : runs)
    if (const std::optional<Forecast> expected = forecast(run.prediction))
      outcomes.push_back({expected->probability, run.verdict == TrainVerdict::converged});
  return outcomes;
}

}  // namespace scalecalc
