#pragma once

#include <string>

#include "architectures/expression.hpp"
#include "scalecalc/architectures.hpp"

namespace scalecalc::architectures {

/// How the entries of a tensor are drawn.
struct Draw {
  std::string distribution;  ///< normal, truncated_normal, uniform, constant, values
  double mean = 0, std = 0;
  LibraryDraw entries;
  double rare = 0;  ///< LibraryTensor::rare
};

/// Of the data's draws, with the names of the module and fan_in and fan_out, as torch.nn.init has
/// them: zeros(), ones(), constant(c), normal(std[, mean]), uniform(b) in [-b, b],
/// uniform(low, high), truncated(std, a, b) a normal cut at a and b, torch() what torch.nn.Linear
/// and Conv draw, 1/sqrt(fan_in) being the bound; log_range(n) the logarithms of 1..n;
/// sinusoids(rows, columns, steps) sines, then cosines of
/// t/10000^(i/steps), i < columns/2, t < rows (positions of Whisper), sinusoid_pairs(rows, columns,
/// steps) the same in turn (of DistilBERT);
/// time_step(low, high, least) the inverse softplus of max(least, e^u), u uniform between the
/// logarithms of low and high (Mamba). Throws Error(input).
Draw draw_of(const Expression& call, const Lookup& names);

}  // namespace scalecalc::architectures
