#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/train/panels.hpp"

namespace scalecalc::cli {
namespace {

using report::Origin;
using report::Plot;

/// "block[3].attn" of "block[3].attn.scale".
std::string branch_of(const std::string& path) {
  return path.substr(0, path.rfind('.'));
}

/// Of one placement: the sizes of its trained scalars by branch, a curve a step.
Plot scale_plot(const std::vector<const TrainRun*>& runs) {
  const TrainRun& first = *runs.front();
  Plot plot;
  plot.title =
      fmt::format("Trained scalars of branches: {}, {}", first.group, blocks_text(first.layers));
  plot.x.label = "branch, from the embedding to the head";
  // Their signs mean nothing: the last matrix of a branch may have the other.
  plot.y.label = "size of the scalar";
  plot.y.unit = "pure number";
  plot.note = kOverSeeds;
  std::vector<BySteps> by_branch;
  for (std::size_t at = 0; at < first.records.front().scales.size(); ++at) {
    plot.x.names.push_back(branch_of(first.records.front().scales[at].first));
    by_branch.push_back(recorded(
        runs, [at](const TrainRecord& record) { return std::fabs(record.scales.at(at).second); }));
  }
  const double level = 1 / static_cast<double>(first.layers),
               last = static_cast<double>(by_branch.size() - 1);
  plot.series = profile_series(std::move(by_branch));
  plot.series.push_back({"1/N", Origin::exact, {{0, level}, {last, level}}, kLookOfText, false});
  return plot;
}

}  // namespace

std::vector<Plot> scale_plots(const TrainedRuns& trained) {
  std::vector<Plot> plots;
  for (const std::int64_t depth : depths_of(trained.runs))
    for (const auto& groups : panels_of(trained.runs))
      for (const std::string& group : groups) {
        std::vector<const TrainRun*> runs = runs_of(trained, group, depth);
        // Logs of earlier versions have none.
        std::erase_if(runs, [](const TrainRun* run) {
          return run->records.empty() || run->records.front().scales.empty();
        });
        if (!runs.empty()) plots.push_back(scale_plot(runs));
      }
  return plots;
}

}  // namespace scalecalc::cli
