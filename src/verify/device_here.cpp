#include "scalecalc/passes.hpp"
#include "scalecalc/verify.hpp"

namespace scalecalc {

std::string device_here(const std::string& device, const Ranks* ranks) {
  if (ranks == nullptr || device.starts_with("cpu")) return device;
  std::vector<std::string> cuda;
  for (const DeviceInfo& info : devices()) {
    if (info.name.starts_with("cuda") && info.available()) cuda.push_back(info.name);
  }
  return device_of_rank(device, cuda, ranks->local_rank());
}

}  // namespace scalecalc
