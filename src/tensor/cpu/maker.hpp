#pragma once

#include <cstdint>

namespace scalecalc::tensor {

/// What makes a product.
enum class Maker { eigen, one_dnn };

/// The faster one, by the shape of the whole product alone, whatever its tiles and their threads.
/// oneDNN has single precision only, and a call of it takes some microseconds more than one of
/// Eigen; where there is none it is Eigen.
template <class Real>
Maker faster_maker(std::int64_t rows, std::int64_t columns, std::int64_t depth);

}  // namespace scalecalc::tensor
