#pragma once

#include <vector>

#include "scalecalc/network.hpp"
#include "tensor/initial.hpp"
#include "tensor/tape.hpp"

namespace scalecalc::tensor {

/// A network with its parameters and data on a device.
template <class Real>
class Model {
 public:
  /// Throws Error(input) for a network whose sizes do not fit together.
  Model(const Network& network, std::uint64_t seed, std::shared_ptr<Device<Real>> device);

  const std::vector<ParameterInfo>& parameters() const { return infos_; }
  const Tensor<Real>& parameter(std::size_t index) const;
  Device<Real>& device() const { return *device_; }

  double loss();
  double backward(const typename Tape<Real>::Sink& sink);

 private:
  double forward(Tape<Real>& tape);

  std::shared_ptr<Device<Real>> device_;
  Network network_;
  std::vector<ParameterInfo> infos_;
  std::vector<Tensor<Real>> parameters_;
  Data<Real> data_;
};
extern template class Model<float>;
extern template class Model<double>;

}  // namespace scalecalc::tensor
