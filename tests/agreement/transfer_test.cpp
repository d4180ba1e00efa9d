#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "scalecalc/passes.hpp"
#include "scalecalc/transfer.hpp"

using namespace scalecalc;

// What transfer says of exponents beside real passes at several widths and depths.

namespace {

constexpr GrowthAxis width = GrowthAxis::width, depth = GrowthAxis::depth;

/// The least-squares slope of log y over log x, with its standard error from that of log y.
struct Slope {
  double value = 0, error = 0;
};
struct Point {
  double x, mean_log, error;
};
Slope slope_of(const std::vector<Point>& points) {
  double center = 0;
  for (const Point& point : points) center += std::log(point.x) / double(points.size());
  Slope slope;
  double spread = 0, variance = 0;
  for (const Point& point : points) {
    const double at = std::log(point.x) - center;
    slope.value += at * point.mean_log;
    variance += at * at * point.error * point.error;
    spread += at * at;
  }
  return {slope.value / spread, std::sqrt(variance) / spread};
}

Point point_at(double x, const std::vector<double>& logs) {
  double mean = 0, square = 0;
  for (const double log : logs) mean += log / double(logs.size());
  for (const double log : logs) square += (log - mean) * (log - mean);
  const auto count = double(logs.size());
  return {x, mean, std::sqrt(square / (count - 1) / count)};
}

/// An mlp of this width, its base at 64, with the multipliers and inits of a parametrisation.
constexpr std::int64_t base_width = 64;
ModelSpec mlp(std::int64_t at) {
  ModelSpec spec = default_spec(ModelSpec::Kind::mlp);
  spec.layers = 3;
  spec.width = at;
  spec.features = 16;
  spec.vocab = 8;
  spec.sequence = 16;
  spec.activation = "relu";
  spec.bias = true;
  return spec;
}

TransferSolution solved(const ModelSpec& spec, const std::string& optimizer,
                        const std::string& parametrization, const std::vector<GrowthAxis>& axes) {
  TransferProblem problem;
  problem.model = transfer_model(spec, axes);
  problem.optimizer = transfer_optimizer(optimizer);
  problem.parametrization = parametrization_from(parametrization);
  problem.axes = axes;
  return solve_transfer(problem);
}

const TensorTransfer& tensor_of(const TransferSolution& solution, const std::string& path) {
  for (const TensorTransfer& each : solution.tensors)
    if (each.tensor.name == path) return each;
  const std::string pattern = path_pattern(path);
  for (const TensorTransfer& each : solution.tensors)
    if (each.tensor.name == pattern) return each;
  throw Error(ErrorKind::fault, "no tensor " + path);
}

/// The base with its linear layers at `at`, started as the solution says.
Network network_at(std::int64_t at, const TransferSolution& solution) {
  Network network = build_network(mlp(at)), base = build_network(mlp(base_width));
  std::array<double, growth_axes> ratios = {1, 1, 1, 1, 1, 1};
  ratios[static_cast<std::size_t>(width)] = double(at) / double(base_width);
  int set = 0;
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    auto* linear = std::get_if<Linear>(&network.layers[i].op);
    if (linear == nullptr) continue;
    const TensorTransfer& numbers = tensor_of(solution, linear->path + ".weight");
    linear->std = std::get<Linear>(base.layers[i].op).std * numbers.std.at(ratios);
    linear->variance_formula.reset();
    linear->multiplier *= numbers.multiplier.at(ratios);
    ++set;
  }
  REQUIRE(set == 4);
  return network;
}

}  // namespace

TEST_CASE("gradients of a width are as transfer says") {
  const std::vector<std::int64_t> widths = {64, 128, 256, 512};
  constexpr int seeds = 24;
  for (const char* parametrization : {"standard", "ntk", "mup", "mean-field", "spectral"}) {
    CAPTURE(parametrization);
    // Of the init alone: a head that does not outgrow it, as under sgd with full alignment.
    const TransferSolution solution = solved(mlp(base_width), "sgd", parametrization, {width});
    std::map<std::string, std::vector<Point>> points;
    for (const std::int64_t at : widths) {
      PassOptions options;
      options.threads = 2;
      const PassSamples samples = sample_passes(network_at(at, solution), options, seeds);
      for (const ParameterSamples& parameter : samples.parameters) {
        std::vector<double> logs;
        for (const double second : parameter.grad_second) logs.push_back(std::log(second) / 2);
        points[parameter.path].push_back(point_at(double(at), logs));
      }
    }
    for (const auto& [path, curve] : points) {
      CAPTURE(path);
      const Slope slope = slope_of(curve);
      // Means over draws differ from the limit by a share of about layers/n at the smallest width.
      const double finite = 3.0 / double(widths.front()) / std::log(4.0);
      const double expected = tensor_of(solution, path).gradient[width].to_double();
      CHECK(std::abs(slope.value - expected) < 4 * slope.error + finite);
    }
  }
}

