#pragma once

#include <memory>
#include <vector>

#include "passes/forward.hpp"
#include "scalecalc/passes.hpp"

namespace scalecalc::passes {

/// A network with its parameters and data on a device.
template <class Real>
class Model {
 public:
  /// Throws Error(input) for a network larger than the machine.
  Model(std::shared_ptr<const Plan> plan, std::uint64_t seed,
        std::shared_ptr<tensor::Device<Real>> device, bool recompute = false);

  const std::vector<ParameterInfo>& parameters() const { return plan_->parameters; }
  const tensor::Tensor<Real>& parameter(std::size_t index) const;
  tensor::Device<Real>& device() const { return *device_; }
  const std::shared_ptr<tensor::Device<Real>>& shared_device() const { return device_; }

  /// As Passes has them.
  void set_batch(const TokenBatch& batch);
  void set_mask_step(std::uint64_t step);
  void set_network(const Network& network);
  void set_parameter(std::size_t index, const Real* values);

  double loss(Observer<Real>* observer = nullptr);
  double evaluate();
  /// `observer` may be null.
  double backward(const typename tensor::Tape<Real>::Sink& sink,
                  Observer<Real>* observer = nullptr);

 private:
  void run_back(const typename tensor::Tape<Real>::Sink& sink);

  std::shared_ptr<tensor::Device<Real>> device_;
  std::shared_ptr<const Plan> plan_;
  Drawn<Real> drawn_;
  bool recompute_;
  tensor::Tape<Real> tape_;
};
extern template class Model<float>;
extern template class Model<double>;

}  // namespace scalecalc::passes
