#pragma once

#include <cstdint>

#include "scalecalc/verify.hpp"

/// What passes take, so that a sweep neither starts one that cannot end nor too many at once.
namespace scalecalc {

/// One measurement: products of a forward and a backward pass (a quantity may take more); bytes of
/// weights, activations, the laid-out network and the steps it keeps.
PassWork measurement_work(const Network& network, const SweepOptions& options);
/// Bytes of laying out `layers` blocks, roughly.
double layout_bytes(std::int64_t layers);

/// What all measurements that run at once may take.
double concurrent_bytes();
/// What one may take: 3/4 of the memory that this process may have.
double single_bytes();
/// Throws Error(input) naming both numbers.
void check_bytes(double bytes, std::int64_t layers);

}  // namespace scalecalc
