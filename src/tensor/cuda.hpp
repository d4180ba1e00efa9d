#pragma once

#include <memory>
#include <string>
#include <vector>

#include "scalecalc/tensor.hpp"
#include "tensor/device.hpp"

/// CUDA devices, as the plug-in that use_cuda_plugin has named offers them.
namespace scalecalc::tensor {

/// Which of the CUDA devices; whether float products may round their factors to 10 bits of mantissa
/// (TF32), which is faster; whether kernels that come again are sent together, as a graph.
struct CudaChoice {
  int index = 0;
  bool tf32 = false, graphs = true;
};

struct CudaPlugin;
/// A plug-in that is open already, in place of a file.
void use_cuda_plugin(const CudaPlugin& plugin);

/// Every CUDA device there is, "cuda:0" first; or one entry that says why there is none.
std::vector<DeviceInfo> cuda_devices();
/// Throws Error(input) for a device that does not exist beside others that do, Error(fault) when
/// there is none at all.
template <class Real>
std::shared_ptr<Device<Real>> make_cuda_device(const CudaChoice& choice);

}  // namespace scalecalc::tensor
