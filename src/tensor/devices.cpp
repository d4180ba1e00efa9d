#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/machine.hpp"
#include "scalecalc/tensor.hpp"
#include "tensor/cpu/one_dnn.hpp"
#include "tensor/cuda.hpp"

namespace scalecalc {
namespace {

/// The text after "KEY:" in the system's tables, or nothing.
std::string system_entry(const char* file, const std::string& key) {
  std::ifstream table(file);
  for (std::string line; std::getline(table, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? std::string() : line.substr(begin);
  }
  return {};
}

/// "16384 kB" in bytes.
std::size_t bytes_of(const std::string& text) {
  std::size_t kibibytes = 0;
  std::istringstream(text) >> kibibytes;
  return kibibytes * 1024;
}

/// What the kernels of this build use.
std::string vectors() {
#if defined(__AVX512F__)
  return "AVX-512";
#elif defined(__AVX2__)
  return "AVX2";
#elif defined(__AVX__)
  return "AVX";
#elif defined(__x86_64__)
  return "SSE2";
#elif defined(__ARM_NEON)
  return "NEON";
#else
  return "scalar";
#endif
}

/// What multiplies matrices.
std::string products() {
  const tensor::OneDnn& one_dnn = tensor::OneDnn::here();
  if (one_dnn.available()) return "oneDNN " + one_dnn.version() + ", Eigen";
  return "Eigen";
}

DeviceInfo cpu() {
  DeviceInfo info;
  info.name = "cpu";
  info.model = system_entry("/proc/cpuinfo", "model name");
  info.threads = std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
  info.memory_total = static_cast<std::size_t>(base::machine_bytes());
  info.memory_free = bytes_of(system_entry("/proc/meminfo", "MemAvailable"));
  info.capability = vectors();
  info.products = products();
  return info;
}

}  // namespace

std::vector<DeviceInfo> devices() {
  std::vector<DeviceInfo> all = {cpu()};
  for (DeviceInfo& device : tensor::cuda_devices()) all.push_back(std::move(device));
  return all;
}

bool runs_on_cpu(const std::string& device) {
  if (device != "auto") return device.starts_with("cpu");
  return std::ranges::none_of(devices(), [](const DeviceInfo& info) {
    return info.name.starts_with("cuda") && info.available();
  });
}

}  // namespace scalecalc
