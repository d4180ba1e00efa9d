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
  std::optional<Tuned> tuned;
  std::vector<FrameworkGain> frameworks;
  int digits = 0;
};

report::Document activation_document(const ActivationAnswer& answer);

}  // namespace scalecalc::cli
