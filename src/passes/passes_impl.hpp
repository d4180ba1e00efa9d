#pragma once

#include <vector>

#include "passes/model.hpp"
#include "scalecalc/passes.hpp"

namespace scalecalc {
namespace passes {

/// The values of a tensor where the host reads them. A device has one buffer for what is read from
/// it, which the next reading overwrites: views that are handed out at the same time, a parameter
/// and its gradient, each have a copy of their own.
template <class Real>
class HostCopy {
 public:
  /// Valid until the next call.
  MatrixView<Real> view(tensor::Device<Real>& device, const tensor::Tensor<Real>& tensor) {
    const auto* data = static_cast<const Real*>(device.host(tensor.data(), tensor.bytes()));
    if (data != tensor.data()) {
      values_.assign(data, data + tensor.size());
      data = values_.data();
    }
    return {data, tensor.rows(), tensor.columns()};
  }

 private:
  std::vector<Real> values_;
};

}  // namespace passes

template <class Real>
struct Passes<Real>::Impl {
  passes::Model<Real> model;
  passes::HostCopy<Real> parameter = {}, gradient = {};
};

namespace passes {

template <class Real>
Model<Real>& model_of(Passes<Real>& of) {
  return of.impl_->model;
}

}  // namespace passes

}  // namespace scalecalc
