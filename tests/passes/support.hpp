#pragma once

#include "tensor/support.hpp"

/// The tests of the passes share data, differences and networks with those of the tensor room.
namespace scalecalc::passes {

using namespace tensor;

}  // namespace scalecalc::passes
