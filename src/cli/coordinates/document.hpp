#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scalecalc/coordinates.hpp"
#include "scalecalc/plot.hpp"
#include "scalecalc/report.hpp"

/// How the answer of `coordinates` is laid out and drawn.
namespace scalecalc::cli {

/// Along one axis.
struct CoordinateAnswer {
  CoordinateOptions options;
  CoordinateCheck check;

  std::vector<double> sizes() const;
  /// Every number fits, and no pass gave an infinity or a NaN.
  bool holds() const { return check.finite && check.findings.empty(); }
};
struct CoordinatesAnswer {
  std::string model;            ///< as it was named
  std::string parametrization;  ///< a name or a file; "own": the model's own numbers
  std::vector<CoordinateAnswer> checks;

  bool holds() const;
};

/// Its exponent and standard error; null where there is none.
report::Value law_value(const std::optional<SizeLaw>& law);
/// "0.62 +- 0.02"; without the error where it is NaN.
std::string power_text(const SizeLaw& law);

report::Document coordinates_document(const CoordinatesAnswer& answer);
/// The change of each site since init by the size, after the first step and after the last.
report::Figure coordinates_figure(const CoordinatesAnswer& answer);

}  // namespace scalecalc::cli
