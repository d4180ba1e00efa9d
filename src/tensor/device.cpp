#include "tensor/device.hpp"

#include <charconv>
#include <optional>
#include <string_view>

#include "scalecalc/error.hpp"
#include "scalecalc/symbolic.hpp"
#include "tensor/cpu/cpu_device.hpp"
#include "tensor/cuda.hpp"

namespace scalecalc {
namespace tensor {
namespace {

/// The CPU, with all products by Eigen.
constexpr std::string_view kEigenAlone = "cpu+eigen";

/// cuda, cuda:N, and either with +tf32 and +nograph.
std::optional<CudaChoice> cuda_choice(std::string_view name) {
  CudaChoice choice;
  constexpr std::string_view kPrefix = "cuda", kTf32 = "+tf32", kNoGraph = "+nograph";
  if (name.ends_with(kNoGraph)) {
    choice.graphs = false;
    name.remove_suffix(kNoGraph.size());
  }
  if (name.ends_with(kTf32)) {
    choice.tf32 = true;
    name.remove_suffix(kTf32.size());
  }
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  if (name.empty()) return choice;
  if (name.front() != ':' || name.size() < 2 || name[1] == '-') return std::nullopt;
  const char* end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + 1, end, choice.index);
  if (error != std::errc() || rest != end) return std::nullopt;
  return choice;
}

/// The first CUDA device that can be used. Asking opens every device, so it is done once.
std::optional<CudaChoice> best_cuda_device() {
  static const std::optional<CudaChoice> best = []() -> std::optional<CudaChoice> {
    for (const DeviceInfo& device : cuda_devices())
      if (device.available()) return cuda_choice(device.name);
    return std::nullopt;
  }();
  return best;
}

}  // namespace

template <class Real>
std::shared_ptr<Device<Real>> make_device(const std::string& name, int threads) {
  if (threads < 1 || threads > 1024) {
    throw Error(ErrorKind::input, "the number of threads is " + std::to_string(threads), "threads",
                "use 1 to 1024");
  }
  check_device_name(name);
  const std::optional<CudaChoice> choice = name == "auto" ? best_cuda_device() : cuda_choice(name);
  if (choice) return make_cuda_device<Real>(*choice);
  return std::make_shared<CpuDevice<Real>>(threads, name == kEigenAlone);
}
template std::shared_ptr<Device<float>> make_device<float>(const std::string&, int);
template std::shared_ptr<Device<double>> make_device<double>(const std::string&, int);

}  // namespace tensor

void check_device_name(const std::string& name, const std::string& where) {
  if (name == "auto" || name == "cpu" || name == tensor::kEigenAlone || tensor::cuda_choice(name)) {
    return;
  }
  throw unknown_name("device", name,
                     {"auto", "cpu", "cpu+eigen", "cuda", "cuda:0", "cuda+tf32", "cuda+nograph"},
                     where);
}

}  // namespace scalecalc
