#include "compare.hpp"

#include <cmath>
#include <map>

namespace scalecalc::architectures {
namespace {

/// Over how many models make_models.py takes moments.
constexpr double kModels = 4;
/// Standard errors: 2000 tensors with two moments each leave one in 10^5 beyond.
constexpr double kLimit = 5.5;
/// The six digits of the files.
constexpr double kDigits = 1e-5;

}  // namespace

std::vector<std::string> differences(const LibraryModel& ours, const nlohmann::json& theirs) {
  std::vector<std::string> found;
  std::map<std::string, const LibraryTensor*> named;
  for (const LibraryTensor& tensor : ours.tensors)
    if (!named.emplace(tensor.name, &tensor).second) found.push_back(tensor.name + ": twice");
  for (const nlohmann::json& row : theirs.at("parameters")) {
    const auto name = row[0].get<std::string>();
    const auto match = named.find(name);
    if (match == named.end()) {
      found.push_back(name + " " + row[1].dump() + ": not ours");
      continue;
    }
    const LibraryTensor& tensor = *match->second;
    named.erase(match);
    if (nlohmann::json(tensor.shape) != row[1]) {
      found.push_back(name + ": " + nlohmann::json(tensor.shape).dump() + " is " + row[1].dump());
      continue;
    }
    double entries = kModels;
    for (const std::int64_t size : tensor.shape) entries *= static_cast<double>(size);
    const double mean = row[2].get<double>(), std = row[3].get<double>();
    // No entry's fourth moment is above that of a normal here, times 2 for values that are listed.
    const double scale = std::hypot(tensor.mean, tensor.std);
    const double mean_band = kLimit * tensor.std / std::sqrt(entries) + kDigits * scale;
    const double std_band = kLimit * tensor.std / std::sqrt(entries) + kDigits * scale +
                            (entries < 50 ? tensor.std : 0);
    if (std::fabs(mean - tensor.mean) > mean_band || std::fabs(std - tensor.std) > std_band)
      found.push_back(name + ": mean " + std::to_string(tensor.mean) + ", std " +
                      std::to_string(tensor.std) + " (" + tensor.rule + ") is " + row[2].dump() +
                      ", " + row[3].dump());
  }
  for (const auto& [name, tensor] : named) found.push_back(name + ": not theirs");
  return found;
}

}  // namespace scalecalc::architectures
