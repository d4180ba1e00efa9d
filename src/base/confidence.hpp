#pragma once

#include <string>

namespace scalecalc::base {

/// Of a chance that all of what is right passes together.
inline constexpr double least_confidence = 0.5, most_confidence = 1 - 1e-9;
/// Throws Error(input) for one outside, or NaN.
void check_confidence(double confidence, const std::string& where);

}  // namespace scalecalc::base
