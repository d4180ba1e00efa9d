#include <cmath>

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

namespace {

/// By the first step.
double loss_change(const Network& network, const Trace& trace, const OptimizerOptions& optimizer) {
  const auto rule = [](const OptimizerOptions& of) {
    return scalecalc::optimizer(of.name, "optimizer").update;
  };
  const auto change = [&](const Expr& update, const std::optional<SecondRule>& rest) {
    return predicted_step(network, trace, update, true, rest).delta_loss;
  };
  const double factor = optimizer.schedule.at(1);
  if (optimizer.rest.empty()) return optimizer.learning_rate * factor * change(rule(optimizer), {});
  const OptimizerOptions& rest = optimizer.rest.front();
  return factor *
         change(Expr(Rational::shortest(optimizer.learning_rate)) * rule(optimizer),
                SecondRule{rest.name, Expr(Rational::shortest(rest.learning_rate)) * rule(rest),
                           optimizer.first_roles});
}

}  // namespace

TrainPrediction predict(const ModelSpec& model, const OptimizerOptions& optimizer,
                        const Corpus& corpus, int threads) {
  TrainPrediction prediction;
  try {
    Network network = build_network(model);
    network.token_collision = corpus.collision;
    network.target_collision = corpus.collision;
    PropagateOptions options;
    options.threads = threads;
    const Trace trace = propagate(network, options);
    std::vector<double> norms;
    for (const ParameterMoments& parameter : trace.parameters) {
      norms.push_back(std::sqrt(parameter.grad_second.value * static_cast<double>(parameter.rows) *
                                static_cast<double>(parameter.columns)));
    }
    prediction.gradient = by_layer(parameters(network), norms);
    prediction.loss_change = loss_change(network, trace, optimizer);
  } catch (const Error& error) {
    prediction = {};
    prediction.why_none = error.what();
  }
  return prediction;
}

}  // namespace scalecalc::train_room
