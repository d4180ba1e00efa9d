#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/statistics.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/tuning.hpp"
#include "train/run.hpp"
#include "train/tuning_keys.hpp"

namespace scalecalc {
namespace {

using train_room::Json, train_room::RunPlan;
using Values = std::vector<std::pair<std::string, double>>;

constexpr char kOf[] = "of", kPlacements[] = "placements";

Json remembered(const TrainOptions& options, const std::vector<GridAxis>& grids) {
  Json keys = Json::array();
  for (const GridAxis& axis : grids) keys.push_back(axis.key);
  return {{kOf, kPlacements},
          {"keys", keys},
          {"optimizer", train_room::optimizer_json(options.optimizer)}};
}

/// The same model and optimizer with the numbers of a point.
RunPlan at_point(RunPlan plan, const TrainOptions& options, const Values& values,
                 const Json& tuning) {
  train_room::set_numbers(values, options.optimizer, plan.optimizer, plan.spec);
  validate(plan.optimizer);
  validate(plan.spec, "grid");
  plan.place = {plan.spec.width, values};
  plan.tuning = tuning;
  return plan;
}

/// Losses of one point by seed.
struct Finished {
  std::map<std::uint64_t, double> losses;
  int converged = 0, as_forecast = 0;
};

double loss_at_end(const TrainRun& run) {
  const bool is_lost = run.verdict == TrainVerdict::nan || !std::isfinite(run.final_loss);
  return is_lost ? std::numeric_limits<double>::infinity() : run.final_loss;
}

/// The index of the least sum of losses without those of one seed; nothing where all are infinite.
std::optional<std::size_t> least_without(const std::vector<GridPoint>& points, std::size_t seed) {
  std::optional<std::size_t> least;
  double lowest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < points.size(); ++i) {
    double sum = 0;
    for (std::size_t s = 0; s < points[i].losses.size(); ++s)
      if (s != seed) sum += points[i].losses[s];
    if (sum < lowest) {
      lowest = sum;
      least = i;
    }
  }
  return least;
}

void choose(BestOfGrid& cell) {
  const std::size_t nobody = cell.seeds.size();
  cell.best = least_without(cell.points, nobody);
  cell.held_out = cell.held_out_error = std::numeric_limits<double>::quiet_NaN();
  if (cell.seeds.size() < 2) return;
  std::vector<double> held_out;
  for (std::size_t seed = 0; seed < cell.seeds.size(); ++seed)
    if (const std::optional<std::size_t> by_others = least_without(cell.points, seed))
      held_out.push_back(cell.points[*by_others].losses[seed]);
  if (held_out.size() < cell.seeds.size()) return;
  cell.held_out = base::sample_mean(held_out);
  if (std::isfinite(cell.held_out)) cell.held_out_error = base::error_of_mean(held_out);
}

}  // namespace

double GridPoint::mean() const {
  return base::sample_mean(losses);
}

std::optional<std::size_t> BestOfGrid::best_with(const std::string& key, double value) const {
  std::optional<std::size_t> least;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto found = std::ranges::find(points[i].values, key, &Values::value_type::first);
    if (found == points[i].values.end() || found->second != value) continue;
    if (!std::isfinite(points[i].mean())) continue;
    if (!least || points[i].mean() < points[*least].mean()) least = i;
  }
  return least;
}

std::vector<TrainRun> train_placement_grid(const Corpus& corpus, const TrainOptions& options,
                                           const std::vector<GridAxis>& grids) {
  train_room::check_grid(grids, 1);
  const std::vector<RunPlan> plain = train_room::placement_plans(corpus, options);
  std::int64_t runs = static_cast<std::int64_t>(plain.size());
  for (const GridAxis& grid : grids) runs *= static_cast<std::int64_t>(grid.values.size());
  train_room::check_experiment(options, runs);
  const Json tuning = remembered(options, grids);
  // Each placement and depth with all of its seeds at one point after the other.
  std::vector<RunPlan> plans;
  const auto seeds = static_cast<std::size_t>(options.seeds);
  for (std::size_t from = 0; from < plain.size(); from += seeds)
    train_room::each_point(grids, [&](const Values& values) {
      for (std::size_t i = from; i < from + seeds; ++i)
        plans.push_back(at_point(plain[i], options, values, tuning));
    });
  return train_room::train_plans(corpus, options, plans);
}

std::vector<std::string> placement_grid_keys(const TrainFolder& folder) {
  const Json json = Json::parse(folder.tuning, nullptr, false);
  if (!json.is_object() || !json.contains("keys") || json.value(kOf, Json()) != kPlacements)
    return {};
  try {
    return json.at("keys").get<std::vector<std::string>>();
  } catch (const Json::exception&) {
    throw Error(ErrorKind::input, train_room::kDamaged, "tuning",
                "give a folder that train --grid has filled");
  }
}

std::vector<BestOfGrid> best_of_grid(const std::vector<TrainRun>& runs) {
  std::vector<BestOfGrid> cells;
  std::vector<std::vector<std::pair<Values, Finished>>> points;
  for (const TrainRun& run : runs) {
    const auto cell = std::ranges::find_if(cells, [&run](const BestOfGrid& of) {
      return of.group == run.group && of.layers == run.layers;
    });
    const auto at = static_cast<std::size_t>(cell - cells.begin());
    if (cell == cells.end()) {
      cells.push_back({run.group, run.layers, {}, {}, 0, 0, {}, 0, 0});
      points.emplace_back();
    }
    auto point = std::ranges::find_if(
        points[at], [&run](const auto& of) { return of.first == run.place.values; });
    if (point == points[at].end())
      point = points[at].insert(points[at].end(), {run.place.values, {}});
    point->second.losses[run.seed] = loss_at_end(run);
    const bool converged = run.verdict == TrainVerdict::converged;
    const std::optional<Forecast> expected = forecast(run.prediction);
    const bool as_forecast = expected && expected->trains() == converged;
    if (converged) ++point->second.converged;
    if (as_forecast) ++point->second.as_forecast;
    ++cells[at].runs;
    if (as_forecast) ++cells[at].as_forecast;
  }
  for (std::size_t i = 0; i < cells.size(); ++i) {
    // While the grid is being trained, its last points have fewer seeds.
    std::size_t most = 0;
    for (const auto& [values, of] : points[i]) most = std::max(most, of.losses.size());
    for (const auto& [values, of] : points[i]) {
      if (of.losses.size() < most) continue;
      GridPoint made{values, {}, of.converged, of.as_forecast};
      cells[i].seeds.clear();
      for (const auto& [seed, loss] : of.losses) {
        cells[i].seeds.push_back(seed);
        made.losses.push_back(loss);
      }
      cells[i].points.push_back(std::move(made));
    }
    std::ranges::sort(cells[i].points, {}, &GridPoint::values);
    choose(cells[i]);
  }
  return cells;
}

}  // namespace scalecalc
