#pragma once

#include "passes/model.hpp"
#include "scalecalc/passes.hpp"

namespace scalecalc {

template <class Real>
struct Passes<Real>::Impl {
  passes::Model<Real> model;

  MatrixView<Real> view(const tensor::Tensor<Real>& tensor) const {
    const void* data = model.device().host(tensor.data(), tensor.bytes());
    return {static_cast<const Real*>(data), tensor.rows(), tensor.columns()};
  }
};

}  // namespace scalecalc
