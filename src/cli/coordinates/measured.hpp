#pragma once

#include <string>
#include <vector>

#include "scalecalc/coordinates.hpp"
#include "scalecalc/plot.hpp"
#include "scalecalc/report.hpp"

/// How `coordinates --measured` judges a table, laid out and drawn.
namespace scalecalc::cli {

struct MeasuredAnswer {
  std::string path;  ///< of the file
  MeasuredTable table;
  std::vector<MeasuredTrend> trends;

  /// No site leaves what is steady, and one at least can be judged.
  bool holds() const;
};
MeasuredAnswer judge_measured(const std::string& path);
report::Document measured_document(const MeasuredAnswer& answer);
report::Figure measured_figure(const MeasuredAnswer& answer);

}  // namespace scalecalc::cli
