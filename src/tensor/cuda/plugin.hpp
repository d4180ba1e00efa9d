#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/plugin.hpp"
#include "tensor/cuda.hpp"

namespace scalecalc::tensor {

/// c_source of activation/source.hpp: what the program lends the plug-in, which has no formulas.
using ActivationSource = std::string (*)(const Activation&, const std::string& qualifier);

/// What scalecalc_cuda.so offers to the program that opens it. Devices are C++ objects of the
/// program's own classes: the version makes sure that both know the same ones.
struct CudaPlugin : ScalecalcPlugin {
  /// As cuda_devices().
  std::vector<DeviceInfo> (*devices)();
  /// As make_cuda_device().
  std::shared_ptr<Device<float>> (*make_float)(const CudaChoice&, ActivationSource);
  std::shared_ptr<Device<double>> (*make_double)(const CudaChoice&, ActivationSource);
};

}  // namespace scalecalc::tensor
