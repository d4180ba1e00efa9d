#include "passes/optimizer.hpp"

#include "scalecalc/named_parameters.hpp"
#include "scalecalc/optimizer_mixture.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace scalecalc::passes {

using tensor::ElementRule;
using tensor::ElementUpdate;
using tensor::Tensor;

template <class Real>
Optimizer<Real>::Optimizer(std::shared_ptr<tensor::Device<Real>> device,
                           const std::vector<ParameterInfo>& parameters, OptimizerOptions options,
                           Part part)
    : device_(std::move(device)), options_(std::move(options)) {
  scalecalc::validate(options_);
  std::int64_t entries = 0, inner = 0;
  for (const ParameterInfo& info : parameters) {
    State& state = states_.emplace_back(make_state(info, part));
    state.factors = factors_of(options_, info.path);
    if (state.rule != OptimizerRule::muon) continue;
    entries = std::max(entries, info.rows * info.columns);
    inner = std::max(inner, std::min(info.rows, info.columns));
  }
  if (entries > 0) bytes_ += newton_schulz_.emplace(device_, entries, inner).bytes();
}

template <class Real>
Tensor<Real> Optimizer<Real>::zeros(std::int64_t rows, std::int64_t columns) {
  Tensor<Real> tensor(device_, rows, columns);
  device_->zero(tensor.data(), tensor.bytes());
  bytes_ += tensor.bytes();
  return tensor;
}

template <class Real>
typename Optimizer<Real>::State Optimizer<Real>::make_state(const ParameterInfo& info, Part part) {
  State state{optimizer_rule(options_.name), false, info.rows, info.columns, {}, {}};
  const bool of_first = steps_first(options_.first_roles, info);
  if (part != Part::all && of_first != (part == Part::first))
    return {OptimizerRule::sgd, false, info.rows, info.columns, {}, {}};
  const bool is_named = part == Part::first && !options_.first_roles.empty() && info.is_matrix;
  if (state.rule == OptimizerRule::muon && !is_named && !is_hidden_matrix(info))
    state.rule = OptimizerRule::adamw;
  switch (state.rule) {
    case OptimizerRule::sgd:
    case OptimizerRule::ngd: break;
    case OptimizerRule::momentum:
    case OptimizerRule::nesterov:
    case OptimizerRule::lion:
    case OptimizerRule::lars:
    case OptimizerRule::muon: state.first = zeros(info.rows, info.columns); break;
    case OptimizerRule::adam:
    case OptimizerRule::adamw:
    case OptimizerRule::lamb:
      state.first = zeros(info.rows, info.columns);
      state.second = zeros(info.rows, info.columns);
      break;
    case OptimizerRule::rmsprop:
    case OptimizerRule::adagrad: state.second = zeros(info.rows, info.columns); break;
    case OptimizerRule::adafactor:
      state.factored = info.rows > 1 && info.columns > 1;
      if (state.factored) state.first = zeros(info.rows, 1);
      state.second = zeros(state.factored ? 1 : info.rows, info.columns);
      break;
  }
  return state;
}

template <class Real>
void Optimizer<Real>::begin() {
  ++steps_;
  schedule_ = options_.schedule.at(steps_);
}

template <class Real>
typename Optimizer<Real>::Numbers Optimizer<Real>::numbers_of(const State& state) const {
  const ParameterFactors& factors = state.factors;
  const bool is_rest_of_muon = state.rule == OptimizerRule::adamw && options_.name != "adamw";
  const double rate = is_rest_of_muon ? options_.adamw_learning_rate : options_.learning_rate;
  const double eps = state.rule == OptimizerRule::adafactor ? options_.eps_square : options_.eps;
  return {rate * schedule_ * factors.learning_rate, options_.weight_decay * factors.weight_decay,
          eps * factors.eps};
}

template <class Real>
double Optimizer<Real>::norm(const Tensor<Real>& x) const {
  return std::sqrt(device_->dot(x.size(), x.data(), x.data()));
}

template <class Real>
void Optimizer<Real>::run(const ElementUpdate& update, const State& state,
                          const Tensor<Real>& theta, const Tensor<Real>& gradient) {
  device_->update(update, theta.size(), theta.data(), gradient.data(), state.first.data(),
                  state.second.data());
}

