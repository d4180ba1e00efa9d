#include "verify/predicted_sweep.hpp"

#include "scalecalc/error.hpp"
#include "scalecalc/moments.hpp"
#include "scalecalc/scaling.hpp"
#include "verify/statistics.hpp"
#include "verify/sweep_models.hpp"

namespace scalecalc {
namespace {

/// Of a change of the loss the typical draw's, which the median over seeds is: past the collapse of
/// Post-Norm the mean is carried by rare draws, more of it with every layer.
double chosen(const PredictedStep& step, Quantity quantity) {
  const std::string name = to_string(quantity);
  if (quantity == Quantity::delta_loss) return step.typical_delta_loss;
  if (const std::optional<double> value = step.find(name)) return *value;
  throw Error(ErrorKind::usage, name + " has no prediction", "--engine quadrature",
              "use delta_loss, grad_norm or update_ratio, or --engine passes");
}

SweepPoint predicted_point(const SweepOptions& options, const ModelSpec& spec) {
  const Network network = build_network(spec);
  PropagateOptions with_threads;
  with_threads.threads = options.threads;
  const PredictedStep step =
      predicted_step(network, propagate(network, with_threads), options.update,
                     options.parameters == ParameterSet::all, options.rest);
  SweepPoint point = sweep_point(spec, options);
  point.samples = {chosen(step, options.quantity)};
  return point;
}

}  // namespace

SweepResult predicted_sweep(const SweepOptions& options) {
  chosen({}, options.quantity);
  SweepResult result;
  result.by_width = !options.widths.empty();
  for (const ModelSpec& spec : sweep_models(options))
    result.points.push_back(predicted_point(options, spec));
  summarise(result);
  return result;
}

}  // namespace scalecalc
