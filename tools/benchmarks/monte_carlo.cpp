/// Times the sampling of the first and second moment of gelu at N(0, 1) in double.
/// usage: bench_monte_carlo [THREADS=2]
#include <cstdlib>

#include "scalecalc/gaussian.hpp"
#include "timing.hpp"

int main(int argc, char** argv) {
  using namespace scalecalc;
  MonteCarloOptions options;
  options.samples = 100'000'000;
  options.threads = argc > 1 ? std::atoi(argv[1]) : 2;
  options.moments = {Moment::mean, Moment::second};
  const Activation gelu = Activation::named("gelu");
  std::vector<double> rates;
  for (int k = 0; k < 4; ++k) {
    options.seed = static_cast<std::uint64_t>(k);
    const double start = bench::seconds();
    monte_carlo(gelu, {}, options);
    if (k > 0) rates.push_back(static_cast<double>(options.samples) / (bench::seconds() - start));
  }
  bench::print("Monte Carlo, mean and second of gelu, double", bench::median(rates), "samples/s",
               "");
  return 0;
}
