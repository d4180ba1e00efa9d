#include <cuda_runtime_api.h>

#include "scalecalc/error.hpp"
#include "tensor/cuda/blas_library.hpp"
#include "tensor/cuda/cuda_device.hpp"
#include "tensor/cuda/device_code.hpp"
#include "tensor/cuda/plugin.hpp"

namespace scalecalc::tensor {
namespace {

/// What the kernels are built for begins here.
constexpr int kLeastMajor = 7, kLeastMinor = 5;

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

struct Versions {
  Versions() {
    if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
    if (cudaRuntimeGetVersion(&runtime) != cudaSuccess) runtime = 0;
  }
  int driver = 0, runtime = 0;
};

std::string why_none(cudaError_t status, const Versions& versions) {
  if (versions.driver == 0) return "no NVIDIA driver";
  if (status == cudaErrorInsufficientDriver) {
    return "the NVIDIA driver supports CUDA " + version_text(versions.driver) +
           ", this build needs " + version_text(versions.runtime);
  }
  if (status == cudaSuccess || status == cudaErrorNoDevice) return "no CUDA device";
  return std::string("CUDA does not start: ") + cudaGetErrorString(status);
}

DeviceInfo describe(int index, const Versions& versions) {
  DeviceInfo info;
  info.name = "cuda:" + std::to_string(index);
  info.driver = version_text(versions.driver);
  info.runtime = version_text(versions.runtime);
  cudaDeviceProp properties;
  cudaError_t status = cudaGetDeviceProperties(&properties, index);
  if (status == cudaSuccess) {
    info.model = properties.name;
    info.memory_total = properties.totalGlobalMem;
    info.capability = std::to_string(properties.major) + "." + std::to_string(properties.minor);
    if (properties.major * 10 + properties.minor < kLeastMajor * 10 + kLeastMinor) {
      info.why_none = "compute capability " + info.capability + ", this build needs " +
                      std::to_string(kLeastMajor) + "." + std::to_string(kLeastMinor);
      return info;
    }
    status = cudaSetDevice(index);
  }
  if (status == cudaSuccess && cuda::status_of_code() != cudaSuccess) {
    cudaGetLastError();
    info.why_none = "this build has no code for compute capability " + info.capability;
    return info;
  }
  std::size_t total = 0;
  if (status == cudaSuccess) status = cudaMemGetInfo(&info.memory_free, &total);
  info.why_none = status != cudaSuccess ? cudaGetErrorString(status) : cuda::why_no_blas();
  return info;
}

std::vector<DeviceInfo> devices() {
  const Versions versions;
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  cudaGetLastError();
  if (status != cudaSuccess || count == 0) {
    DeviceInfo none;
    none.name = "cuda";
    if (versions.driver != 0) none.driver = version_text(versions.driver);
    none.runtime = version_text(versions.runtime);
    none.why_none = why_none(status, versions);
    return {none};
  }
  std::vector<DeviceInfo> all;
  for (int index = 0; index < count; ++index) all.push_back(describe(index, versions));
  return all;
}

template <class Real>
std::shared_ptr<Device<Real>> make(const CudaChoice& choice, ActivationSource source) {
  const std::string name = "cuda:" + std::to_string(choice.index);
  std::string known;
  for (const DeviceInfo& device : devices()) {
    known += (known.empty() ? "" : ", ") + device.name;
    if (device.name == name && device.available()) {
      return std::make_shared<CudaDevice<Real>>(choice, source);
    }
    if (device.name == name || device.name == "cuda") {
      throw Error(ErrorKind::fault, device.why_none, "device " + name, "use cpu or auto");
    }
  }
  throw Error(ErrorKind::input, "there is no device " + name, "device",
              "those there are: " + known);
}

constexpr CudaPlugin kPlugin = {{SCALECALC_PLUGIN_VERSION}, &devices, &make<float>, &make<double>};

}  // namespace

template <class Real>
void CudaDevice<Real>::upload(const void* host, void* data, std::size_t bytes) {
  if (bytes == 0) return;
  queue_.submit();
  queue_.activate("upload");
  queue_.check(cudaMemcpyAsync(data, host, bytes, cudaMemcpyHostToDevice, queue_.stream()),
               "upload");
}

template <class Real>
void CudaDevice<Real>::zero(void* data, std::size_t bytes) {
  if (bytes == 0) return;
  struct Order {
    void* data;
    std::size_t bytes;
  };
  const cuda::Send send = [](void* self, const char* operation, const void* order) {
    const auto& queue = *static_cast<const cuda::Queue*>(self);
    const Order& zeroed = *static_cast<const Order*>(order);
    queue.check(cudaMemsetAsync(zeroed.data, 0, zeroed.bytes, queue.stream()), operation);
  };
  queue_.fixed("zero", send, &queue_, Order{data, bytes});
}

template <class Real>
std::string CudaDevice<Real>::remark() const {
  const std::string why = queue_.why_no_graphs();
  return why.empty() ? why
                     : name() + " sends every kernel by itself: it keeps no graph (" + why + ")";
}

template class CudaDevice<float>;
template class CudaDevice<double>;

}  // namespace scalecalc::tensor

extern "C" __attribute__((visibility("default"))) const ScalecalcPlugin* scalecalc_plugin() {
  return &scalecalc::tensor::kPlugin;
}