TEST_CASE("gradients in branches over depth are as transfer says") {
  const std::vector<std::int64_t> depths = {4, 8, 16, 32};
  constexpr int seeds = 12;
  // Branches that begin closed are as large as their factor grows: 1/L.
  struct Case {
    const char *placement, *parametrization;
    double power;
  };
  for (const auto& [placement, parametrization, power] :
       {Case{"pre", "depth-mup", 0.5}, {"pre", "complete-p", 1.0}, {"rezero", "mup", 1.0}}) {
    CAPTURE(placement);
    CAPTURE(parametrization);
    ModelSpec spec = find_model("pre-ln-12");
    spec.width = 32;
    spec.heads = 2;
    spec.ffn = 64;
    spec.sequence = 8;
    spec.vocab = 8;
    spec.input.cross = 0;
    spec.placement = placement_from(placement);
    const TransferSolution solution = solved(spec, "adam", parametrization, {depth});
    const bool closed = std::string_view(placement) == "rezero";
    CHECK(solution.branch[depth].to_double() == (closed ? 0 : -power));
    if (closed) CHECK(tensor_of(solution, "block[*].ffn.scale").lr[depth].to_double() == -power);
    std::map<std::string, std::vector<Point>> points;
    for (const std::int64_t at : depths) {
      ModelSpec deep = spec;
      deep.layers = at;
      Network network = build_network(deep);
      for (Layer& layer : network.layers)
        if (auto* residual = std::get_if<Residual>(&layer.op))
          residual->branch = (closed ? 1 : residual->branch) * std::pow(double(at), -power);
      PassOptions options;
      options.threads = 2;
      const PassSamples samples = sample_passes(network, options, seeds);
      std::map<std::string, std::vector<double>> squares;  // of each seed, over all blocks
      std::map<std::string, int> count;
      for (const ParameterSamples& parameter : samples.parameters) {
        const std::string pattern = path_pattern(parameter.path);
        auto& sums = squares[pattern];
        sums.resize(parameter.grad_second.size());
        for (std::size_t s = 0; s < sums.size(); ++s) sums[s] += parameter.grad_second[s];
        ++count[pattern];
      }
      for (auto& [pattern, sums] : squares) {
        std::vector<double> logs;
        for (const double sum : sums) logs.push_back(std::log(sum / count[pattern]) / 2);
        points[pattern].push_back(point_at(double(at), logs));
      }
    }
    for (const auto& [pattern, curve] : points) {
      // Matrices of the branches' ends: queries and keys see the growth of the stream's cross too.
      if (pattern.find(".o.weight") == std::string::npos &&
          pattern.find("ffn.") == std::string::npos && pattern.find("head") == std::string::npos)
        continue;
      CAPTURE(pattern);
      const Slope slope = slope_of(curve);
      const double expected = tensor_of(solution, pattern).gradient[depth].to_double();
      // The stream is 1 + b^2 of a block's share, or of 1/N of it: half its change over the depths.
      const double finite = 0.5 / double(depths.front());
      CHECK(std::abs(slope.value - expected) < 4 * slope.error + finite);
    }
  }
}

TEST_CASE("one step at the rates of transfer changes the loss alike at every width") {
  const std::vector<std::int64_t> widths = {64, 128, 256, 512};
  constexpr int seeds = 12;
  constexpr double small = 2e-3;  // of features: the first order of the loss
  const auto curve = [&](const char* optimizer, const char* parametrization, bool keep) {
    const TransferSolution solution = solved(mlp(base_width), optimizer, parametrization, {width});
    const bool signs = std::string_view(optimizer) == "adam";
    std::vector<Point> points;
    for (const std::int64_t at : widths) {
      std::array<double, growth_axes> ratios = {1, 1, 1, 1, 1, 1};
      ratios[static_cast<std::size_t>(width)] = double(at) / double(base_width);
      const Network network = network_at(at, solution);
      std::vector<double> logs;
      for (int seed = 0; seed < seeds; ++seed) {
        PassOptions options;
        options.seed = static_cast<std::uint64_t>(seed);
        Passes<double> passes(network, options);
        std::vector<std::vector<double>> steps(passes.parameters().size());
        const double before = passes.backward([&](std::size_t index, MatrixView<double> gradient) {
          const double rate = tensor_of(solution, passes.parameters()[index].path).lr.at(ratios);
          for (std::int64_t i = 0; i < gradient.rows * gradient.columns; ++i) {
            const double g = gradient.data[i];
            steps[index].push_back((keep ? 1 : rate) * (signs ? double((g > 0) - (g < 0)) : g));
          }
        });
        const double rate = signs ? small / 64 : small / 16;
        for (std::size_t i = 0; i < steps.size(); ++i) passes.add(i, steps[i].data(), -rate);
        logs.push_back(std::log(before - passes.loss()));
      }
      points.push_back(point_at(double(at), logs));
    }
    return slope_of(points);
  };
  const double finite = 3.0 / double(widths.front()) / std::log(4.0);
  for (const char* optimizer : {"sgd", "adam"})
    for (const char* parametrization : {"mup", "spectral", "mean-field"}) {
      CAPTURE(optimizer);
      CAPTURE(parametrization);
      const Slope slope = curve(optimizer, parametrization, false);
      CAPTURE(slope.value);
      CAPTURE(slope.error);
      CHECK(std::abs(slope.value) < 4 * slope.error + finite);
    }
  // Rates that are kept: n gradients of one sign move the logits n times as far.
  CHECK(curve("adam", "spectral", true).value > 0.5);
}
