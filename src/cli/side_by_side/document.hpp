#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/side_by_side/lines.hpp"
#include "scalecalc/plot.hpp"

/// Several runs of a command as one result.
namespace scalecalc::cli {

/// An option with the values that it is given.
struct GivenAxis {
  std::string name, option;  ///< as an Axis has them
  std::vector<std::string> values;
};

/// One combination of values, one of each axis, and what the command made of it.
struct AxesRun {
  std::vector<std::string> values;
  report::Document document;
  std::optional<report::Figure> figure;
  /// "12, adam".
  std::string label() const;
};

/// For people a table with a column a run, for JSON `results.rows` with an object a run (the fields
/// of the axes, the run's own inputs and results) and `results.quantities` with an object a line of
/// the table, for CSV the runs' own records behind the fields of the axes.
report::Document side_by_side_document(const std::vector<GivenAxis>& axes,
                                       const std::vector<AxesRun>& runs,
                                       const std::vector<Part>& parts, report::Format format);

/// The runs' series in one figure, each named by its run. Places are those of all runs. Throws
/// Error(usage) for more curves than can be told apart.
report::Figure side_by_side_figure(const std::vector<GivenAxis>& axes,
                                   const std::vector<AxesRun>& runs);

/// "layers 12, 24; optimizer adam, muon".
std::string words_of(const std::vector<GivenAxis>& axes);

}  // namespace scalecalc::cli
