#pragma once

#include "scalecalc/softmax.hpp"

namespace scalecalc::gaussian::softmax {

/// softmax_averages without its checks; keys may be any real number >= 1.
SoftmaxAverages averages(double keys, double tau2, double correlation);

}  // namespace scalecalc::gaussian::softmax
