#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/train/figures.hpp"

/// How the runs of an experiment are shared out to panels.
namespace scalecalc::cli {

constexpr double kFarFromGuess = 1.25;  ///< of ln(vocab): losses beyond leave the axis
constexpr int kLookOfText = 7;          ///< none of a group, as the one before it

/// Groups in the order of the runs, in sixes: so many looks differ without colour.
std::vector<std::vector<std::string>> panels_of(const std::vector<TrainRun>& runs);
std::set<std::int64_t> depths_of(const std::vector<TrainRun>& runs);
/// One a seed.
std::vector<const TrainRun*> runs_of(const TrainedRuns& trained, const std::string& group,
                                     std::int64_t layers);
/// Without curves, along the steps of training.
report::Plot plot_over_steps();
/// "1 block", "12 blocks".
std::string blocks_text(std::int64_t layers);
/// The layers of all groups, some of which have a norm before the blocks, others one behind them.
std::vector<std::string> layers_of(const TrainedRuns& trained,
                                   const std::vector<std::string>& groups, std::int64_t layers);
/// Where a guess and what the text allows lie, from step 1 to `last`.
void add_entropies(const TrainedRuns& trained, double last, report::Plot& plot);

constexpr char kOverSeeds[] = "The mean over seeds, in a band from the least of them to the most.";

/// By step what each seed that came there recorded, where it is a number.
using BySteps = std::map<std::int64_t, std::vector<double>>;

template <class ValueOf>
BySteps recorded(const std::vector<const TrainRun*>& runs, const ValueOf& value_of) {
  BySteps steps;
  for (const TrainRun* run : runs) {
    for (const TrainRecord& record : run->records) {
      std::vector<double>& values = steps[record.step];
      const double value = value_of(record);
      if (std::isfinite(value)) values.push_back(value);
    }
  }
  return steps;
}

/// The mean, and a band from the least value to the most.
report::PlotPoint over_seeds(double x, const std::vector<double>& values);
/// Over places side by side, layers or branches: a curve a step, of the steps that the first place
/// has the first, the last and some between at even ratios, five at most.
std::vector<report::Series> profile_series(std::vector<BySteps> by_place);

/// `draw(trained, groups, depth)`: a panel a depth and six groups.
template <class Draw>
std::vector<report::Plot> by_depth(const TrainedRuns& trained, const Draw& draw) {
  std::vector<report::Plot> plots;
  for (const std::int64_t depth : depths_of(trained.runs))
    for (const auto& groups : panels_of(trained.runs))
      plots.push_back(draw(trained, groups, depth));
  return plots;
}

}  // namespace scalecalc::cli