template <class Real>
void Optimizer<Real>::descend(double rate, double decay, const Tensor<Real>& theta, Real* step) {
  ElementUpdate update{ElementRule::descent};
  update.rate = rate;
  update.decay = decay;
  device_->update(update, theta.size(), theta.data(), step, nullptr, nullptr);
}

template <class Real>
void Optimizer<Real>::prepare(const Tensor<Real>& gradient) {
  if (options_.clip_value == 0.0) return;
  ElementUpdate update{ElementRule::clip};
  update.limit = options_.clip_value;
  device_->update(update, gradient.size(), nullptr, gradient.data(), nullptr, nullptr);
}

template <class Real>
void Optimizer<Real>::apply(std::size_t index, const Tensor<Real>& theta,
                            const Tensor<Real>& gradient, double global_norm) {
  const State& state = states_[index];
  if (options_.clip_norm > 0.0 && !(global_norm <= options_.clip_norm)) {
    ElementUpdate update{ElementRule::clip};
    update.scale = options_.clip_norm / global_norm;
    device_->update(update, gradient.size(), nullptr, gradient.data(), nullptr, nullptr);
  }
  const Numbers numbers = numbers_of(state);
  switch (state.rule) {
    case OptimizerRule::sgd: return descend(numbers.rate, numbers.decay(), theta, gradient.data());
    case OptimizerRule::momentum:
      return run(heavy_ball(ElementRule::momentum, numbers), state, theta, gradient);
    case OptimizerRule::nesterov:
      return run(heavy_ball(ElementRule::nesterov, numbers), state, theta, gradient);
    case OptimizerRule::adam: {
      ElementUpdate update = adam(ElementRule::adam, numbers, numbers.rate);
      update.coupled_decay = numbers.weight_decay;
      return run(update, state, theta, gradient);
    }
    case OptimizerRule::adamw: {
      ElementUpdate update = adam(ElementRule::adam, numbers, numbers.rate);
      update.decay = numbers.decay();
      return run(update, state, theta, gradient);
    }
    case OptimizerRule::lion: {
      ElementUpdate update{ElementRule::lion};
      update.rate = numbers.rate;
      update.decay = numbers.decay();
      update.beta1 = options_.beta1;
      update.beta2 = options_.beta2;
      return run(update, state, theta, gradient);
    }
    case OptimizerRule::rmsprop:
    case OptimizerRule::adagrad: {
      ElementUpdate update{state.rule == OptimizerRule::rmsprop ? ElementRule::rmsprop
                                                                : ElementRule::adagrad};
      update.rate = numbers.rate;
      update.coupled_decay = numbers.weight_decay;
      update.beta2 = options_.beta2;
      update.eps = numbers.eps;
      return run(update, state, theta, gradient);
    }
    case OptimizerRule::lamb: return lamb(state, numbers, theta, gradient);
    case OptimizerRule::lars: return lars(state, numbers, theta, gradient);
    case OptimizerRule::adafactor: return adafactor(state, numbers, theta, gradient);
    case OptimizerRule::muon: return muon(state, numbers, theta, gradient);
    case OptimizerRule::ngd: {
      const double after =
          options_.clip_norm > 0.0 ? std::min(options_.clip_norm, global_norm) : global_norm;
      return descend(after == 0.0 ? 0.0 : numbers.rate / after, numbers.decay(), theta,
                     gradient.data());
    }
  }
}

template <class Real>
ElementUpdate Optimizer<Real>::heavy_ball(ElementRule rule, const Numbers& numbers) const {
  ElementUpdate update{rule};
  update.rate = numbers.rate;
  update.beta1 = options_.momentum;
  update.coupled_decay = numbers.weight_decay;
  return update;
}

template <class Real>
ElementUpdate Optimizer<Real>::adam(ElementRule rule, const Numbers& numbers, double rate) const {
  const auto t = static_cast<double>(steps_);
  ElementUpdate update{rule};
  update.rate = rate / (1.0 - std::pow(options_.beta1, t));
  update.second_correction = 1.0 / std::sqrt(1.0 - std::pow(options_.beta2, t));
  update.beta1 = options_.beta1;
  update.beta2 = options_.beta2;
  update.eps = numbers.eps;
  return update;
}

