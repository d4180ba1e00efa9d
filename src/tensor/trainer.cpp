#include <cmath>
#include <vector>

#include "scalecalc/optimizers.hpp"
#include "tensor/passes_impl.hpp"
#include "tensor/updates.hpp"

namespace scalecalc {

template <class Real>
struct Trainer<Real>::Impl {
  using Gradient = tensor::Tensor<Real>;

  tensor::Model<Real>& model;
  bool streams;
  tensor::Updates<Real> updates;
  std::vector<Gradient> kept;

  Impl(tensor::Model<Real>& of, const OptimizerOptions& options)
      : model(of),
        streams(options.application != OptimizerOptions::Application::whole &&
                !tensor::needs_global_norm(options)),
        updates(model.shared_device(), model.parameters(), options),
        kept(streams ? 0 : model.parameters().size()) {}

  double streaming() {
    return model.backward([this](std::size_t index, const Gradient& gradient) {
      updates.prepare(gradient);
      updates.apply(index, model.parameter(index), gradient, 0.0);
    });
  }

  double whole() {
    const double loss = model.backward([this](std::size_t index, const Gradient& gradient) {
      updates.prepare(gradient);
      kept[index] = gradient;
    });
    double square = 0.0;
    for (const Gradient& g : kept) square += model.device().dot(g.size(), g.data(), g.data());
    for (std::size_t index = 0; index < kept.size(); ++index) {
      updates.apply(index, model.parameter(index), kept[index], std::sqrt(square));
      kept[index] = {};
    }
    return loss;
  }
};

template <class Real>
Trainer<Real>::Trainer(Passes<Real>& passes, const OptimizerOptions& options) {
  validate(options);
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
  impl_->updates.begin();
  return impl_->streams ? impl_->streaming() : impl_->whole();
}
template <class Real>
std::int64_t Trainer<Real>::steps() const {
  return impl_->updates.steps();
}
template <class Real>
std::size_t Trainer<Real>::state_bytes() const {
  return impl_->updates.bytes();
}
template <class Real>
bool Trainer<Real>::streaming() const {
  return impl_->streams;
}

template class Trainer<float>;
template class Trainer<double>;

}  // namespace scalecalc
