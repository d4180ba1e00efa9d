#include "tensor/cuda.hpp"

#include <mutex>
#include <type_traits>
#include <utility>

#include "activation/source.hpp"
#include "scalecalc/error.hpp"
#include "tensor/cuda/plugin.hpp"

namespace scalecalc {
namespace tensor {
namespace {

struct Cuda {
  std::mutex mutex;
  std::vector<std::string> paths;  ///< to look for it, until that has been done
  bool is_looked_for = true;
  const CudaPlugin* plugin = nullptr;
  std::string why_none = "no plug-in";
};
Cuda& cuda() {
  static Cuda own;
  return own;
}

/// The plug-in, opened when it is first needed; or null, and why.
std::pair<const CudaPlugin*, std::string> cuda_plugin() {
  Cuda& own = cuda();
  const std::lock_guard lock(own.mutex);
  if (!own.is_looked_for) {
    own.is_looked_for = true;
    base::Plugin opened = base::open_plugin(own.paths, base::PluginScope::own);
    own.plugin = static_cast<const CudaPlugin*>(opened.table);
    own.why_none = std::move(opened.why_none);
  }
  return {own.plugin, own.why_none};
}

}  // namespace

void use_cuda_plugin(const CudaPlugin& plugin) {
  Cuda& own = cuda();
  const std::lock_guard lock(own.mutex);
  own.is_looked_for = true;
  own.plugin = &plugin;
}

std::vector<DeviceInfo> cuda_devices() {
  const auto [plugin, why_none] = cuda_plugin();
  if (plugin != nullptr) return plugin->devices();
  DeviceInfo none;
  none.name = "cuda";
  none.why_none = why_none;
  return {none};
}

template <class Real>
std::shared_ptr<Device<Real>> make_cuda_device(const CudaChoice& choice) {
  const auto [plugin, why_none] = cuda_plugin();
  if (plugin == nullptr) throw Error(ErrorKind::fault, why_none, "device cuda", "use cpu or auto");
  if constexpr (std::is_same_v<Real, float>) {
    return plugin->make_float(choice, &c_source);
  } else {
    return plugin->make_double(choice, &c_source);
  }
}
template std::shared_ptr<Device<float>> make_cuda_device(const CudaChoice&);
template std::shared_ptr<Device<double>> make_cuda_device(const CudaChoice&);

}  // namespace tensor

void use_cuda_plugin(std::vector<std::string> paths) {
  tensor::Cuda& own = tensor::cuda();
  const std::lock_guard lock(own.mutex);
  own.paths = std::move(paths);
  own.is_looked_for = false;
}

}  // namespace scalecalc
