#pragma once

#include <cstdint>

namespace scalecalc::gaussian::softmax {

inline constexpr std::int64_t kMostKeys = 1000000;
inline constexpr double kMostVariance = 1000.0;

/// Each throws Error(input) naming the limit.
void check_keys(std::int64_t keys);
void check_keys(double keys);
void check_keys(std::int64_t fewer, std::int64_t more);
void check_variance(double tau2);
void check_correlation(double correlation);

}  // namespace scalecalc::gaussian::softmax
