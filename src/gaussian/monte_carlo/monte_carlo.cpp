#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/vector_math.hpp"
#include "gaussian/lane_sum.hpp"
#include "gaussian/monte_carlo/blocks.hpp"
#include "gaussian/monte_carlo/normals.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/gaussian.hpp"

namespace scalecalc {
namespace gaussian::monte_carlo {
namespace {

namespace vm = base::vector_math;
using vm::Real;

constexpr std::size_t kDraws = 512;  ///< of a chunk; every draw is used with both signs
constexpr std::int64_t kChunks = 32;
constexpr std::int64_t kBlockSamples = kChunks * 2 * static_cast<std::int64_t>(kDraws);
constexpr std::uint64_t kStreamId = 0x6578706563740001u;

struct Plan {
  const Activation* activation;
  GaussianInput input;
  base::Stream stream;
  std::vector<Moment> moments;
  bool slopes = false;  ///< phi' is needed

  bool pair() const { return input.correlation.has_value(); }
};

/// phi and phi' of one chunk. Rows of kDraws: u, its mirror image, and for pairs v and its mirror.
class Chunk {
 public:
  explicit Chunk(const Plan& plan)
      : plan_(plan),
        rows_(plan.pair() ? 4 : 2),
        z_(rows_ / 2 * kDraws),
        x_(rows_ * kDraws),
        y_(x_.size()),
        slope_(plan.slopes ? x_.size() : 0),
        values_(kDraws) {}

  void draw(std::uint64_t index);
  Tally tally(Moment moment);

 private:
  Real y(std::size_t row, std::size_t i) const { return vm::load(&y_[row * kDraws + i]); }
  Real slope(std::size_t row, std::size_t i) const { return vm::load(&slope_[row * kDraws + i]); }
  template <class Function>
  Tally over_rows(Function f);
  template <class Function>
  Tally over_draws(Function f);

