/// The variance over seeds of log E x^2 at the end of deep narrow stacks.
#include <cmath>

#include "accuracy.hpp"
#include "scalecalc/moments.hpp"
#include "timing.hpp"

namespace scalecalc::bench {
namespace {

constexpr std::int64_t depth = 20;

double variance_of_log(const std::vector<double>& samples) {
  const auto draws = static_cast<double>(samples.size());
  double mean = 0, square = 0;
  for (const double x : samples) mean += std::log(x) / draws;
  for (const double x : samples) square += (std::log(x) - mean) * (std::log(x) - mean);
  return square / (draws - 1);
}

void relu_stack(std::int64_t width, int seeds, int threads) {
  ModelSpec spec = default_spec(ModelSpec::Kind::mlp);
  spec.layers = depth;
  spec.width = width;
  spec.features = width;
  spec.activation = "relu";
  spec.init.scheme = "he";
  spec.sequence = 1;
  const Network network = build_network(spec);
  const Trace trace = propagate(network);
  const PassSamples passes = sample_passes(network, {0, threads, "cpu"}, seeds);
  const std::string work = "relu, 20 layers of width " + std::to_string(width);
  for (std::size_t k = trace.sites.size(); k-- > 0;) {
    if (trace.sites[k].kind != "activation") continue;
    const double measured = variance_of_log(passes.sites[k].second);
    const double predicted = trace.sites[k].spread;
    print(work + ", variance of log second at " + trace.sites[k].path + ", predicted", predicted,
          "", "");
    print(work + ", measured", measured, "", "");
    print(work + ", measured - predicted", 100 * (measured / predicted - 1), "%", "10");
    print(work + ", standard error of the measured", 100 * std::sqrt(2.0 / (seeds - 1)), "%", "");
    return;
  }
}

}  // namespace

void spread(int seeds, int threads) {
  for (const std::int64_t width : {64, 256}) relu_stack(width, seeds, threads);
}

}  // namespace scalecalc::bench
