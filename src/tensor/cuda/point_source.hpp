#pragma once

#include <string>

#include "tensor/cuda/plugin.hpp"

namespace scalecalc::tensor::cuda {

/// What NVRTC is given: kernels forward_float(count, x, y), backward_float(count, x, dy, dx, adds)
/// and the same for double, one entry a thread.
std::string point_source(const Activation& phi, ActivationSource c_source);

}  // namespace scalecalc::tensor::cuda
