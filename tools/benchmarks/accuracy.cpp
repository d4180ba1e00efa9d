/// Holds predictions to real passes. usage:
///   bench_accuracy components [CONFIGURATIONS=100] [THREADS=2]
///   bench_accuracy grid [SEEDS=64] [THREADS=2] [deepnorm|pre|post|res-post|mlp]
///   bench_accuracy spread [SEEDS=1000] [THREADS=2]
#include "accuracy.hpp"

#include <Eigen/Dense>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "timing.hpp"

namespace scalecalc::bench {

double Choice::uniform(double low, double high) {
  return low + (high - low) * std::ldexp(static_cast<double>(bits_() >> 11), -53);
}
double Choice::log_uniform(double low, double high) {
  return std::exp(uniform(std::log(low), std::log(high)));
}
std::int64_t Choice::one_of(const std::vector<std::int64_t>& values) {
  return values[static_cast<std::size_t>(uniform(0, static_cast<double>(values.size())))];
}

namespace {

Eigen::VectorXd relative(const std::vector<double>& samples) {
  const Eigen::Map<const Eigen::VectorXd> x(samples.data(),
                                            static_cast<Eigen::Index>(samples.size()));
  return (x.array() / x.mean() - 1).matrix();
}

double mean(const std::vector<double>& samples) {
  return Eigen::Map<const Eigen::VectorXd>(samples.data(),
                                           static_cast<Eigen::Index>(samples.size()))
      .mean();
}

}  // namespace

Measured ratio(const std::vector<double>& above, const std::vector<double>& below,
               const std::vector<Control>& controls) {
  Eigen::VectorXd y = relative(above);
  if (!below.empty()) y -= relative(below);
  const auto draws = static_cast<double>(y.size());
  Eigen::MatrixXd x(y.size(), static_cast<Eigen::Index>(controls.size()));
  Eigen::VectorXd shift(x.cols());
  for (Eigen::Index k = 0; k < x.cols(); ++k) {
    const Control& control = controls[static_cast<std::size_t>(k)];
    x.col(k) = relative(control.samples);
    shift[k] = 1 - control.expected / mean(control.samples);
  }
  double correction = 0;
  if (x.cols() > 0) {
    const Eigen::VectorXd slope = x.colPivHouseholderQr().solve(y);
    correction = slope.dot(shift);
    y -= x * slope;
  }
  const double value = mean(above) / (below.empty() ? 1 : mean(below));
  return {value * (1 - correction), y.norm() / draws};
}

void Errors::add(const Measured& measured, double predicted) {
  errors_.push_back(100 * std::abs(predicted / measured.value - 1));
  noise_.push_back(100 * measured.relative_error);
}

void Errors::print(const std::string& work, const std::vector<const char*>& targets) const {
  if (errors_.empty()) return;
  const std::vector<double> ranks = {0.5, 0.9, 0.99};
  for (std::size_t k = 0; k < ranks.size(); ++k) {
    const std::string rank = std::to_string(static_cast<int>(100 * ranks[k] + 0.5)) + "th";
    bench::print(work + ", " + rank + " percentile", quantile(errors_, ranks[k]), "%",
                 targets.empty() ? "" : targets[k]);
  }
  bench::print(work + ", standard error of the passes, median", quantile(noise_, 0.5), "%", "");
}

}  // namespace scalecalc::bench

namespace {

int run(const std::string& suite, int number, int threads, const std::string& only) {
  using namespace scalecalc::bench;
  if (suite == "components") {
    components(number > 0 ? number : 100, threads);
  } else if (suite == "grid") {
    grid(number > 0 ? number : 64, threads, only);
  } else if (suite == "spread") {
    spread(number > 0 ? number : 1000, threads);
  } else {
    std::fprintf(stderr,
                 "usage: bench_accuracy components|grid|spread [NUMBER] [THREADS] [ONLY]\n");
    return 2;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "", argc > 2 ? std::atoi(argv[2]) : 0,
               argc > 3 ? std::atoi(argv[3]) : 2, argc > 4 ? argv[4] : "");
  } catch (const scalecalc::Error& error) {
    std::fprintf(stderr, "bench_accuracy: %s\n", error.what());
    return error.exit_code();
  }
}
