#include "scalecalc/error.hpp"
#include "tensor/cuda.hpp"

namespace scalecalc::tensor {
namespace {
const char* const kReason = "not in this build";
}

std::vector<DeviceInfo> cuda_devices() {
  DeviceInfo none;
  none.name = "cuda";
  none.why_none = kReason;
  return {none};
}

template <class Real>
std::shared_ptr<Device<Real>> make_cuda_device(const CudaChoice&) {
  throw Error(ErrorKind::fault, kReason, "device cuda", "use cpu or auto");
}
template std::shared_ptr<Device<float>> make_cuda_device<float>(const CudaChoice&);
template std::shared_ptr<Device<double>> make_cuda_device<double>(const CudaChoice&);

}  // namespace scalecalc::tensor
