#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "report/plot/frame.hpp"

/// What leaves an axis, and what a note says of it.
namespace scalecalc::report {
namespace {

constexpr double kTooFar = 10;          // times as far as the rest reaches
constexpr double kLeastDecades = 0.33;  // that the rest counts for on a logarithmic axis

/// Of one look: where its values lie, by their logarithm on a logarithmic axis.
struct Reach {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();
  bool measured = false;

  void add(const Reach& other) {
    least = std::min(least, other.least);
    most = std::max(most, other.most);
  }
  bool is_empty() const { return !(least <= most); }
};

std::map<int, Reach> reaches_of(const Plot& plot) {
  std::map<int, Reach> reaches;
  for (const Series& series : plot.series) {
    Reach& reach = reaches[series.look];
    reach.measured = reach.measured || series.origin == Origin::measured;
    for (const PlotPoint& point : series.points) {
      for (const double value : {point.y, point.least, point.most}) {
        if (!std::isfinite(value) || !is_drawable(plot.y, value)) continue;
        const double at = is_log(plot.y) ? std::log10(value) : value;
        reach.add({at, at});
      }
    }
  }
  std::erase_if(reaches, [](const auto& entry) { return entry.second.is_empty(); });
  return reaches;
}

Reach without(const std::map<int, Reach>& reaches, int look) {
  Reach rest;
  for (const auto& [each, reach] : reaches) {
    if (each != look) rest.add(reach);
  }
  return rest;
}

/// The measured look without which the axis is `kTooFar` times shorter.
std::optional<int> outlier_of(const std::map<int, Reach>& reaches, bool is_log) {
  const Reach all = without(reaches, -1);
  for (const auto& [look, reach] : reaches) {
    const Reach rest = without(reaches, look);
    if (!reach.measured || rest.is_empty() || !(rest.most > rest.least)) continue;
    const double size =
        is_log ? kLeastDecades : std::max(std::abs(rest.least), std::abs(rest.most));
    if (all.most / kTooFar - all.least / kTooFar > std::max(rest.most - rest.least, size)) {
      return look;
    }
  }
  return {};
}

/// The name that the legend gives to a look.
std::string name_of(const Plot& plot, int look) {
  for (const Series& series : plot.series) {
    if (series.look == look && !series.name.empty()) return series.name;
  }
  return "a curve";
}

std::string value_text(double value) {
  return std::isinf(value) ? "infinity" : format_number(std::abs(value), 3);
}

/// "post (up to 412)" of what leaves the axis, in the order of the series.
std::string leaving(const Plot& plot) {
  std::vector<std::string> names;
  std::map<std::string, Reach> outside;
  for (const Series& series : plot.series) {
    for (const PlotPoint& point : series.points) {
      for (const double value : {point.y, point.least, point.most}) {
        if (!std::isfinite(point.x) || !is_drawable(plot.y, value)) continue;
        if (!is_above(plot.y, value) && !is_below(plot.y, value)) continue;
        const std::string name = name_of(plot, series.look);
        if (std::ranges::find(names, name) == names.end()) names.push_back(name);
        outside[name].add({value, value});
      }
    }
  }
  std::string text;
  const auto add = [&text](const std::string& name, const char* way, double value) {
    text += fmt::format("{}{} ({} {}{})", text.empty() ? "" : ", ", name, way, value < 0 ? "-" : "",
                        value_text(value));
  };
  for (const std::string& name : names) {
    const Reach& reach = outside[name];
    if (is_above(plot.y, reach.most)) add(name, "up to", reach.most);
    if (is_below(plot.y, reach.least)) add(name, "down to", reach.least);
  }
  return text;
}

int count_not_positive(const Plot& plot) {
  int count = 0;
  for (const Series& series : plot.series) {
    count += static_cast<int>(std::ranges::count_if(series.points, [&](const PlotPoint& point) {
      const bool known = !std::isnan(point.x) && !std::isnan(point.y);
      return known && !(is_drawable(plot.x, point.x) && is_drawable(plot.y, point.y));
    }));
  }
  return count;
}

}  // namespace

bool is_above(const Axis& axis, double value) {
  return value > std::min(axis.most, std::numeric_limits<double>::max());
}

bool is_below(const Axis& axis, double value) {
  return value < std::max(axis.least, std::numeric_limits<double>::lowest());
}

void let_outliers_leave(Plot& plot) {
  std::map<int, Reach> reaches = reaches_of(plot);
  const std::size_t all = reaches.size();
  while (const std::optional<int> look = outlier_of(reaches, is_log(plot.y))) reaches.erase(*look);
  if (reaches.size() == all) return;
  const Reach rest = without(reaches, -1);
  plot.y.least = is_log(plot.y) ? std::pow(10.0, rest.least) : rest.least;
  plot.y.most = is_log(plot.y) ? std::pow(10.0, rest.most) : rest.most;
}

std::string full_note(const Plot& plot) {
  std::string text = plot.note;
  const auto add = [&text](const std::string& sentence) {
    text += (text.empty() ? "" : " ") + sentence;
  };
  if (const int lost = count_not_positive(plot); lost > 0) {
    add(fmt::format("{} not positive: the logarithmic axis cannot show {}.",
                    lost == 1 ? "1 point is" : fmt::format("{} points are", lost),
                    lost == 1 ? "it" : "them"));
  }
  if (const std::string names = leaving(plot); !names.empty()) {
    add("Beyond the axis, with an arrow at its edge: " + names + ".");
  }
  return text;
}

}  // namespace scalecalc::report
