#pragma once

#include <string>
#include <vector>

#include "cli/activation/document.hpp"
#include "cli/time_limit.hpp"

namespace scalecalc::cli {

/// What is asked of an activation.
struct ActivationQuestion {
  Activation activation;
  ExactInput input;
  std::vector<std::string> methods;  ///< closed_form, quadrature, montecarlo
  MonteCarloOptions sampling;
  int digits = 0;
};

/// Throws Error(input) where E phi^2 does not exist. What the limit leaves out is told by the
/// answer.
ActivationAnswer answer_of(const ActivationQuestion& question, const TimeLimit& limit);

}  // namespace scalecalc::cli
