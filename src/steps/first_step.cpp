#include <cmath>
#include <limits>
#include <string>

#include "scalecalc/error.hpp"
#include "scalecalc/steps.hpp"
#include "steps/walk.hpp"

namespace scalecalc {
namespace {

Figure mean_of(const std::vector<double>& draws) {
  const double count = static_cast<double>(draws.size());
  double mean = 0, squares = 0;
  for (const double draw : draws) mean += draw / count;
  for (const double draw : draws) squares += (draw - mean) * (draw - mean);
  Figure made{mean, 0, 0};
  made.error = count > 1 ? std::sqrt(squares / (count - 1) / count)
                         : std::numeric_limits<double>::infinity();
  return made;
}

/// Of what was asked for.
Figure known(const std::vector<std::vector<double>>& draws, std::size_t step) {
  return draws.empty() ? Figure{} : mean_of(draws[step]);
}

}  // namespace

FirstStep predict_first_step(const Network& network, const Trace& trace,
                             const OptimizerOptions& options) {
  return predict_steps(network, trace, options, 1);
}

FirstStep predict_steps(const Network& network, const Trace& trace, const OptimizerOptions& options,
                        int steps) {
  validate(options);
  constexpr int most = 1000;
  if (steps < 1 || steps > most)
    throw Error(ErrorKind::input, "steps is " + std::to_string(steps), "steps",
                "use 1 to " + std::to_string(most));
  double decay = options.weight_decay;
  for (const OptimizerOptions& rest : options.rest) decay = std::max(decay, rest.weight_decay);
  if (decay > 0)
    throw Error(ErrorKind::input, "the change by a step has no rule for weight_decay", "optimizer",
                "set it to 0");
  return steps::Walk(network, trace, options, steps).run();
}

FirstStep first_step_of(const StepSamples& samples) {
  return steps_of(samples, 1);
}

FirstStep steps_of(const StepSamples& samples, std::size_t steps) {
  if (steps < 1 || steps >= samples.loss.size())
    throw Error(ErrorKind::input, "there are no " + std::to_string(steps) + " steps", "steps",
                "use 1 to " + std::to_string(samples.loss.size() - 1));
  FirstStep made;
  for (const SiteSteps& site : samples.sites)
    made.sites.push_back({site.path, site.kind, site.width, site.tokens,
                          mean_of(site.change[steps]), mean_of(site.second[0]).value});
  for (const ParameterSteps& parameter : samples.parameters)
    made.parameters.push_back({parameter.path, parameter.rows, parameter.columns,
                               mean_of(parameter.update[steps - 1]),
                               mean_of(parameter.second[0]).value,
                               known(parameter.update_norm, steps - 1), known(parameter.norm, 0)});
  std::vector<double> changes;
  for (std::size_t i = 0; i < samples.loss[0].size(); ++i)
    changes.push_back(samples.loss[steps][i] - samples.loss[0][i]);
  made.loss_change = mean_of(changes);
  return made;
}

}  // namespace scalecalc
