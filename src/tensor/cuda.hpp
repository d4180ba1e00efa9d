#pragma once

#include <memory>

#include "tensor/device.hpp"

/// What the CUDA folder provides, or no_cuda/ in its place.
namespace scalecalc::tensor {

bool cuda_available();
/// Throws Error(fault) when there is no CUDA device to use.
template <class Real>
std::shared_ptr<Device<Real>> make_cuda_device();

}  // namespace scalecalc::tensor
