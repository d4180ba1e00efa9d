#include "steps/first_update.hpp"

#include <algorithm>
#include <cmath>

#include "scalecalc/named_parameters.hpp"
#include "scalecalc/optimizer_mixture.hpp"

namespace scalecalc::steps {
namespace {

class Choice {
 public:
  Choice(const OptimizerOptions& options, const ParameterFactors& factors,
         const ParameterInfo& parameter, const ParameterMoments& moments, double global_norm)
      : options_(options),
        parameter_(parameter),
        entries_(static_cast<double>(moments.rows) * static_cast<double>(moments.columns)),
        theta_(std::sqrt(entries_ * moments.second.value)),
        gradient_(std::sqrt(entries_ * moments.grad_second.value)),
        global_norm_(global_norm),
        factors_(factors),
        eps_(options.eps * factors_.eps),
        rate_(options.learning_rate * factors_.learning_rate) {
    if (options.clip_norm > 0 && global_norm > 0)
      clip_ = std::min(1.0, options.clip_norm / global_norm);
  }

  Update run() const {
    const std::string& name = options_.name;
    if (name == "sgd" || name == "momentum") return gradient(rate_ * clip_);
    if (name == "nesterov") return gradient(rate_ * clip_ * (1 + options_.momentum));
    if (name == "ngd") return gradient(global_norm_ > 0 ? rate_ / global_norm_ : 0);
    if (name == "lars") return gradient(rate_ * clip_ * trust());
    if (name == "lion") return sign(rate_, 0);
    if (name == "rmsprop") return rmsprop();
    if (name == "lamb") return lamb();
    if (name == "adafactor") return adafactor();
    if (name == "muon") return muon();
    return sign(rate_, eps_ / clip_);
  }

 private:
  Update gradient(double scale) const {
    Update made;
    made.scale = scale;
    made.entry.bound = options_.clip_value;
    return made;
  }
  static Update sign(double scale, double eps) {
    Update made;
    made.scale = scale;
    made.entry = {EntryRule::Kind::sign, eps, 0};
    return made;
  }

  /// The first average of squares is (1 - beta2) of them.
  Update rmsprop() const {
    const double root = std::sqrt(1 - options_.beta2);
    return sign(rate_ / root, eps_ / (clip_ * root));
  }

  double trust() const {
    const double norm = gradient_ * clip_;
    return theta_ > 0 && norm > 0 ? options_.trust * theta_ / norm : options_.trust;
  }

  Update lamb() const {
    const double eps = eps_ / clip_;
    const double entry = gradient_ / std::sqrt(entries_);
    const double norm =
        std::sqrt(entries_ * entry_moments({EntryRule::Kind::sign, eps, 0}, 0, entry).square);
    return sign(theta_ > 0 && norm > 0 ? rate_ * theta_ / norm : rate_, eps);
  }

  Update adafactor() const {
    const bool is_vector = parameter_.rows == 1 || parameter_.columns == 1;
    Update made;
    made.entry.kind = is_vector ? EntryRule::Kind::sign : EntryRule::Kind::row_over_rms;
    const double most = std::min(1.0, options_.clip_rms);
    const double relative = std::max(options_.eps_parameter, theta_ / std::sqrt(entries_));
    made.scale = rate_ * most;
    if (options_.relative_step) {
      made.scale = factors_.learning_rate * std::min(options_.learning_rate, 1.0) * relative * most;
    }
    return made;
  }

  Update muon() const {
    const bool takes =
        options_.first_roles.empty() ? is_hidden_matrix(parameter_) : parameter_.is_matrix;
    if (!takes) {
      return sign(options_.adamw_learning_rate * factors_.learning_rate, eps_ / clip_);
    }
    Update made;
    made.rule = Update::Rule::orthogonal;
    made.polynomials = options_.newton_schulz_steps;
    const double in = static_cast<double>(parameter_.rows);
    const double out = static_cast<double>(parameter_.columns);
    double scale = 1;
    if (options_.muon_scale == OptimizerOptions::MuonScale::shape)
      scale = std::sqrt(std::max(1.0, out / in));
    if (options_.muon_scale == OptimizerOptions::MuonScale::match_rms)
      scale = 0.2 * std::sqrt(std::max(in, out));
    made.scale = rate_ * scale;
    return made;
  }

  const OptimizerOptions& options_;
  const ParameterInfo& parameter_;
  double entries_, theta_, gradient_, global_norm_;
  const ParameterFactors& factors_;
  double eps_, rate_, clip_ = 1;
};

/// Of one that is applied to the parameter.
OptimizerOptions options_of(const OptimizerOptions& options, const ParameterInfo& parameter) {
  const bool takes = options.rest.empty() || steps_first(options.first_roles, parameter);
  return takes ? options : rest_of(options);
}

/// Step `at` of a rule without momentum against its first, on the same gradient.
double against_first(const OptimizerOptions& options, double at) {
  const std::string& name = options.name;
  if (name == "rmsprop") return std::sqrt((1 - options.beta2) / (1 - std::pow(options.beta2, at)));
  if (name == "adagrad") return 1 / std::sqrt(at);
  if (name == "adafactor" && options.relative_step)
    return std::min(options.learning_rate, 1 / std::sqrt(at)) /
           std::min(options.learning_rate, 1.0);
  return 1;
}

}  // namespace

Update first_update(const OptimizerOptions& options, const ParameterInfo& parameter,
                    const ParameterMoments& moments, double global_norm) {
  const ParameterFactors factors = factors_of(options, parameter.path);
  const OptimizerOptions own = options_of(options, parameter);
  return Choice(own, factors, parameter, moments, global_norm).run();
}

RepeatedSteps repeated_steps(const OptimizerOptions& options, const ParameterInfo& parameter,
                             int count) {
  const OptimizerOptions own = options_of(options, parameter);
  const bool is_lars = own.name == "lars", is_nesterov = own.name == "nesterov";
  const bool has_momentum = is_lars || is_nesterov || own.name == "momentum";
  RepeatedSteps made{0, 0};
  double velocity = 0;
  for (int step = 1; step <= count; ++step) {
    const double schedule = own.schedule.at(step);
    // The average of lars is one of steps, that of the others one of gradients.
    velocity = own.momentum * velocity + (is_lars ? schedule : 1);
    made.last = schedule * against_first(own, step);
    if (has_momentum) made.last = is_lars ? velocity : schedule * velocity;
    if (is_nesterov) made.last = schedule * (1 + own.momentum * velocity) / (1 + own.momentum);
    made.sum += made.last;
  }
  return made;
}

}  // namespace scalecalc::steps
