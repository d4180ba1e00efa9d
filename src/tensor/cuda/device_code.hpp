#pragma once

#include <cuda_runtime_api.h>

namespace scalecalc::tensor::cuda {

/// Whether the kernels were compiled for the current device: success, or why none can be started.
cudaError_t status_of_code();

}  // namespace scalecalc::tensor::cuda
