#pragma once

#include <string>

namespace scalecalc::tensor::cuda {

/// Why cuBLAS cannot be opened; empty when it can.
std::string why_no_blas();

}  // namespace scalecalc::tensor::cuda
