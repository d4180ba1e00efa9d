#pragma once

#include "scalecalc/softmax.hpp"

namespace scalecalc::gaussian::softmax {

/// softmax_one with every lattice `finer` times finer; keys may be any real number >= 2.
SoftmaxOne integrate_one(double keys, double tau2, double finer = 1.0);

}  // namespace scalecalc::gaussian::softmax
