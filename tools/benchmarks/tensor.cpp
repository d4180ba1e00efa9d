/// Times real passes of a transformer: forward and backward, each gradient dropped as it appears,
/// or whole steps of an optimizer.
/// usage: bench_tensor PLACEMENT LAYERS WIDTH HEADS FFN BATCH TOKENS float|double [ROUNDS]
/// [THREADS]
///                     [DEVICE] [OPTIMIZER|none] [recompute]
///        bench_tensor limit [THREADS]: what the processor does at most, and what products alone
///        reach of it, each thread on its own
/// Prints the median of the rounds in seconds, GFLOP/s by the products' count, and peak memory.
#include <sys/resource.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>

#include "scalecalc/optimizers.hpp"
#include "scalecalc/tensor.hpp"
#include "tensor/cpu/one_dnn.hpp"
#include "timing.hpp"

namespace {

using namespace scalecalc;

struct Work {
  ModelSpec spec;
  int rounds = 7;
  PassOptions options;
  std::string optimizer = "none";
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
  std::optional<Trainer<Real>> trainer;
  if (work.optimizer != "none") trainer.emplace(passes, optimizer_options(work.optimizer));
  double seen = 0;
  const auto gradient = [&](std::size_t, MatrixView<Real> g) {
    seen += static_cast<double>(g.data[0]);
  };
  std::vector<double> times;
  for (int round = -1; round < work.rounds; ++round) {
    const double start = bench::seconds();
    const double loss = trainer ? trainer->step() : passes.backward(gradient);
    if (round >= 0) times.push_back(bench::seconds() - start);
    if (!std::isfinite(loss + seen)) std::exit(1);
  }
  const double median = bench::median(std::move(times));
  bench::print(trainer ? "a step of " + work.optimizer : "forward and backward", median, "s", "");
  bench::print("products", flops(work.spec) / median / 1e9, "GFLOP/s", "");
  bench::print("memory with the weights", built, "MiB", "");
  bench::print("peak memory", peak_mib(), "MiB", "");
}

/// GFLOP/s of `work`, which does `flops` operations, on every thread at once: the best of 15
/// rounds.
template <class Task>
double rate(int threads, double flops, const Task& work) {
  constexpr int kRounds = 15;
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    const double start = bench::seconds();
    std::vector<std::thread> workers;
    for (int i = 0; i < threads; ++i) workers.emplace_back(work);
    for (std::thread& worker : workers) worker.join();
    best = std::max(best, threads * flops / (bench::seconds() - start) / 1e9);
  }
  return best;
}

/// Multiplications and additions that wait for none but their own: what the processor can do.
void print_peak(int threads) {
#ifdef __AVX512F__
  constexpr int kBytes = 64;
#else
  constexpr int kBytes = 32;
#endif
  using Lanes [[gnu::vector_size(kBytes)]] = float;
  constexpr int kChains = 10, kTurns = 4'000'000;
  const auto work = [] {
    Lanes sums[kChains] = {};
    Lanes factor = {}, term = {};
    for (int i = 0; i < kBytes / 4; ++i) factor[i] = 0.5F, term[i] = 1.0F;
    for (int turn = 0; turn < kTurns; ++turn) {
      for (Lanes& sum : sums) sum = sum * factor + term;
    }
    for (const Lanes& sum : sums) {
      if (!(sum[0] <= 2.0F)) std::exit(1);
    }
  };
  const double flops = 2.0 * kChains * (kBytes / 4) * kTurns;
  bench::print("multiplications and additions alone", rate(threads, flops, work), "GFLOP/s", "");
}

/// Products of 1024 x 1024 matrices.
void limit(int threads) {
  constexpr int kSize = 1024;
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Matrix a = Matrix::Random(kSize, kSize), b = Matrix::Random(kSize, kSize);
  const double flops = 2.0 * std::pow(kSize, 3);
  print_peak(threads);
  const double eigen = rate(threads, flops, [&] {
    const Matrix product = a * b;
    if (!std::isfinite(product(0, 0))) std::exit(1);
  });
  bench::print("products of Eigen alone", eigen, "GFLOP/s", "");
  const tensor::OneDnn& one_dnn = tensor::OneDnn::here();
  if (!one_dnn.available()) return;
  const double best = rate(threads, flops, [&] {
    Matrix product(kSize, kSize);
    one_dnn.multiply({kSize, kSize, kSize, 1.0F, false, a.data(), kSize, false, b.data(), kSize,
                      false, product.data(), kSize});
    if (!std::isfinite(product(0, 0))) std::exit(1);
  });
  bench::print("products of oneDNN alone", best, "GFLOP/s", "");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "limit") == 0) {
    limit(argc > 2 ? std::atoi(argv[2]) : 2);
    return 0;
  }
  if (argc < 9) {
    std::fprintf(stderr,
                 "usage: bench_tensor PLACEMENT LAYERS WIDTH HEADS FFN BATCH TOKENS float|double "
                 "[ROUNDS] [THREADS] [DEVICE] [OPTIMIZER|none] [recompute]\n");
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
#ifdef SCALECALC_CUDA_PLUGIN
  use_cuda_plugin({SCALECALC_CUDA_PLUGIN});
#endif
  if (argc > 11) work.options.device = argv[11];
  if (argc > 12) work.optimizer = argv[12];
  work.options.recompute = argc > 13;
  if (std::strcmp(argv[8], "double") == 0) {
    measure<double>(work);
  } else {
    measure<float>(work);
  }
  return 0;
}