template <class Real>
void Optimizer<Real>::lamb(const State& state, const Numbers& numbers, const Tensor<Real>& theta,
                           const Tensor<Real>& gradient) {
  ElementUpdate update = adam(ElementRule::adam_only, numbers, 1.0);
  update.decay = numbers.weight_decay;
  run(update, state, theta, gradient);
  const double of_theta = norm(theta), of_step = norm(gradient);
  const double ratio = of_theta == 0.0 || of_step == 0.0 ? 1.0 : of_theta / of_step;
  descend(numbers.rate * ratio, 0.0, theta, gradient.data());
}

template <class Real>
void Optimizer<Real>::lars(const State& state, const Numbers& numbers, const Tensor<Real>& theta,
                           const Tensor<Real>& gradient) {
  const double of_theta = norm(theta);
  const double against = norm(gradient) + numbers.weight_decay * of_theta;
  const double ratio = of_theta == 0.0 || against == 0.0 ? 1.0 : of_theta / against;
  ElementUpdate update{ElementRule::momentum};
  update.rate = 1.0;
  update.beta1 = options_.momentum;
  update.scale = numbers.rate * options_.trust * ratio;
  update.coupled_decay = update.scale * numbers.weight_decay;
  run(update, state, theta, gradient);
}

template <class Real>
void Optimizer<Real>::adafactor(const State& state, const Numbers& numbers,
                                const Tensor<Real>& theta, const Tensor<Real>& gradient) {
  const auto t = static_cast<double>(steps_), entries = static_cast<double>(theta.size());
  const double beta = 1.0 - std::pow(t, -options_.decay_power);
  if (state.factored) {
    Real *by_row = state.first.data(), *by_column = state.second.data();
    device_->average_square_sums(state.rows, state.columns, beta, numbers.eps, gradient.data(),
                                 by_row, by_column);
    const auto* sums = static_cast<const Real*>(device_->host(by_row, state.first.bytes()));
    const double total = std::accumulate(sums, sums + state.rows, 0.0);
    device_->divide_by_factored_root(state.rows, state.columns, by_row, by_column, total,
                                     gradient.data());
  } else {
    ElementUpdate update{ElementRule::root_mean_square};
    update.beta2 = beta;
    update.eps = numbers.eps;
    run(update, state, theta, gradient);
  }
  const double step_rms = norm(gradient) / std::sqrt(entries);
  double rate = numbers.rate, decay_rate = numbers.rate;
  if (options_.relative_step) {
    decay_rate = schedule_ * state.factors.learning_rate *
                 std::min(options_.learning_rate, 1.0 / std::sqrt(t));
    rate = decay_rate * std::max(options_.eps_parameter, norm(theta) / std::sqrt(entries));
  }
  descend(rate / std::max(1.0, step_rms / options_.clip_rms), decay_rate * numbers.weight_decay,
          theta, gradient.data());
}

template <class Real>
void Optimizer<Real>::muon(const State& state, const Numbers& numbers, const Tensor<Real>& theta,
                           const Tensor<Real>& gradient) {
  ElementUpdate update{options_.nesterov ? ElementRule::nesterov_only : ElementRule::momentum_only};
  update.beta1 = options_.momentum;
  run(update, state, theta, gradient);
  Real* step =
      (*newton_schulz_)(state.rows, state.columns, gradient.data(), options_.newton_schulz_steps);
  const auto fan_in = static_cast<double>(state.rows), fan_out = static_cast<double>(state.columns);
  double scale = 1.0;
  if (options_.muon_scale == OptimizerOptions::MuonScale::shape) {
    scale = std::sqrt(std::max(1.0, fan_out / fan_in));
  } else if (options_.muon_scale == OptimizerOptions::MuonScale::match_rms) {
    scale = 0.2 * std::sqrt(std::max(fan_in, fan_out));
  }
  descend(numbers.rate * scale, numbers.decay(), theta, step);
}

template class Optimizer<float>;
template class Optimizer<double>;

}  // namespace scalecalc::passes
