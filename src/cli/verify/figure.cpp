#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>

#include "base/text.hpp"
#include "cli/figure_places.hpp"
#include "cli/figures.hpp"
#include "scalecalc/moments.hpp"

namespace scalecalc::cli {
namespace {

using report::Origin;
using report::Series;

/// Comparisons of sites by path, in the order of the forward pass.
class Places {
 public:
  explicit Places(const Verification& verification) : verification_(verification) {
    std::unordered_set<std::string> seen;
    for (const Comparison& comparison : verification.sites) {
      if (!seen.insert(comparison.path).second) continue;
      paths_.push_back(comparison.path);
      kinds_.push_back(comparison.kind);
    }
  }

  void choose(const std::vector<std::size_t>& places) {
    std::vector<std::string> chosen;
    for (const std::size_t place : places) chosen.push_back(paths_[place]);
    paths_ = std::move(chosen);
    for (std::size_t i = 0; i < paths_.size(); ++i) at_[paths_[i]] = static_cast<double>(i);
  }
  const std::vector<std::string>& paths() const { return paths_; }
  const std::vector<std::string>& kinds() const { return kinds_; }

  bool has_typical(const std::string& quantity) const {
    return std::ranges::any_of(verification_.sites, [&](const Comparison& comparison) {
      return comparison.quantity == quantity && comparison.in_log_space &&
             at_.contains(comparison.path);
    });
  }

  Series series(const std::string& quantity, Origin origin, int look) const {
    Series series;
    series.name = quantity;
    series.origin = origin;
    series.look = look;
    for (const Comparison& comparison : verification_.sites) {
      const auto at = at_.find(comparison.path);
      if (comparison.quantity != quantity || at == at_.end()) continue;
      if (origin == Origin::predicted) {
        series.points.push_back({at->second, comparison.predicted, 0});
      } else {
        const double error = comparison.in_log_space ? 0 : comparison.standard_error;
        series.points.push_back({at->second, comparison.measured, error});
      }
    }
    return series;
  }

 private:
  const Verification& verification_;
  std::vector<std::string> paths_, kinds_;
  std::map<std::string, double> at_;
};

report::Plot panel_of(const Places& places, const char* title, const char* unit, const char* first,
                      const char* second) {
  report::Plot plot = moment_panel(
      title, place_axis(places.paths()), "moment", unit,
      {places.series(first, Origin::predicted, 0), places.series(second, Origin::predicted, 1),
       places.series(first, Origin::measured, 0), places.series(second, Origin::measured, 1)});
  if (places.has_typical(first) || places.has_typical(second)) {
    plot.note = "Without a bar: typical values, of places where seeds part ways.";
  }
  return plot;
}

report::Plot panel_of_z(const Verification& verification) {
  Series within{"within its band", Origin::measured, {}, 0, false};
  Series outside{"outside its band", Origin::measured, {}, 5, false};
  double at = 0;
  for (const auto* comparisons : {&verification.sites, &verification.parameters}) {
    for (const Comparison& comparison : *comparisons) {
      (comparison.ok ? within : outside).points.push_back({++at, comparison.z, 0});
    }
  }
  report::Plot plot;
  plot.title = "Every comparison";
  plot.x.label = "comparison, sites before parameters";
  plot.x.unit = "count";
  plot.x.whole = true;
  plot.y.label = "z";
  plot.y.unit = "standard errors";
  const auto line = [&](double z) {
    return Series{
        z > 0 ? "expected largest" : "", Origin::predicted, {{1, z, 0}, {at, z, 0}}, 1, false};
  };
  plot.series = {line(verification.quantile), line(-verification.quantile), within};
  if (!outside.points.empty()) plot.series.push_back(outside);
  report::let_outliers_leave(plot);
  plot.note =
      "A band also holds what the prediction leaves out, so that a z beyond the lines may be "
      "within.";
  return plot;
}

std::vector<double> values_of(const Series& series) {
  std::vector<double> values;
  for (const report::PlotPoint& point : series.points) values.push_back(point.y);
  return values;
}

}  // namespace

report::Figure verify_figure(const VerifyAnswer& answer) {
  Places places(answer.verification);
  places.choose(shown_places(places.kinds()));
  return {fmt::format("{}, {} seeds", base::shortened(answer.model), answer.verification.seeds),
          {panel_of(places, "Forward", "pure number", "second", "cross"),
           panel_of(places, "Backward, of the gradient dL/dx", "nats squared", "grad_second",
                    "grad_cross"),
           panel_of_z(answer.verification)}};
}

report::Section along_depth(const Verification& verification) {
  Places places(verification);
  places.choose(stream_sites(places.kinds()));
  report::Table table;
  for (const char* quantity : {"second", "grad_second"}) {
    for (const Origin origin : {Origin::predicted, Origin::measured}) {
      add_curve(std::string(quantity) + ", " + to_string(origin),
                values_of(places.series(quantity, origin, 0)), table);
    }
  }
  return curve_section("Along the stream", std::move(table));
}

}  // namespace scalecalc::cli
