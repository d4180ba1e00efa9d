/// Times layout and moment rules of deep transformers, on one thread.
/// usage: bench_propagate [LAYERS] (default: the two placements of the suite at 1000)
#include <cmath>
#include <cstdlib>

#include "scalecalc/moments.hpp"
#include "timing.hpp"

namespace {

using namespace scalecalc;

constexpr int rounds = 21;

ModelSpec transformer(Placement placement, std::int64_t layers) {
  ModelSpec spec;
  spec.placement = placement;
  spec.layers = layers;
  if (placement == Placement::post) {
    spec.alpha = parse("(2*N)^(1/4)");
    spec.lambda = parse("(8*N)^(-1/4)");
  }
  return spec;
}

struct Times {
  double layout = 0, first = 0, again = 0;  ///< microseconds
};

Times measure(const ModelSpec& spec, int repeats) {
  std::vector<double> layouts, runs;
  Times times;
  for (int k = 0; k < repeats; ++k) {
    const double start = bench::seconds();
    const Network network = build_network(spec);
    const double laid_out = bench::seconds();
    const Trace trace = propagate(network);
    const double done = bench::seconds();
    if (!std::isfinite(trace.loss.value)) std::exit(1);
    layouts.push_back(1e6 * (laid_out - start));
    runs.push_back(1e6 * (done - laid_out));
  }
  times.first = runs.front();
  times.layout = bench::median(layouts);
  times.again = bench::median(runs);
  return times;
}

void thousand(const std::string& name, Placement placement) {
  const Times times = measure(transformer(placement, 1000), rounds);
  const std::string work = name + " transformer of 1000 layers, ";
  bench::print(work + "layout", times.layout, "us", "");
  bench::print(work + "forward and backward, first in the process", times.first, "us", "");
  bench::print(work + "forward and backward", times.again, "us", "5000");
}

void per_layer(std::int64_t layers) {
  const Times times = measure(transformer(Placement::post, layers), layers > 1000 ? 7 : rounds);
  const auto each = static_cast<double>(layers);
  const std::string at = ", each of " + std::to_string(layers) + " layers";
  bench::print("layout" + at, times.layout / each, "us", "");
  bench::print("forward and backward" + at, times.again / each, "us", "");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    per_layer(std::atoll(argv[1]));
    return 0;
  }
  thousand("deepnorm", Placement::post);
  thousand("pre-norm", Placement::pre);
  return 0;
}
