#pragma once

/// Elementary functions over vectors of doubles, without branches: for the compiled activations
/// and for sampling. vector_math::apply(function, x, y, count) runs one over an array.
#include "base/vector_math/exponential.hpp"
#include "base/vector_math/normal.hpp"
#include "base/vector_math/trigonometric.hpp"
