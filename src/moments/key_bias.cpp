#include "moments/key_bias.hpp"

#include <algorithm>
#include <cmath>

namespace scalecalc::moments {
namespace {

constexpr std::size_t kMostKinds = 16;

double seen(double slope, double keys) {
  return slope == 0 ? keys : std::expm1(-slope * keys) / std::expm1(-slope);
}

}  // namespace

std::vector<KeyBias> few_kinds(std::vector<KeyBias> biases) {
  const auto flatter = [](const KeyBias& a, const KeyBias& b) { return a.slope < b.slope; };
  std::sort(biases.begin(), biases.end(), flatter);
  if (biases.front().slope == biases.back().slope) return {biases.front()};
  if (biases.size() <= kMostKinds) return biases;
  std::vector<KeyBias> kinds;
  for (std::size_t kind = 0; kind < kMostKinds; ++kind) {
    const std::size_t from = kind * biases.size() / kMostKinds,
                      to = (kind + 1) * biases.size() / kMostKinds;
    double sum = 0;
    for (std::size_t i = from; i < to; ++i) sum += std::log(biases[i].slope);
    kinds.push_back({std::exp(sum / static_cast<double>(to - from)), biases.front().window});
  }
  return kinds;
}

BiasedWeight::BiasedWeight(const KeyBias& bias, Eigen::Index tokens)
    : window_(bias.window), fall_(tokens), whole_(tokens) {
  for (Eigen::Index d = 0; d < tokens; ++d) {
    const double keys =
        static_cast<double>(window_ > 0 ? std::min<std::int64_t>(d + 1, window_) : d + 1);
    fall_[d] = std::exp(-bias.slope * static_cast<double>(d));
    whole_[d] = seen(bias.slope, keys);
  }
}

}  // namespace scalecalc::moments
