/// Times real passes of a transformer: forward and backward, each gradient dropped as it appears.
/// usage: bench_tensor PLACEMENT LAYERS WIDTH HEADS FFN BATCH TOKENS float|double [ROUNDS] [THREADS]
///                     [DEVICE]
/// Prints the median of the rounds in seconds, GFLOP/s by the products' count, and peak memory.
#include <sys/resource.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "scalecalc/tensor.hpp"
#include "timing.hpp"

namespace {

using namespace scalecalc;

struct Work {
  ModelSpec spec;
  int rounds = 7;
  PassOptions options;
};

double flops(const ModelSpec& s) {
  const double tokens = static_cast<double>(s.batch * s.sequence), d = static_cast<double>(s.width);
  const double weights = 4 * d * d + 2 * d * static_cast<double>(s.ffn);
  const double scores = 2 * static_cast<double>(s.sequence) * d;
  return 3 * static_cast<double>(s.layers) * 2 * tokens * (weights + scores);
}

double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

template <class Real>
void measure(const Work& work) {
  Passes<Real> passes(build_network(work.spec), work.options);
  const double built = peak_mib();
  double seen = 0;
  std::vector<double> times;
  for (int round = -1; round < work.rounds; ++round) {
    const double start = bench::seconds();
    const double loss = passes.backward(
        [&](std::size_t, MatrixView<Real> g) { seen += static_cast<double>(g.data[0]); });
    if (round >= 0) times.push_back(bench::seconds() - start);
    if (!std::isfinite(loss + seen)) std::exit(1);
  }
  const double median = bench::median(std::move(times));
  bench::print("forward and backward", median, "s", "");
  bench::print("products", flops(work.spec) / median / 1e9, "GFLOP/s", "");
  bench::print("memory with the weights", built, "MiB", "");
  bench::print("peak memory", peak_mib(), "MiB", "");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 9) {
    std::fprintf(stderr,
                 "usage: bench_tensor PLACEMENT LAYERS WIDTH HEADS FFN BATCH TOKENS float|double "
                 "[ROUNDS] [THREADS] [DEVICE]\n");
    return 2;
  }
  Work work;
  ModelSpec& spec = work.spec;
  spec.placement = placement_from(argv[1]);
  std::int64_t* const sizes[] = {&spec.layers, &spec.width, &spec.heads,
                                 &spec.ffn,    &spec.batch, &spec.sequence};
  for (int i = 0; i < 6; ++i) *sizes[i] = std::atoll(argv[2 + i]);
  spec.vocab = 8;
  spec.bias = spec.norm_affine = true;
  spec.norm_eps = 1e-5;
  work.options.threads = argc > 10 ? std::atoi(argv[10]) : 2;
  if (argc > 9) work.rounds = std::atoi(argv[9]);
  if (argc > 11) work.options.device = argv[11];
  if (std::strcmp(argv[8], "double") == 0) {
    measure<double>(work);
  } else {
    measure<float>(work);
  }
  return 0;
}
