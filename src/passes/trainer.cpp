#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "passes/optimizer.hpp"
#include "passes/passes_impl.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/optimizer_mixture.hpp"
#include "scalecalc/optimizers.hpp"

namespace scalecalc {

template <class Real>
struct Trainer<Real>::Impl {
  using Gradient = tensor::Tensor<Real>;

  passes::Model<Real>& model;
  bool streams;
  std::vector<std::string> first_roles;
  std::vector<passes::Optimizer<Real>> optimizers;  ///< one, or both of a mixture
  std::vector<Gradient> kept;
  std::vector<StateTensor> state;
  std::vector<Gradient> state_tensors;
  passes::HostCopy<Real> host_state = {};

  /// Each path of `factors` must be a parameter's.
  static void check_factors(const std::vector<ParameterInfo>& parameters,
                            const OptimizerOptions& options) {
    if (options.factors.empty()) return;
    std::vector<std::string> paths;
    for (const ParameterInfo& info : parameters) paths.push_back(info.path);
    const std::set<std::string> known(paths.begin(), paths.end());
    for (const auto& [path, factors] : options.factors)
      if (!known.contains(path)) throw unknown_name("parameter", path, paths, "factors");
  }

  Impl(passes::Model<Real>& of, const OptimizerOptions& options)
      : model(of),
        streams(options.application != OptimizerOptions::Application::whole &&
                !passes::needs_global_norm(options)),
        first_roles(options.first_roles),
        optimizers(optimizers_of(of, options)),
        kept(streams ? 0 : model.parameters().size()) {
    for (std::size_t i = 0; i < model.parameters().size(); ++i) {
      const std::string& path = model.parameters()[i].path;
      add_state(path, model.parameter(i));
      add_state(path + " first", optimizer(i).first(i));
      add_state(path + " second", optimizer(i).second(i));
    }
  }

  static std::vector<passes::Optimizer<Real>> optimizers_of(passes::Model<Real>& model,
                                                            const OptimizerOptions& options) {
    using Part = typename passes::Optimizer<Real>::Part;
    std::vector<passes::Optimizer<Real>> made;
    made.emplace_back(model.shared_device(), model.parameters(), options,
                      options.rest.empty() ? Part::all : Part::first);
    if (!options.rest.empty()) {
      OptimizerOptions rest = rest_of(options);
      rest.first_roles = options.first_roles;
      rest.factors = options.factors;
      made.emplace_back(model.shared_device(), model.parameters(), rest, Part::second);
    }
    return made;
  }

  passes::Optimizer<Real>& optimizer(std::size_t index) {
    const bool is_first = steps_first(first_roles, model.parameters()[index]);
    return optimizers[is_first ? 0 : optimizers.size() - 1];
  }

  void add_state(std::string name, const Gradient& tensor) {
    if (tensor.empty()) return;
    state.push_back({std::move(name), tensor.rows(), tensor.columns()});
    state_tensors.push_back(tensor);
  }

  const Gradient& state_tensor(std::size_t index) const {
    if (index < state_tensors.size()) return state_tensors[index];
    throw Error(ErrorKind::input, "there is no state tensor " + std::to_string(index), "trainer",
                "there are " + std::to_string(state_tensors.size()) + ", counted from 0");
  }

  double norm(const Gradient& x) const {
    return std::sqrt(model.device().dot(x.size(), x.data(), x.data()));
  }

  /// `norms` may be null.
  void apply(std::size_t index, const Gradient& gradient, double global_norm, StepNorms* norms) {
    const Gradient& theta = model.parameter(index);
    if (norms == nullptr) return optimizer(index).apply(index, theta, gradient, global_norm);
    Gradient moved(model.shared_device(), theta.rows(), theta.columns());
    model.device().scaled_backward(theta.size(), 1.0, theta.data(), {moved.data(), false});
    norms->parameter[index] = norm(theta);
    optimizer(index).apply(index, theta, gradient, global_norm);
    model.device().scaled_backward(theta.size(), -1.0, theta.data(), {moved.data(), true});
    norms->update[index] = norm(moved);
  }

  void prepare(std::size_t index, const Gradient& gradient, StepNorms* norms) {
    if (norms != nullptr) norms->gradient[index] = norm(gradient);
    optimizer(index).prepare(gradient);
  }

  double streaming(StepNorms* norms) {
    return model.backward([this, norms](std::size_t index, const Gradient& gradient) {
      prepare(index, gradient, norms);
      apply(index, gradient, 0.0, norms);
    });
  }

  double whole(StepNorms* norms) {
    const double loss = model.backward([this, norms](std::size_t index, const Gradient& gradient) {
      prepare(index, gradient, norms);
      kept[index] = gradient;
    });
    double square = 0.0;
    for (const Gradient& g : kept) square += model.device().dot(g.size(), g.data(), g.data());
    for (std::size_t index = 0; index < kept.size(); ++index) {
      apply(index, kept[index], std::sqrt(square), norms);
      kept[index] = {};
    }
    return loss;
  }

  double step(StepNorms* norms) {
    for (auto& one : optimizers) one.begin();
    const double loss = streams ? streaming(norms) : whole(norms);
    model.device().submit();
    return loss;
  }
};

template <class Real>
Trainer<Real>::Trainer(Passes<Real>& passes, const OptimizerOptions& options) {
  validate(options);
  Impl::check_factors(passes.impl_->model.parameters(), options);
  impl_ = std::make_unique<Impl>(passes.impl_->model, options);
}
template <class Real>
Trainer<Real>::~Trainer() = default;
template <class Real>
Trainer<Real>::Trainer(Trainer&&) noexcept = default;
template <class Real>
Trainer<Real>& Trainer<Real>::operator=(Trainer&&) noexcept = default;

template <class Real>
double Trainer<Real>::step() {
  return impl_->step(nullptr);
}
template <class Real>
double Trainer<Real>::step(StepNorms& norms) {
  const std::size_t count = impl_->model.parameters().size();
  norms.gradient.assign(count, 0.0);
  norms.update.assign(count, 0.0);
  norms.parameter.assign(count, 0.0);
  return impl_->step(&norms);
}
template <class Real>
std::int64_t Trainer<Real>::steps() const {
  return impl_->optimizers.front().steps();
}
template <class Real>
std::size_t Trainer<Real>::state_bytes() const {
  std::size_t bytes = 0;
  for (const auto& one : impl_->optimizers) bytes += one.bytes();
  return bytes;
}
template <class Real>
bool Trainer<Real>::streaming() const {
  return impl_->streams;
}
template <class Real>
const std::vector<StateTensor>& Trainer<Real>::state() const {
  return impl_->state;
}
template <class Real>
MatrixView<Real> Trainer<Real>::state(std::size_t index) const {
  const tensor::Tensor<Real>& tensor = impl_->state_tensor(index);
  return impl_->host_state.view(impl_->model.device(), tensor);
}
template <class Real>
void Trainer<Real>::set_state(std::size_t index, const Real* values) {
  const tensor::Tensor<Real>& tensor = impl_->state_tensor(index);
  impl_->model.device().upload(values, tensor.data(), tensor.bytes());
}
template <class Real>
void Trainer<Real>::set_steps(std::int64_t steps) {
  if (steps < 0) {
    throw Error(ErrorKind::input, "steps is " + std::to_string(steps), "trainer", "use 0 or more");
  }
  for (auto& one : impl_->optimizers) one.set_steps(steps);
}

template class Trainer<float>;
template class Trainer<double>;

}  // namespace scalecalc
