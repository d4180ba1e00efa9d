#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "scalecalc/non_negative.hpp"

/// What every engine gives: moments per site, forward and backward, and per parameter. Sites and
/// parameters come in the order of the forward pass, under the paths of the Network.
namespace scalecalc {

/// A number with how far it may be off: `error` from how it was computed (quadrature, a standard
/// error), `truncation` from orders that the rule leaves out (1/d, T/d). Both absolute.
struct Figure {
  double value = std::numeric_limits<double>::quiet_NaN();
  NonNegative error = 0;
  NonNegative truncation = 0;
  bool is_known() const { return !std::isnan(value); }
};

/// Per feature, over weight draws and inputs; gradients are of the loss as the Network reduces it.
struct Site {
  std::string path;         ///< "block[3].attn.mix"
  std::string kind;         ///< input linear activation norm attention residual embedding head ...
  std::int64_t width = 0;   ///< features
  std::int64_t tokens = 0;  ///< of one sequence
  Figure mean;              ///< E x
  Figure second;            ///< E x^2
  Figure cross;             ///< E x_t x_s, mean over t != s; unknown for one token
  Figure grad_second;       ///< E (dL/dx)^2
  Figure grad_cross;        ///< E dL/dx_t dL/dx_s
  /// E x_t y_s, and of gradients, of tokens of two sequences of the batch; 0 for one sequence.
  double between = 0, grad_between = 0;
  /// Variance, over weight draws, of the logarithm of the average of x^2 over features and tokens
  /// that a pass measures here, and of that of (dL/dx)^2; the relative variance where it is small.
  NonNegative spread = 0, grad_spread = 0;
  double cosine() const { return cross.value / second.value; }
  /// What a pass of this width shows: the mean over draws, and the typical draw. Unknown where
  /// draws part ways (an assumption says so).
  double second_finite = std::numeric_limits<double>::quiet_NaN();
  double second_typical = std::numeric_limits<double>::quiet_NaN();
  /// The mean of (dL/dx)^2 over draws of this width; known in plain stacks.
  double grad_second_finite = std::numeric_limits<double>::quiet_NaN();
};

struct ParameterMoments {
  std::string path;  ///< "block[3].attn.q.weight"
  std::int64_t rows = 0, columns = 0;
  Figure second;       ///< E w^2 of one entry
  Figure grad_second;  ///< E (dL/dw)^2 of one entry
  NonNegative grad_spread = 0;
  double grad_second_finite = std::numeric_limits<double>::quiet_NaN();  ///< as in Site
};

/// What a rule took for granted, once for each kind of place.
struct Premise {
  std::string rule;  ///< "attention"
  std::string text;  ///< "scores of different keys are independent"
  std::string first_site;
  std::string condition;  ///< "T/d = 0.19 is small", empty when it always holds
  bool holds = true;
};

struct Trace {
  std::string engine;  ///< quadrature montecarlo passes symbolic
  std::vector<Site> sites;
  std::vector<ParameterMoments> parameters;
  Figure loss;
  std::vector<Premise> assumptions;
};

}  // namespace scalecalc
