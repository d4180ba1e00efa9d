#pragma once

#include "scalecalc/softmax.hpp"

namespace scalecalc::gaussian::softmax {

/// softmax_pair with every lattice `finer` times finer; keys may be any real numbers >= 1, and
/// |correlation| = 1 is integrated like the rest.
SoftmaxPair integrate_pair(double fewer, double more, double tau2, double correlation,
                           double finer = 1.0);

}  // namespace scalecalc::gaussian::softmax
