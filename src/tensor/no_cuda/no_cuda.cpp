#include "scalecalc/error.hpp"
#include "tensor/cuda.hpp"

namespace scalecalc::tensor {

bool cuda_available() {
  return false;
}

template <class Real>
std::shared_ptr<Device<Real>> make_cuda_device() {
  throw Error(ErrorKind::fault, "no CUDA in this build", "device cuda", "use cpu or auto");
}
template std::shared_ptr<Device<float>> make_cuda_device<float>();
template std::shared_ptr<Device<double>> make_cuda_device<double>();

}  // namespace scalecalc::tensor
