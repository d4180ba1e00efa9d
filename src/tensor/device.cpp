#include "tensor/device.hpp"

#include "scalecalc/error.hpp"
#include "scalecalc/symbolic.hpp"
#include "tensor/cpu/cpu_device.hpp"
#include "tensor/cuda.hpp"

namespace scalecalc::tensor {

template <class Real>
std::shared_ptr<Device<Real>> make_device(const std::string& name, int threads) {
  if (threads < 1 || threads > 1024) {
    throw Error(ErrorKind::input, "the number of threads is " + std::to_string(threads), "threads",
                "use 1 to 1024");
  }
  if (name == "cpu" || (name == "auto" && !cuda_available())) {
    return std::make_shared<CpuDevice<Real>>(threads);
  }
  if (name == "cuda" || name == "auto") return make_cuda_device<Real>();
  throw unknown_name("device", name, {"auto", "cpu", "cuda"}, "device");
}
template std::shared_ptr<Device<float>> make_device<float>(const std::string&, int);
template std::shared_ptr<Device<double>> make_device<double>(const std::string&, int);

}  // namespace scalecalc::tensor
