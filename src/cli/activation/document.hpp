#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/activation/options.hpp"
#include "scalecalc/gains.hpp"
#include "scalecalc/report.hpp"

namespace scalecalc::cli {

/// One moment by every method that was asked and applies.
struct MomentAnswer {
  std::map<Method, Estimate> methods;
  std::optional<Estimate> best;  ///< closed form, else quadrature
  std::optional<std::string> digits;
  ClosedForm formula;
  std::string unavailable;  ///< why there is no value
};

struct ActivationAnswer {
  Activation activation;
  ExactInput input;
  std::map<Moment, MomentAnswer> moments;
  Gains gains;
  std::map<std::string, std::string> gain_digits;
  /// Values that are given as a double for all the digits that were asked for, with the reason.
  std::map<std::string, std::string> digits_out_of_reach;
  /// What the time limit left out besides moments and gains: "methods.quadrature.mean", "tuned".
  std::map<std::string, std::string> left_out;
  std::optional<Tuned> tuned;
  std::vector<FrameworkGain> frameworks;
  int digits = 0;
  bool is_complete = true;  ///< within the time limit
};

report::Document activation_document(const ActivationAnswer& answer);

}  // namespace scalecalc::cli
