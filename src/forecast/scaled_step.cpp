#include "forecast/scaled_step.hpp"

#include <optional>

namespace scalecalc::forecast_room {
namespace {

Expr rule_of(const OptimizerOptions& optimizer) {
  return scalecalc::optimizer(optimizer.name, "optimizer").update;
}

Expr with_rate(const OptimizerOptions& optimizer) {
  return Expr(Rational::shortest(optimizer.learning_rate)) * rule_of(optimizer);
}

}  // namespace

PredictedStep scaled_step(const Network& network, const Trace& trace,
                          const OptimizerOptions& optimizer) {
  if (optimizer.rest.empty()) {
    PredictedStep step = predicted_step(network, trace, rule_of(optimizer), true);
    for (double PredictedStep::*part :
         {&PredictedStep::delta_loss, &PredictedStep::typical_delta_loss,
          &PredictedStep::update_ratio, &PredictedStep::relative_update,
          &PredictedStep::relative_norm})
      step.*part *= optimizer.learning_rate;
    return step;
  }
  const OptimizerOptions& rest = optimizer.rest.front();
  return predicted_step(network, trace, with_rate(optimizer), true,
                        SecondRule{rest.name, with_rate(rest), optimizer.first_roles});
}

bool grows_with_gradient(const OptimizerOptions& optimizer) {
  const StepLaw law = step_law(rule_of(optimizer));
  return (law.gradient_power * law.outer_power).to_double() > 1;
}

}  // namespace scalecalc::forecast_room
