#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "scalecalc/error.hpp"
#include "scalecalc/tuning.hpp"
#include "train/open_ended.hpp"
#include "train/records.hpp"
#include "train/whole_number.hpp"

namespace scalecalc {
namespace {

using Values = std::vector<std::pair<std::string, double>>;

/// Of one size and one set of other numbers: losses by seed, by the value that is searched.
using Losses = std::map<double, std::map<std::uint64_t, double>>;

/// The first is what is searched.
std::pair<double, Values> split(const TuningSetup& setup, const TrainRun& run) {
  std::pair<double, Values> made;
  for (const auto& [key, value] : run.place.values) {
    if (key == setup.keys.front())
      made.first = value;
    else
      made.second.emplace_back(key, value);
  }
  return made;
}

constexpr double kLost = std::numeric_limits<double>::infinity();

/// Where the run diverged its loss is infinite.
double loss_of(const TrainRun& run) {
  const bool is_lost = run.verdict == TrainVerdict::nan || !std::isfinite(run.final_loss);
  return is_lost ? kLost : run.final_loss;
}

/// Of the record at that step: of a run that had diverged there is none.
double loss_at(const TrainRun& run, std::int64_t step) {
  const auto found = std::ranges::find(run.records, step, &TrainRecord::step);
  const bool is_lost = found == run.records.end() || !std::isfinite(found->validation_loss);
  return is_lost ? kLost : found->validation_loss;
}

/// Of a loss that is no divergence yet: some of them end in large numbers. Twice the least that any
/// run had after its first step.
double most_loss(const std::vector<TrainRun>& runs) {
  double least = kLost;
  for (const TrainRun& run : runs)
    if (!run.records.empty() && run.records.front().step == 1 &&
        std::isfinite(run.records.front().validation_loss))
      least = std::min(least, run.records.front().validation_loss);
  return 2 * least;
}

/// The first step tells nothing of where training leads to.
std::set<std::int64_t> recorded_steps(const std::vector<TrainRun>& runs) {
  std::set<std::int64_t> steps;
  for (const TrainRun& run : runs)
    if (std::isfinite(loss_of(run)))
      for (const TrainRecord& record : run.records) steps.insert(record.step);
  steps.erase(1);
  return steps;
}

bool has_all(const std::map<std::uint64_t, double>& by_seed,
             const std::map<std::uint64_t, double>& seeds) {
  return std::ranges::all_of(seeds, [&](const auto& of) { return by_seed.contains(of.first); });
}

/// Seeds of one value that give the most runs, of several such the most values, with the values
/// that have all of them: while a grid is being trained, its last values have fewer.
std::map<std::uint64_t, double> common_seeds(const Losses& losses) {
  std::map<std::uint64_t, double> best;
  std::pair<std::size_t, std::size_t> most;
  for (const auto& [value, seeds] : losses) {
    const auto values = static_cast<std::size_t>(std::ranges::count_if(
        losses, [&of = seeds](const auto& other) { return has_all(other.second, of); }));
    const std::pair of_these(seeds.size() * values, values);
    if (of_these <= most) continue;
    most = of_these;
    best = seeds;
  }
  return best;
}

TunedSize tuned(std::int64_t width, std::int64_t layers, const Losses& losses) {
  const std::map<std::uint64_t, double> seeds = common_seeds(losses);
  TunedSize made{width, layers, {}, {}};
  for (const auto& [value, by_seed] : losses) {
    if (!has_all(by_seed, seeds)) continue;
    made.curve.push_back({value, {}});
    for (const auto& [seed, loss] : seeds) made.curve.back().losses.push_back(by_seed.at(seed));
  }
  constexpr std::size_t least_values = 3;
  if (made.curve.size() >= least_values) made.optimum = curve_optimum(made.curve);
  return made;
}

void fit(TunedCurves& curves) {
  std::vector<double> sizes;
  std::vector<CurveOptimum> optima;
  for (const TunedSize& size : curves.sizes) {
    if (!size.optimum) continue;
    sizes.push_back(curves.size_of(size));
    optima.push_back(*size.optimum);
  }
  curves.law = optimum_law(sizes, optima);
}

/// Of the losses that `loss` has of each run.
template <class Loss>
std::vector<TunedCurves> curves_of(const TuningSetup& setup, const std::vector<TrainRun>& runs,
                                   const Loss& loss) {
  std::vector<TunedCurves> made;
  for (const TuningPrediction& prediction : setup.predictions) {
    const bool is_width = prediction.axis == GrowthAxis::width;
    std::map<Values, std::map<std::pair<std::int64_t, std::int64_t>, Losses>> by_others;
    for (const TrainRun& run : runs) {
      if (is_width ? run.layers != setup.base_layers : run.place.width != setup.base_width)
        continue;
      const auto [value, others] = split(setup, run);
      by_others[others][{run.place.width, run.layers}][value][run.seed] = loss(run);
    }
    for (const auto& [others, sizes] : by_others) {
      TunedCurves curves{prediction.axis, others, {}, {}, prediction, {}};
      for (const auto& [size, losses] : sizes)
        curves.sizes.push_back(tuned(size.first, size.second, losses));
      fit(curves);
      made.push_back(std::move(curves));
    }
  }
  return made;
}

}  // namespace

TuningSetup tuning_setup(const TrainFolder& folder) {
  using train_room::Json;
  const Json json = Json::parse(folder.tuning, nullptr, false);
  const auto refuse = [] {
    throw Error(ErrorKind::input, "the folder has no grid", "tuning",
                "give one that train --grid has filled");
  };
  if (!json.is_object()) refuse();
  TuningSetup setup;
  try {
    setup.keys = json.at("keys").get<std::vector<std::string>>();
    setup.parametrization = json.at("parametrization").get<std::string>();
    const bool is_shared = json.at("rates").get<std::string>() == rate_sharing_names().front();
    setup.rates = is_shared ? RateSharing::shared : RateSharing::solved;
    setup.base_width = train_room::whole<std::int64_t>(json.at("base").at("width"));
    setup.base_layers = train_room::whole<std::int64_t>(json.at("base").at("layers"));
    for (const Json& of : json.at("predictions")) {
      TuningPrediction prediction{growth_axis_from(of.at("axis").get<std::string>(), "tuning"),
                                  {},
                                  of.at("because").get<std::string>()};
      if (!of.at("exponent").is_null())
        prediction.exponent = Rational::parse(of.at("exponent").get<std::string>());
      setup.predictions.push_back(prediction);
    }
    if (setup.keys.empty()) refuse();
    setup.is_open_ended = train_room::is_open_ended(folder.optimizer, folder.runs.front().group);
  } catch (const Json::exception&) {
    refuse();
  }
  return setup;
}

std::vector<TunedCurves> tuned_curves(const TuningSetup& setup, const std::vector<TrainRun>& runs) {
  const double most = most_loss(runs);
  const auto below = [most](double loss) { return loss <= most ? loss : kLost; };
  std::vector<TunedCurves> made =
      curves_of(setup, runs, [&](const TrainRun& run) { return below(loss_of(run)); });
  const std::set<std::int64_t> steps = recorded_steps(runs);
  if (!setup.is_open_ended || steps.size() < 2) return made;
  for (const std::int64_t step : steps) {
    const std::vector<TunedCurves> then =
        curves_of(setup, runs, [&](const TrainRun& run) { return below(loss_at(run, step)); });
    for (std::size_t i = 0; i < made.size(); ++i) {
      TunedLaw& law = made[i].course.emplace_back(TunedLaw{step, {}, then[i].law});
      for (const TunedSize& size : then[i].sizes) law.optima.push_back(size.optimum);
    }
  }
  return made;
}

}  // namespace scalecalc
