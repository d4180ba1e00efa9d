#include "cli/figure_places.hpp"

#include <cmath>
#include <numeric>

#include "scalecalc/moments.hpp"

namespace scalecalc::cli {
namespace {

constexpr std::size_t kWhole = 40;  // places that fit on one axis
constexpr double kNoise = 1e-13;    // some hundred roundings of a double

}  // namespace

std::vector<std::size_t> shown_places(const std::vector<std::string>& kinds) {
  if (kinds.size() > kWhole) return stream_sites(kinds);
  std::vector<std::size_t> all(kinds.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

report::Axis place_axis(const std::vector<std::string>& paths) {
  report::Axis axis;
  axis.label = "place, in the order of the forward pass";
  axis.names = paths;
  return axis;
}

double without_noise(double value, double scale) {
  return std::abs(value) < kNoise * std::abs(scale) ? 0.0 : value;
}

report::Plot moment_panel(const std::string& title, const report::Axis& places,
                          const std::string& label, const std::string& unit,
                          std::vector<report::Series> series) {
  report::Plot plot;
  plot.title = title;
  plot.x = places;
  plot.y.label = label;
  plot.y.unit = unit;
  plot.y.scale = report::fitting_scale(series);
  plot.series = std::move(series);
  return plot;
}

void add_curve(const std::string& name, const std::vector<double>& values, report::Table& table) {
  if (values.empty()) return;
  table.rows.push_back({name, values.front(), values.back()});
  table.curves.rows.push_back(values);
}

report::Section curve_section(const std::string& title, report::Table table) {
  table.columns = {"quantity", "first", "last"};
  table.curves.column = "curve";
  table.curves.only = true;
  return {title, std::move(table)};
}

}  // namespace scalecalc::cli
