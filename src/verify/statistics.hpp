#pragma once

#include "scalecalc/verify.hpp"

namespace scalecalc {

/// alpha and lambda of the spec at its depth; of two stacks the encoder's, and the decoder's depth.
void put_scales(const ModelSpec& spec, SweepPoint& point);

/// Fills everything but by_width, the points' sizes, alpha, lambda and samples, which are given:
/// one sample a seed, the same seeds in the same order at each size.
void summarise(SweepResult& result);

}  // namespace scalecalc