  const Plan& plan_;
  std::size_t rows_;
  std::vector<double> z_, x_, y_, slope_, values_;
};

void Chunk::draw(std::uint64_t index) {
  fill_normals(plan_.stream, index * (z_.size() / 2), z_.size(), z_.data());
  const double mean = plan_.input.mean, width = std::sqrt(plan_.input.variance);
  const double c = plan_.input.correlation.value_or(0.0), rest = std::sqrt((1.0 - c) * (1.0 + c));
  for (std::size_t i = 0; i < kDraws; ++i) {
    x_[i] = mean + width * z_[i];
    x_[kDraws + i] = mean - width * z_[i];
  }
  for (std::size_t i = 0; plan_.pair() && i < kDraws; ++i) {
    const double z = c * z_[i] + rest * z_[kDraws + i];
    x_[2 * kDraws + i] = mean + width * z;
    x_[3 * kDraws + i] = mean - width * z;
  }
  plan_.activation->evaluate(x_.data(), y_.data(), plan_.slopes ? slope_.data() : nullptr,
                             x_.size());
}

/// f(i) for the draws from i on.
template <class Function>
Tally Chunk::over_draws(Function f) {
  Real sum{}, rest{}, deviations{};
  for (std::size_t i = 0; i < kDraws; i += vm::lanes) {
    const Real value = f(i);
    vm::store(value, &values_[i]);
    sum += value;
  }
  const double mean = lane_sum(sum) / kDraws;
  for (std::size_t i = 0; i < kDraws; i += vm::lanes) {
    const Real deviation = vm::load(&values_[i]) - mean;
    rest += deviation;
    deviations += deviation * deviation;
  }
  return {kDraws, mean + lane_sum(rest) / kDraws, lane_sum(deviations)};
}

/// f(row, i), averaged over the rows.
template <class Function>
Tally Chunk::over_rows(Function f) {
  if (rows_ == 2) return over_draws([&](std::size_t i) { return 0.5 * (f(0, i) + f(1, i)); });
  return over_draws(
      [&](std::size_t i) { return 0.25 * ((f(0, i) + f(1, i)) + (f(2, i) + f(3, i))); });
}

Tally Chunk::tally(Moment moment) {
  switch (moment) {
    case Moment::mean: return over_rows([&](std::size_t r, std::size_t i) { return y(r, i); });
    case Moment::second:
      return over_rows([&](std::size_t r, std::size_t i) { return y(r, i) * y(r, i); });
    case Moment::fourth:
      return over_rows([&](std::size_t r, std::size_t i) {
        const Real square = y(r, i) * y(r, i);
        return square * square;
      });
    case Moment::slope_mean:
      return over_rows([&](std::size_t r, std::size_t i) { return slope(r, i); });
    case Moment::slope_second:
      return over_rows([&](std::size_t r, std::size_t i) { return slope(r, i) * slope(r, i); });
    case Moment::cross:
      return over_draws(
          [&](std::size_t i) { return 0.5 * (y(0, i) * y(2, i) + y(1, i) * y(3, i)); });
    case Moment::slope_cross: break;
  }
  return over_draws(
      [&](std::size_t i) { return 0.5 * (slope(0, i) * slope(2, i) + slope(1, i) * slope(3, i)); });
}

Worker make_worker(const Plan& plan) {
  auto chunk = std::make_shared<Chunk>(plan);
  return [chunk, &plan](std::int64_t block) {
    std::vector<std::vector<Tally>> tallies(plan.moments.size());
    for (std::int64_t k = 0; k < kChunks; ++k) {
      chunk->draw(static_cast<std::uint64_t>(block * kChunks + k));
      for (std::size_t m = 0; m < tallies.size(); ++m) {
        tallies[m].push_back(chunk->tally(plan.moments[m]));
      }
    }
    std::vector<Tally> out;
    for (const auto& column : tallies) out.push_back(join(column));
    return out;
  };
}

void check_input(const GaussianInput& input) {
  if (!std::isfinite(input.mean)) {
    throw Error(ErrorKind::input, fmt::format("mean {}", input.mean), "mean", "a finite number");
  }
  if (!(input.variance >= 0.0) || !std::isfinite(input.variance)) {
    throw Error(ErrorKind::input, fmt::format("variance {}", input.variance), "variance",
                "a finite number, at least 0");
  }
  const double c = input.correlation.value_or(0.0);
  if (!(c >= -1.0 && c <= 1.0)) {
    throw Error(ErrorKind::input, fmt::format("correlation {}", c), "correlation",
                "a number from -1 to 1");
  }
}

/// Whether the moment exists and can be sampled.
bool applies(Moment moment, const Activation& activation, const GaussianInput& input) {
  if (is_pair(moment) && !input.correlation) return false;
  if (!activation.has_jump()) return true;
  if (moment == Moment::slope_cross) return *input.correlation < 1.0;
  return moment != Moment::slope_second;
}

}  // namespace
}  // namespace gaussian::monte_carlo

std::map<Moment, Estimate> monte_carlo(const Activation& activation, const GaussianInput& input,
                                       const MonteCarloOptions& options) {
  namespace mc = gaussian::monte_carlo;
  mc::check_options(options);
  mc::check_input(input);
  mc::Plan plan{&activation, input, {options.seed, mc::kStreamId}, {}, false};
  for (const Moment moment : options.moments.empty() ? all_moments() : options.moments) {
    if (!mc::applies(moment, activation, input)) continue;
    plan.moments.push_back(moment);
    plan.slopes |= moment == Moment::slope_mean || moment == Moment::slope_second ||
                   moment == Moment::slope_cross;
  }
  const std::int64_t blocks = (options.samples - 1) / mc::kBlockSamples + 1;
  const std::vector<mc::Tally> tallies = mc::run_blocks(
      blocks, options.threads, plan.moments.size(), [&] { return mc::make_worker(plan); });
  std::map<Moment, Estimate> out;
  for (std::size_t m = 0; m < tallies.size(); ++m) {
    Estimate estimate{tallies[m].mean, tallies[m].standard_error(), Method::monte_carlo};
    if (!std::isfinite(estimate.value) || !std::isfinite(estimate.error)) continue;
    out[plan.moments[m]] = estimate;
  }
  if (!tallies.empty() && out.empty()) {
    throw Error(ErrorKind::input, fmt::format("samples of {} overflow", activation.name()),
                "Monte Carlo", "a smaller variance");
  }
  return out;
}

}  // namespace scalecalc
