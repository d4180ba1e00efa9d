#pragma once

#include <string>
#include <vector>

#include "scalecalc/plot.hpp"

/// What figures over the places of a network share.
namespace scalecalc::cli {

/// Which of the places a figure shows, given their kinds: all of a short network, else the stream.
std::vector<std::size_t> shown_places(const std::vector<std::string>& kinds);
/// The axis of those places, in the order of the forward pass.
report::Axis place_axis(const std::vector<std::string>& paths);
/// 0 where rounding makes all of it: what a sum of terms of size `scale` leaves of them.
double without_noise(double value, double scale);
/// A panel with the scale that its values ask for. `unit` is that of the values.
report::Plot moment_panel(const std::string& title, const report::Axis& places,
                          const std::string& label, const std::string& unit,
                          std::vector<report::Series> series);
/// A row of a section for curves: its name, first, last, and the values.
void add_curve(const std::string& name, const std::vector<double>& values, report::Table& table);
report::Section curve_section(const std::string& title, report::Table table);

}  // namespace scalecalc::cli
