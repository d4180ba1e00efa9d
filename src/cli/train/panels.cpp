#include "cli/train/panels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace scalecalc::cli {

std::vector<std::vector<std::string>> panels_of(const std::vector<TrainRun>& runs) {
  constexpr std::size_t at_most = 6;
  std::vector<std::string> groups;
  for (const TrainRun& run : runs) {
    if (std::ranges::find(groups, run.group) == groups.end()) groups.push_back(run.group);
  }
  std::vector<std::vector<std::string>> panels;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (i % at_most == 0) panels.emplace_back();
    panels.back().push_back(groups[i]);
  }
  return panels;
}

std::set<std::int64_t> depths_of(const std::vector<TrainRun>& runs) {
  std::set<std::int64_t> depths;
  for (const TrainRun& run : runs) depths.insert(run.layers);
  return depths;
}

std::vector<const TrainRun*> runs_of(const TrainedRuns& trained, const std::string& group,
                                     std::int64_t layers) {
  std::vector<const TrainRun*> runs;
  for (const TrainRun& run : trained.runs) {
    if (run.group == group && run.layers == layers) runs.push_back(&run);
  }
  return runs;
}

report::Plot plot_over_steps() {
  report::Plot plot;
  plot.x.label = "step";
  plot.x.unit = "updates";
  plot.x.whole = true;
  return plot;
}

std::string blocks_text(std::int64_t layers) {
  return fmt::format("{} {}", layers, layers == 1 ? "block" : "blocks");
}

std::vector<std::string> layers_of(const TrainedRuns& trained,
                                   const std::vector<std::string>& groups, std::int64_t layers) {
  std::vector<std::string> all;
  for (const std::string& group : groups) {
    for (const TrainRun* run : runs_of(trained, group, layers)) {
      if (run->records.empty()) continue;
      auto at = all.begin();
      for (const std::string& name : run->records.front().gradient.layers) {
        const auto found = std::ranges::find(all, name);
        at = std::next(found == all.end() ? all.insert(at, name) : found);
      }
    }
  }
  return all;
}

report::PlotPoint over_seeds(double x, const std::vector<double>& values) {
  report::PlotPoint point{x, mean_of(values).value};
  if (values.size() < 2) return point;
  point.least = *std::ranges::min_element(values);
  point.most = *std::ranges::max_element(values);
  return point;
}

namespace {

std::vector<std::int64_t> profile_steps(const std::vector<std::int64_t>& all) {
  constexpr std::size_t at_most = 5;
  if (all.size() <= at_most) return all;
  std::vector<std::int64_t> steps;
  const double first = std::log(static_cast<double>(std::max<std::int64_t>(all.front(), 1)));
  const double last = std::log(static_cast<double>(all.back()));
  for (std::size_t i = 0; i < at_most; ++i) {
    const double wanted = std::exp(first + (last - first) * static_cast<double>(i) / (at_most - 1));
    const auto near = std::ranges::min_element(all, {}, [wanted](std::int64_t step) {
      return std::fabs(std::log(static_cast<double>(step) / wanted));
    });
    if (steps.empty() || steps.back() != *near) steps.push_back(*near);
  }
  return steps;
}

}  // namespace

std::vector<report::Series> profile_series(std::vector<BySteps> by_place) {
  std::vector<std::int64_t> steps;
  if (!by_place.empty())
    for (const auto& [step, values] : by_place.front())
      if (!values.empty()) steps.push_back(step);
  std::vector<report::Series> curves;
  int look = 0;
  for (const std::int64_t step : profile_steps(steps)) {
    report::Series curve{fmt::format("step {}", step), report::Origin::measured, {}, look++, true};
    for (std::size_t at = 0; at < by_place.size(); ++at)
      curve.points.push_back(over_seeds(static_cast<double>(at), by_place[at][step]));
    curves.push_back(std::move(curve));
  }
  return curves;
}

void add_entropies(const TrainedRuns& trained, double last, report::Plot& plot) {
  const auto add = [&](const char* name, double value, int look) {
    if (!std::isfinite(value)) return;
    plot.series.push_back({name, report::Origin::exact, {{1, value}, {last, value}}, look, false});
  };
  add("entropy of words", trained.unigram_entropy, kLookOfText);
  add("entropy of text", trained.entropy, kLookOfText - 1);
}

}  // namespace scalecalc::cli
