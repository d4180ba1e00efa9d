#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/coordinates/document.hpp"

/// What documents of `coordinates` are made of: numbers of the answer, and its JSON.
namespace scalecalc::cli {

bool is_mixture(const CoordinateOptions& options);
std::size_t last_step(const CoordinateAnswer& answer);

/// The root of the mean over seeds, and its standard error: null of one seed.
struct RootOfMean {
  double value = 0;
  report::Value error;
};
RootOfMean root_of_mean(const std::vector<double>& squares);

std::string power_of(const TransferFinding& finding, const Rational& exponent);
/// Of a finding of a learning rate, what it is at the first size.
std::optional<double> base_lr_of(const CoordinateAnswer& answer, const TransferFinding& finding);
/// Of a learning rate, what it is at the largest size.
std::optional<double> at_largest(const CoordinateAnswer& answer, const TransferFinding& finding,
                                 const Rational& exponent);
/// What the numbers that do not fit do as the size grows.
const char* effect_of(const TransferFinding& finding);

/// All of one axis.
report::Value check_value(const CoordinateAnswer& answer);

}  // namespace scalecalc::cli
