#include "base/text.hpp"
#include "cli/figure_places.hpp"
#include "cli/figures.hpp"
#include "scalecalc/moments.hpp"

namespace scalecalc::cli {
namespace {

using report::Origin;
using report::Series;

struct Quantity {
  const char* name;
  Figure Site::*figure;
  Figure Site::*whole = nullptr;  ///< that it is a part of
};

std::vector<std::string> kinds_of(const Trace& trace) {
  std::vector<std::string> kinds;
  for (const Site& site : trace.sites) kinds.push_back(site.kind);
  return kinds;
}

Series series_of(const Trace& trace, const std::vector<std::size_t>& places,
                 const Quantity& quantity, int look) {
  Series series;
  series.name = quantity.name;
  series.origin = trace.engine == "passes" ? Origin::measured : Origin::predicted;
  series.look = look;
  series.joined = true;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Figure& figure = trace.sites[places[i]].*quantity.figure;
    const double value =
        quantity.whole ? without_noise(figure.value, (trace.sites[places[i]].*quantity.whole).value)
                       : figure.value;
    series.points.push_back({static_cast<double>(i), value, figure.error});
  }
  return series;
}

}  // namespace

report::Figure propagate_figure(const PropagateAnswer& answer) {
  const Trace& trace = answer.trace;
  const std::vector<std::size_t> places = shown_places(kinds_of(trace));
  std::vector<std::string> paths;
  for (const std::size_t place : places) paths.push_back(trace.sites[place].path);
  const report::Axis axis = place_axis(paths);
  const auto panel = [&](const char* title, const char* label, const char* unit,
                         const Quantity& first, const Quantity& second) {
    return moment_panel(title, axis, label, unit,
                        {series_of(trace, places, first, 0), series_of(trace, places, second, 1)});
  };
  return {base::shortened(answer.model) + ": " + model_line(answer.spec),
          {panel("Forward", "moment", "pure number", {"second E x^2", &Site::second},
                 {"cross E x_t x_s", &Site::cross, &Site::second}),
           panel("Backward, of the gradient g = dL/dx", "moment", "nats squared",
                 {"grad_second E g^2", &Site::grad_second},
                 {"grad_cross E g_t g_s", &Site::grad_cross, &Site::grad_second})}};
}

report::Section along_depth(const Trace& trace) {
  std::vector<double> second, cosine, gradient;
  for (const std::size_t place : stream_sites(kinds_of(trace))) {
    const Site& site = trace.sites[place];
    second.push_back(site.second.value);
    cosine.push_back(without_noise(site.cosine(), 1));
    gradient.push_back(site.grad_second.value);
  }
  report::Table table;
  add_curve("second", second, table);
  add_curve("cosine", cosine, table);
  add_curve("grad_second", gradient, table);
  return curve_section("Along the stream", std::move(table));
}

}  // namespace scalecalc::cli
