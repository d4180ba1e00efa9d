#include "passes/model.hpp"

#include <map>

#include "scalecalc/error.hpp"

namespace scalecalc::passes {

template <class Real>
Model<Real>::Model(std::shared_ptr<const Plan> plan, std::uint64_t seed,
                   std::shared_ptr<tensor::Device<Real>> device, bool recompute)
    : device_(std::move(device)),
      plan_(std::move(plan)),
      recompute_(recompute),
      tape_(device_, true) {
  check_memory(plan_->checked.footprint, sizeof(Real), recompute, device_->bytes_there(),
               device_->name());
  drawn_.seed = seed;
  drawn_.parameters = draw_parameters(plan_->network, seed, device_);
  drawn_.data = draw_data(*plan_, seed, device_);
}

template <class Real>
const tensor::Tensor<Real>& Model<Real>::parameter(std::size_t index) const {
  if (index < drawn_.parameters.size()) return drawn_.parameters[index];
  throw Error(ErrorKind::input, "there is no parameter " + std::to_string(index), "passes",
              "there are " + std::to_string(drawn_.parameters.size()) + ", counted from 0");
}

template <class Real>
double Model<Real>::loss(Observer<Real>* observer) {
  tensor::Tape<Real> tape(device_, false);
  return forward<Real>(*plan_, drawn_, tape, observer, recompute_);
}

template <class Real>
double Model<Real>::evaluate() {
  drawn_.drops = false;
  try {
    const double value = loss();
    drawn_.drops = true;
    return value;
  } catch (...) {
    drawn_.drops = true;
    throw;
  }
}

/// What is recomputed hands a table over once a group that reads it: the head's and the
/// embedding's, and the biases of the scores of all blocks.
template <class Real>
void Model<Real>::run_back(const typename tensor::Tape<Real>::Sink& sink) {
  const bool tied = std::get<Linear>(plan_->network.layers.back().op).tied;
  const auto is_shared = [&](std::size_t index) {
    return (tied && index == 0) || plan_->parameters[index].path.ends_with(".relative_bias");
  };
  const auto shares = [&] {
    for (std::size_t index = 0; index < plan_->parameters.size(); ++index)
      if (is_shared(index)) return true;
    return false;
  };
  if (!recompute_ || !shares()) return tape_.backward(sink);
  std::map<std::size_t, tensor::Tensor<Real>> sums;
  tape_.backward([&](std::size_t index, const tensor::Tensor<Real>& gradient) {
    if (!is_shared(index)) return sink(index, gradient);
    const auto [found, is_first] = sums.try_emplace(index, gradient);
    if (!is_first)
      device_->scaled_backward(gradient.size(), 1.0, gradient.data(), {found->second.data(), true});
  });
  for (const auto& [index, gradient] : sums) sink(index, gradient);
}

template <class Real>
double Model<Real>::backward(const typename tensor::Tape<Real>::Sink& sink,
                             Observer<Real>* observer) {
  try {
    const double loss = forward(*plan_, drawn_, tape_, observer, recompute_);
    run_back(sink);
    device_->submit();
    return loss;
  } catch (...) {
    tape_.clear();
    throw;
  }
}

template class Model<float>;
template class Model<double>;

}  // namespace scalecalc::passes
