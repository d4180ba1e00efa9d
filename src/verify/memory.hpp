#pragma once

#include <cstdint>

#include "scalecalc/verify.hpp"

/// What passes take, so that a sweep neither starts one that cannot end nor too many at once.
namespace scalecalc {

/// Bytes of one measurement: weights, activations, the laid-out network, the steps it keeps.
double measurement_bytes(const Network& network, const SweepOptions& options);
/// Bytes of laying out `layers` blocks, roughly.
double layout_bytes(std::int64_t layers);

/// What all measurements that run at once may take.
double concurrent_bytes();
/// What one may take: 3/4 of the memory that this process may have.
double single_bytes();
/// Throws Error(input) naming both numbers.
void check_bytes(double bytes, std::int64_t layers);

}  // namespace scalecalc
