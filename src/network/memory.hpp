#pragma once

#include "scalecalc/network.hpp"

namespace scalecalc {

/// Layers, nested ones included, and parameters: what a trace keeps an entry for each.
double trace_entries(const Network& network);

/// Bytes of one entry while it is computed, compared and printed, as measured at depths of 300 to
/// 30000: of a prediction, of one by Monte Carlo with its replicates, and of passes with the
/// prediction beside them; each seed of passes adds its numbers.
inline constexpr double kPredictedBytes = 3072, kSampledBytes = 8192, kComparedBytes = 10240,
                        kSeedBytes = 128;

/// Throws Error(input) where `bytes` for each entry of the network's trace are more than this
/// process may take.
void check_trace_memory(const Network& network, double bytes);

}  // namespace scalecalc
