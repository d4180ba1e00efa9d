#pragma once

#include "scalecalc/verify.hpp"

namespace scalecalc {

/// Each depth once, rising.
std::vector<std::int64_t> rising_depths(std::vector<std::int64_t> depths);

/// alpha and lambda of the spec at its depth; of two stacks the encoder's, and the decoder's depth.
void put_scales(const ModelSpec& spec, SweepPoint& point);

/// Fills everything but layers, alpha, lambda and the samples, which are given: one sample a seed,
/// the same seeds in the same order at each depth.
void summarise(SweepResult& result);

}  // namespace scalecalc
