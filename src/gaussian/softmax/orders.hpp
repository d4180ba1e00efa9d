#pragma once

#include "gaussian/softmax/row.hpp"
#include "scalecalc/softmax.hpp"

namespace scalecalc::gaussian::softmax {

/// The integrals over one row; no terms of the series are needed.
SoftmaxOrders integrate_orders(const Row& row);

}  // namespace scalecalc::gaussian::softmax
