#include <cmath>
#include <limits>

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

}  // namespace

FirstStep predict_first_step(const Network& network, const Trace& trace,
                             const OptimizerOptions& options) {
  validate(options);
  double decay = options.weight_decay;
  for (const OptimizerOptions& rest : options.rest) decay = std::max(decay, rest.weight_decay);
  if (decay > 0)
    throw Error(ErrorKind::input, "the change by a step has no rule for weight_decay", "optimizer",
                "set it to 0");
  return steps::Walk(network, trace, options).run();
}

FirstStep first_step_of(const StepSamples& samples) {
  FirstStep made;
  for (const SiteSteps& site : samples.sites)
    made.sites.push_back({site.path, site.kind, site.width, site.tokens, mean_of(site.change[1]),
                          mean_of(site.second[0]).value});
  for (const ParameterSteps& parameter : samples.parameters)
    made.parameters.push_back({parameter.path, parameter.rows, parameter.columns,
                               mean_of(parameter.update[0]), mean_of(parameter.second[0]).value});
  std::vector<double> changes;
  for (std::size_t i = 0; i < samples.loss[0].size(); ++i)
    changes.push_back(samples.loss[1][i] - samples.loss[0][i]);
  made.loss_change = mean_of(changes);
  return made;
}

}  // namespace scalecalc
