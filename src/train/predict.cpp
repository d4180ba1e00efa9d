#include <cmath>

#include "forecast/scaled_step.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/moments.hpp"
#include "scalecalc/scaling.hpp"
#include "train/run.hpp"

namespace scalecalc::train_room {

LayerNorms by_layer(const std::vector<ParameterInfo>& parameters,
                    const std::vector<double>& norms) {
  LayerNorms result;
  double total = 0.0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string layer = outermost_part(parameters[i].path);
    if (result.layers.empty() || result.layers.back() != layer) {
      result.layers.push_back(layer);
      result.norms.push_back(0.0);
    }
    result.norms.back() += norms[i] * norms[i];
    total += norms[i] * norms[i];
  }
  for (double& norm : result.norms) norm = std::sqrt(norm);
  result.total = std::sqrt(total);
  return result;
}

static Network network_of(const ModelSpec& model, const Corpus& corpus) {
  Network network = build_network(model);
  network.token_collision = corpus.collision;
  network.target_collision = corpus.collision;
  return network;
}

TrainPrediction predict(const ModelSpec& model, const ModelSpec& open,
                        const OptimizerOptions& optimizer, std::int64_t steps,
                        const Corpus& corpus) {
  PropagateOptions options;
  options.threads = 1;
  TrainPrediction prediction;
  try {
    const Network network = network_of(model, corpus);
    const Trace trace = propagate(network, options);
    std::vector<double> norms;
    for (const ParameterMoments& parameter : trace.parameters) {
      norms.push_back(std::sqrt(parameter.grad_second.value * static_cast<double>(parameter.rows) *
                                static_cast<double>(parameter.columns)));
    }
    prediction.gradient = by_layer(parameters(network), norms);
    prediction.loss_change =
        optimizer.schedule.at(1) * forecast_room::scaled_step(network, trace, optimizer).delta_loss;
  } catch (const Error& error) {
    prediction = {};
    prediction.why_none = error.what();
  }
  prediction.signs = forecast_signs(network_of(open, corpus), optimizer, options);
  prediction.length = run_length(optimizer.schedule, steps);
  return prediction;
}

}  // namespace scalecalc::train_room
