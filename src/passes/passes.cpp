#include "passes/passes_impl.hpp"

namespace scalecalc {

template <class Real>
Passes<Real>::Passes(const Network& network, const PassOptions& options)
    : impl_(new Impl{passes::Model<Real>(
          std::make_shared<const passes::Plan>(network), options.seed,
          tensor::make_device<Real>(options.device, options.threads), options.recompute)}) {}
template <class Real>
Passes<Real>::~Passes() = default;
template <class Real>
Passes<Real>::Passes(Passes&&) noexcept = default;
template <class Real>
Passes<Real>& Passes<Real>::operator=(Passes&&) noexcept = default;

template <class Real>
const std::vector<ParameterInfo>& Passes<Real>::parameters() const {
  return impl_->model.parameters();
}

template <class Real>
MatrixView<Real> Passes<Real>::parameter(std::size_t index) const {
  return impl_->parameter.view(impl_->model.device(), impl_->model.parameter(index));
}

template <class Real>
std::string Passes<Real>::remark() const {
  return impl_->model.device().remark();
}

template <class Real>
void Passes<Real>::set_batch(const TokenBatch& batch) {
  impl_->model.set_batch(batch);
}
template <class Real>
void Passes<Real>::set_mask_step(std::uint64_t step) {
  impl_->model.set_mask_step(step);
}
template <class Real>
void Passes<Real>::set_network(const Network& network) {
  impl_->model.set_network(network);
}
template <class Real>
void Passes<Real>::set_parameter(std::size_t index, const Real* values) {
  impl_->model.set_parameter(index, values);
}

template <class Real>
double Passes<Real>::loss() {
  return impl_->model.loss();
}
template <class Real>
double Passes<Real>::evaluate() {
  return impl_->model.evaluate();
}

template <class Real>
double Passes<Real>::backward(const GradientSink& sink) {
  return impl_->model.backward([&](std::size_t index, const tensor::Tensor<Real>& gradient) {
    sink(index, impl_->gradient.view(impl_->model.device(), gradient));
  });
}

template <class Real>
void Passes<Real>::add(std::size_t index, const Real* direction, double scale) {
  const tensor::Tensor<Real>& theta = impl_->model.parameter(index);
  impl_->model.device().add_from_host(theta.size(), scale, direction, theta.data());
}

template class Passes<float>;
template class Passes<double>;

}  // namespace scalecalc
